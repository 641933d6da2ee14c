#include "layers/recurrent_sequence.h"

#include "attend/base/error.h"
#include "core/fused_operation.h"
#include "kernels/recurrent_cell.h"

namespace attend::layers {
namespace {

// --- composed ------------------------------------------------------------------------------------------------------------------------

struct StepState {
  Tensor hidden, cell;  // [B, H]
};

// A GRU's step with the reset gate before the product.
StepState composed_reset_step(const SequenceInput& input, const Tensor& projected, const StepState& before) {
  const std::int64_t H = before.hidden.size(1);
  const auto product = [&](const Tensor& state, std::int64_t from, std::int64_t to) {
    return at::linear(state, input.recurrent_weight.slice(0, from, to), input.recurrent_bias.slice(0, from, to));
  };
  const std::vector<Tensor> gates = (projected.slice(1, 0, 2 * H) + product(before.hidden, 0, 2 * H)).sigmoid().chunk(2, 1);  // r, z [B, H]
  const Tensor n = (projected.slice(1, 2 * H) + product(gates[0] * before.hidden, 2 * H, 3 * H)).tanh();
  return {n + gates[1] * (before.hidden - n), {}};
}

StepState composed_step(const SequenceInput& input, const Tensor& projected, const StepState& before) {
  if (input.reset == Reset::before) return composed_reset_step(input, projected, before);
  const Tensor recurrent = at::matmul(before.hidden, input.recurrent_weight.t());                 // [B, G·H]
  if (input.cell == Cell::lstm) {
    const std::vector<Tensor> gates = (projected + recurrent).chunk(4, 1);                        // i, f, g, o [B, H]
    const Tensor cell = gates[1].sigmoid() * before.cell + gates[0].sigmoid() * gates[2].tanh();
    return {gates[3].sigmoid() * cell.tanh(), cell};
  }
  const std::vector<Tensor> x = projected.chunk(3, 1), h = (recurrent + input.recurrent_bias).chunk(3, 1);  // r, z, n
  const Tensor r = (x[0] + h[0]).sigmoid(), z = (x[1] + h[1]).sigmoid(), n = (x[2] + r * h[2]).tanh();
  return {n + z * (before.hidden - n), {}};
}

SequenceOutput composed_sequence(const SequenceInput& input) {
  const std::int64_t steps = input.projected.size(0);
  std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
  StepState state{input.hidden, input.cell_state};
  for (std::int64_t s = 0; s < steps; ++s) {
    const std::int64_t t = input.reverse ? steps - 1 - s : s;
    StepState next = composed_step(input, input.projected[t], state);
    if (input.valid.defined()) {
      const Tensor keep = input.valid[t].unsqueeze(1);
      next.hidden = at::where(keep, next.hidden, state.hidden);
      if (next.cell.defined()) next.cell = at::where(keep, next.cell, state.cell);
    }
    state = next;
    outputs[static_cast<std::size_t>(t)] = state.hidden;
  }
  return {at::stack(outputs), state.cell};
}

// --- fused ---------------------------------------------------------------------------------------------------------------------------

// What the forward pass leaves for the backward one. Time is stored as it is; `hidden` and `cell` have one row more, for the state before
// the first step: row 0, or row L where the sequence is read in reverse.
struct Trace {
  Tensor gates;         // [L, B, G·H]
  Tensor hidden;        // [L + 1, B, H]
  Tensor cell;          // [L + 1, B, H], LSTM
  Tensor tanh_cell;     // [L, B, H], LSTM
  Tensor recurrent;     // [L, B, 3H]: W_h h + b_h, GRU; W_hn (r ∘ h) + b_hn in its last third with Reset::before
  Tensor reset_hidden;  // [L, B, H]: r ∘ h, GRU with Reset::before; 0 in padding
};

// Rows of the traces at a step: those of time t, and of the state before it.
struct Places {
  std::int64_t time, after, before;
};

Places places(std::int64_t step, std::int64_t steps, bool reverse) {
  const std::int64_t time = reverse ? steps - 1 - step : step;
  return reverse ? Places{time, time, time + 1} : Places{time, time + 1, time};
}

const bool* valid_at(const Tensor& valid, std::int64_t time) { return valid.defined() ? valid.data_ptr<bool>() + time * valid.size(1) : nullptr; }

template <class T>
void copy_row(const T* from, T* to, std::int64_t count) {
  std::copy(from, from + count, to);
}

template <class T>
void forward_cells(const SequenceInput& input, Trace& trace, const Places& at) {
  const std::int64_t batch = trace.hidden.size(1), H = trace.hidden.size(2), width = trace.gates.size(2);
  T* gates = trace.gates.data_ptr<T>() + at.time * batch * width;
  T* hidden = trace.hidden.data_ptr<T>();
  const bool* valid = valid_at(input.valid, at.time);
  const bool lstm = input.cell == Cell::lstm;
  T* cell = lstm ? trace.cell.data_ptr<T>() : nullptr;
  T* tanh_cell = lstm ? trace.tanh_cell.data_ptr<T>() + at.time * batch * H : nullptr;
  const T* recurrent = lstm ? nullptr : trace.recurrent.data_ptr<T>() + at.time * batch * width;
  const T* projected = input.projected.data_ptr<T>() + at.time * batch * width;
  for_rows(batch, width, [&](std::int64_t row) {
    const std::int64_t before = (at.before * batch + row) * H, after = (at.after * batch + row) * H;
    if (valid != nullptr && !valid[row]) {
      copy_row(hidden + before, hidden + after, H);
      if (lstm) copy_row(cell + before, cell + after, H);
    } else if (lstm) {
      kernels::lstm_forward(H, kernels::LstmForward<T>{gates + row * width, cell + before, cell + after, tanh_cell + row * H, hidden + after});
    } else {
      kernels::gru_forward(
          H, kernels::GruForward<T>{projected + row * width, recurrent + row * width, hidden + before, gates + row * width, hidden + after});
    }
  });
}

// The rows of a step that are no padding, each with its kernel; in padding `otherwise`.
template <class F, class G>
void for_real_rows(const SequenceInput& input, const Places& at, std::int64_t batch, std::int64_t width, const F& each, const G& otherwise) {
  const bool* valid = valid_at(input.valid, at.time);
  for_rows(batch, width, [&](std::int64_t row) { valid == nullptr || valid[row] ? each(row) : otherwise(row); });
}

// Both parts of a GRU's step with Reset::before, and the product of r ∘ h between them. The first two thirds of `recurrent` are there already.
template <class T>
void forward_reset_step(const SequenceInput& input, Trace& trace, const Places& at) {
  const std::int64_t batch = trace.hidden.size(1), H = trace.hidden.size(2), width = 3 * H;
  T* gates = trace.gates.data_ptr<T>() + at.time * batch * width;
  T* reset_hidden = trace.reset_hidden.data_ptr<T>() + at.time * batch * H;
  const T* projected = input.projected.data_ptr<T>() + at.time * batch * width;
  const T* recurrent = trace.recurrent.data_ptr<T>() + at.time * batch * width;
  const T* before = trace.hidden.data_ptr<T>() + at.before * batch * H;
  T* after = trace.hidden.data_ptr<T>() + at.after * batch * H;
  for_real_rows(
      input, at, batch, width,
      [&](std::int64_t row) {
        const std::int64_t g = row * width, h = row * H;
        kernels::gru_gates_forward(H, kernels::GruGatesForward<T>{projected + g, recurrent + g, before + h, gates + g, reset_hidden + h});
      },
      // its gradient is 0, which the weight's would take a product with
      [&](std::int64_t row) { std::fill(reset_hidden + row * H, reset_hidden + (row + 1) * H, T(0)); });
  Tensor out = trace.recurrent[at.time].slice(1, 2 * H);                                          // [B, H]
  at::addmm_out(out, input.recurrent_bias.slice(0, 2 * H), trace.reset_hidden[at.time], input.recurrent_weight.slice(0, 2 * H).t());
  for_real_rows(
      input, at, batch, width,
      [&](std::int64_t row) {
        const std::int64_t g = row * width, h = row * H;
        kernels::gru_candidate_forward(H, kernels::GruCandidateForward<T>{projected + g, recurrent + g, before + h, gates + g, after + h});
      },
      [&](std::int64_t row) { copy_row(before + row * H, after + row * H, H); });
}

Trace fused_forward(const SequenceInput& input) {
  const std::int64_t steps = input.projected.size(0), batch = input.projected.size(1), H = input.hidden.size(1);
  const auto options = input.projected.options();
  const bool lstm = input.cell == Cell::lstm, reset_before = input.reset == Reset::before;
  Trace trace;
  trace.gates = at::empty_like(input.projected);
  trace.hidden = at::empty({steps + 1, batch, H}, options);
  const std::int64_t first = input.reverse ? steps : 0;
  trace.hidden[first].copy_(input.hidden);
  if (lstm) {
    trace.cell = at::empty({steps + 1, batch, H}, options);
    trace.cell[first].copy_(input.cell_state);
    trace.tanh_cell = at::empty({steps, batch, H}, options);
  } else {
    trace.recurrent = at::empty_like(input.projected);
    if (reset_before) trace.reset_hidden = at::empty({steps, batch, H}, options);
  }
  const std::int64_t rows = (reset_before ? 2 : lstm ? 4 : 3) * H;                                // of the weight, that take h as it is
  const Tensor weight = input.recurrent_weight.slice(0, 0, rows).t();                             // [H, rows]
  const Tensor bias = lstm ? Tensor() : input.recurrent_bias.slice(0, 0, rows);
  for (std::int64_t s = 0; s < steps; ++s) {
    const Places at = places(s, steps, input.reverse);
    Tensor out = (lstm ? trace.gates : trace.recurrent)[at.time].slice(1, 0, rows);
    at::addmm_out(out, lstm ? input.projected[at.time] : bias, trace.hidden[at.before], weight);  // [B, rows]
    const bool wide = options.dtype() == at::kDouble;
    if (reset_before)
      wide ? forward_reset_step<double>(input, trace, at) : forward_reset_step<float>(input, trace, at);
    else
      wide ? forward_cells<double>(input, trace, at) : forward_cells<float>(input, trace, at);
  }
  return trace;
}

struct Gradients {
  Tensor projected, weight, bias, hidden, cell;
};

template <class T>
void backward_cells(const SequenceInput& input, const Trace& trace, const Places& at, const Tensor& hidden_gradient, Gradients& gradients,
                    Tensor& recurrent_gradient, Tensor& direct) {
  const std::int64_t batch = trace.hidden.size(1), H = trace.hidden.size(2), width = trace.gates.size(2);
  const bool lstm = input.cell == Cell::lstm;
  const T* gates = trace.gates.data_ptr<T>() + at.time * batch * width;
  const T* dh = hidden_gradient.data_ptr<T>();
  const bool* valid = valid_at(input.valid, at.time);
  T* dx = gradients.projected.data_ptr<T>() + at.time * batch * width;
  T* du = lstm ? dx : recurrent_gradient.data_ptr<T>() + at.time * batch * width;
  T* dc = lstm ? gradients.cell.data_ptr<T>() : nullptr;
  T* through = direct.data_ptr<T>();
  const T* state_before = (lstm ? trace.cell : trace.hidden).data_ptr<T>() + at.before * batch * H;
  const T* tanh_cell = lstm ? trace.tanh_cell.data_ptr<T>() + at.time * batch * H : nullptr;
  const T* recurrent = lstm ? nullptr : trace.recurrent.data_ptr<T>() + at.time * batch * width;
  for_rows(batch, width, [&](std::int64_t row) {
    const std::int64_t g = row * width, h = row * H;
    if (valid != nullptr && !valid[row]) {
      std::fill(dx + g, dx + g + width, T(0));
      if (!lstm) std::fill(du + g, du + g + width, T(0));
      copy_row(dh + h, through + h, H);
    } else if (lstm) {
      kernels::lstm_backward(H, kernels::LstmBackward<T>{gates + g, state_before + h, tanh_cell + h, dh + h, dc + h, dx + g});
      std::fill(through + h, through + h + H, T(0));
    } else {
      kernels::gru_backward(
          H, kernels::GruBackward<T>{gates + g, recurrent + g, state_before + h, dh + h, dx + g, du + g, through + h});
    }
  });
}

// The same for a GRU with Reset::before, whose inputs and products have the same gradients.
template <class T>
void backward_reset_step(const SequenceInput& input, const Trace& trace, const Places& at, const Tensor& hidden_gradient, Gradients& gradients,
                         Tensor& direct) {
  const std::int64_t batch = trace.hidden.size(1), H = trace.hidden.size(2), width = 3 * H;
  const T* gates = trace.gates.data_ptr<T>() + at.time * batch * width;
  const T* before = trace.hidden.data_ptr<T>() + at.before * batch * H;
  const T* dh = hidden_gradient.data_ptr<T>();
  T* dx = gradients.projected.data_ptr<T>() + at.time * batch * width;
  T* through = direct.data_ptr<T>();
  for_real_rows(
      input, at, batch, width,
      [&](std::int64_t row) {
        const std::int64_t g = row * width, h = row * H;
        kernels::gru_candidate_backward(H, kernels::GruCandidateBackward<T>{gates + g, before + h, dh + h, dx + g, through + h});
      },
      [&](std::int64_t row) {
        std::fill(dx + row * width, dx + (row + 1) * width, T(0));
        copy_row(dh + row * H, through + row * H, H);
      });
  const Tensor of_reset_hidden = at::mm(gradients.projected[at.time].slice(1, 2 * H), input.recurrent_weight.slice(0, 2 * H));  // [B, H]
  const T* dr = of_reset_hidden.data_ptr<T>();
  for_real_rows(
      input, at, batch, width,
      [&](std::int64_t row) {
        const std::int64_t g = row * width, h = row * H;
        kernels::gru_gates_backward(H, kernels::GruGatesBackward<T>{gates + g, before + h, dr + h, dx + g, through + h});
      },
      [](std::int64_t) {});
}

// hidden_gradients [L + 1, B, H] of all states, in the places of Trace::hidden; cell_gradient [B, H] of the last cell.
Gradients fused_backward(const SequenceInput& input, const Trace& trace, const Tensor& hidden_gradients, const Tensor& cell_gradient) {
  const std::int64_t steps = trace.gates.size(0), batch = trace.gates.size(1), H = trace.hidden.size(2), width = trace.gates.size(2);
  const bool lstm = input.cell == Cell::lstm, reset_before = input.reset == Reset::before;
  const std::int64_t rows = reset_before ? 2 * H : width;  // of the weight, that take h as it is
  Gradients gradients;
  gradients.projected = at::empty_like(trace.gates);
  gradients.cell = lstm ? cell_gradient.clone() : Tensor();
  Tensor recurrent_gradient = lstm || reset_before ? gradients.projected : at::empty_like(trace.gates);  // [L, B, G·H]
  Tensor direct = at::empty({batch, H}, trace.hidden.options());
  Tensor total = hidden_gradients[places(steps - 1, steps, input.reverse).after].clone();         // [B, H]
  for (std::int64_t s = steps - 1; s >= 0; --s) {
    const Places at = places(s, steps, input.reverse);
    const bool wide = trace.hidden.scalar_type() == at::kDouble;
    if (reset_before)
      wide ? backward_reset_step<double>(input, trace, at, total, gradients, direct)
           : backward_reset_step<float>(input, trace, at, total, gradients, direct);
    else
      wide ? backward_cells<double>(input, trace, at, total, gradients, recurrent_gradient, direct)
           : backward_cells<float>(input, trace, at, total, gradients, recurrent_gradient, direct);
    at::add_out(total, direct, hidden_gradients[at.before]);
    total.addmm_(recurrent_gradient[at.time].slice(1, 0, rows), input.recurrent_weight.slice(0, 0, rows));  // [B, rows] × [rows, H]
  }
  gradients.hidden = total;
  const Tensor before = input.reverse ? trace.hidden.slice(0, 1) : trace.hidden.slice(0, 0, steps);
  const Tensor flat = recurrent_gradient.view({steps * batch, width});
  gradients.weight = at::mm(flat.slice(1, 0, rows).t(), before.reshape({steps * batch, H}));      // [rows, H]
  if (reset_before) {
    const Tensor of_candidate = at::mm(flat.slice(1, rows).t(), trace.reset_hidden.view({steps * batch, H}));  // [H, H]
    gradients.weight = at::cat({gradients.weight, of_candidate});                                 // [3H, H]
  }
  if (!lstm) gradients.bias = flat.sum(0);
  return gradients;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Inputs in order: projected, weight, bias, hidden, cell. Outputs: all states [L + 1, B, H]; the last cell [B, H]. libtorch takes no undefined
// inputs and outputs here: what a cell doesn't have is an empty tensor.
class FusedSequence : public torch::autograd::Function<FusedSequence> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& projected, const Tensor& weight, const Tensor& bias,
                               const Tensor& hidden, const Tensor& cell, const Tensor& valid, bool lstm, bool reset_before, bool reverse, bool padded) {
    const SequenceInput input{lstm ? Cell::lstm : Cell::gru, reset_before ? Reset::before : Reset::after, reverse, projected.contiguous(),
                              weight, bias, hidden, cell, padded ? valid : Tensor()};
    const Trace trace = fused_forward(input);
    const std::int64_t last = reverse ? 0 : projected.size(0);
    const Tensor last_cell = lstm ? trace.cell[last].clone() : at::empty({0}, projected.options());
    context->save_for_backward({projected, weight, bias, hidden, cell, valid, trace.gates, trace.hidden, trace.cell, trace.tanh_cell,
                                trace.recurrent, trace.reset_hidden});
    context->saved_data["lstm"] = lstm;
    context->saved_data["reset_before"] = reset_before;
    context->saved_data["reverse"] = reverse;
    context->saved_data["padded"] = padded;
    return {trace.hidden, last_cell};
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto flag = [context](const char* name) { return context->saved_data[name].toBool(); };
    const SequenceInput input{flag("lstm") ? Cell::lstm : Cell::gru, flag("reset_before") ? Reset::before : Reset::after, flag("reverse"),
                              saved[0], saved[1], saved[2], saved[3], saved[4], flag("padded") ? saved[5] : Tensor()};
    const Tensor hidden_gradients = output_gradients[0].defined() ? output_gradients[0] : at::zeros_like(saved[7]);
    const bool lstm = input.cell == Cell::lstm;
    const Tensor cell_gradient = !lstm || output_gradients[1].defined() ? output_gradients[1] : at::zeros_like(saved[4]);
    Gradients gradients;
    if (at::GradMode::is_enabled())
      gradients = composed_gradients(input, hidden_gradients, cell_gradient);
    else
      gradients = fused_backward(input, {saved[6], saved[7], saved[8], saved[9], saved[10], saved[11]}, hidden_gradients.contiguous(), cell_gradient);
    return {gradients.projected, gradients.weight, gradients.bias, gradients.hidden, gradients.cell, Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
  }

 private:
  // Under create_graph: gradients that can be differentiated again.
  static Gradients composed_gradients(const SequenceInput& input, const Tensor& hidden_gradients, const Tensor& cell_gradient) {
    const bool lstm = input.cell == Cell::lstm;
    const SequenceOutput output = composed_sequence(input);
    const std::int64_t steps = input.projected.size(0);
    // the state before the first step is an output too: its gradient goes to the input as it is
    const Tensor own = input.reverse ? hidden_gradients.slice(0, 0, steps) : hidden_gradients.slice(0, 1);
    const Tensor passed_on = hidden_gradients[input.reverse ? steps : 0];
    variable_list outputs{output.hidden}, upstream{own};
    if (lstm) outputs.push_back(output.cell_state), upstream.push_back(cell_gradient);
    const variable_list found = differentiable_gradients(
        outputs, upstream, {input.projected, input.recurrent_weight, input.recurrent_bias, input.hidden, input.cell_state});
    Gradients gradients{found[0], found[1], found[2], found[3], found[4]};
    if (input.hidden.requires_grad()) gradients.hidden = gradients.hidden.defined() ? gradients.hidden + passed_on : passed_on;
    return gradients;
  }
};

}  // namespace

SequenceOutput recurrent_sequence(const SequenceInput& input, Path path) {
  const bool possible = has_kernels(input.projected);
  if (path == Path::fused && !possible)
    throw NotSupported("attend::layers::Recurrent: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"");
  if (path == Path::composed || !possible) return composed_sequence(input);
  const bool lstm = input.cell == Cell::lstm;
  const Tensor nothing = at::empty({0}, input.projected.options());
  const bool padded = input.valid.defined();
  const variable_list outputs =
      FusedSequence::apply(input.projected, input.recurrent_weight, lstm ? nothing : input.recurrent_bias, input.hidden,
                           lstm ? input.cell_state : nothing, padded ? input.valid.contiguous() : nothing, lstm, input.reset == Reset::before, input.reverse, padded);
  const std::int64_t steps = input.projected.size(0);
  return {input.reverse ? outputs[0].slice(0, 0, steps) : outputs[0].slice(0, 1), lstm ? outputs[1] : Tensor()};
}

}  // namespace attend::layers
