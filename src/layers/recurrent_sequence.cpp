#include "layers/recurrent_sequence.h"

#include "attend/base/error.h"
#include "core/fused_operation.h"
#include "kernels/recurrent_cell.h"
#include "layers/packed_weight.h"

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

// Rows of a step that are no padding, each with its kernel; in padding `otherwise`.
template <class F, class G>
void for_real_rows(const bool* valid, std::int64_t begin, std::int64_t end, const F& each, const G& otherwise) {
  for (std::int64_t row = begin; row < end; ++row) valid == nullptr || valid[row] ? each(row) : otherwise(row);
}

Trace empty_sequence_trace(const SequenceInput& input) {
  const std::int64_t steps = input.projected.size(0), batch = input.projected.size(1), H = input.hidden.size(1);
  const auto options = input.projected.options();
  const std::int64_t first = input.reverse ? steps : 0;
  Trace trace;
  trace.gates = at::empty_like(input.projected);
  trace.hidden = at::empty({steps + 1, batch, H}, options);
  trace.hidden[first].copy_(input.hidden);
  if (input.cell == Cell::lstm) {
    trace.cell = at::empty({steps + 1, batch, H}, options);
    trace.cell[first].copy_(input.cell_state);
    trace.tanh_cell = at::empty({steps, batch, H}, options);
  } else {
    trace.recurrent = at::empty_like(input.projected);
    if (input.reset == Reset::before) trace.reset_hidden = at::empty({steps, batch, H}, options);
  }
  return trace;
}

// Blocks of rows through all steps.
template <class T>
class SequenceForward {
 public:
  SequenceForward(const SequenceInput& input, const Trace& trace)
      : input_(input), steps_(input.projected.size(0)), H_(input.hidden.size(1)), projected_(input.projected), gates_(trace.gates), hidden_(trace.hidden),
        cell_(trace.cell), tanh_cell_(trace.tanh_cell), recurrent_(trace.recurrent), reset_hidden_(trace.reset_hidden),
        weight_(PackedWeight<T>::forward(input.reset == Reset::before ? input.recurrent_weight.slice(0, 0, 2 * H_) : input.recurrent_weight, steps_)) {
    if (input.reset == Reset::before) candidate_weight_ = PackedWeight<T>::forward(input.recurrent_weight.slice(0, 2 * H_), steps_);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t s = 0; s < steps_; ++s) {
      const Places at = places(s, steps_, input_.reverse);
      if (input_.cell == Cell::lstm)
        lstm(at, begin, end);
      else
        input_.reset == Reset::before ? gru_of_reset_state(at, begin, end) : gru(at, begin, end);
    }
  }

 private:
  Rows<T> bias(std::int64_t from) const { return {input_.recurrent_bias.data_ptr<T>() + from, 0}; }
  void carry_on(const Steps<T>& states, const Places& at, std::int64_t row) const { std::copy_n(states.at(at.before, row), H_, states.at(at.after, row)); }

  void lstm(const Places& at, std::int64_t begin, std::int64_t end) const {
    weight_.multiply(end - begin, hidden_.rows(at.before, begin), projected_.rows(at.time, begin), gates_.rows(at.time, begin));  // x + W_h h [B, 4H]
    for_real_rows(
        valid_at(input_.valid, at.time), begin, end,
        [&](std::int64_t row) {
          kernels::lstm_forward(H_, kernels::LstmForward<T>{gates_.at(at.time, row), cell_.at(at.before, row), cell_.at(at.after, row),
                                                            tanh_cell_.at(at.time, row), hidden_.at(at.after, row)});
        },
        [&](std::int64_t row) { carry_on(hidden_, at, row), carry_on(cell_, at, row); });
  }

  void gru(const Places& at, std::int64_t begin, std::int64_t end) const {
    weight_.multiply(end - begin, hidden_.rows(at.before, begin), bias(0), recurrent_.rows(at.time, begin));  // W_h h + b_h [B, 3H]
    for_real_rows(
        valid_at(input_.valid, at.time), begin, end,
        [&](std::int64_t row) {
          kernels::gru_forward(H_, kernels::GruForward<T>{projected_.at(at.time, row), recurrent_.at(at.time, row), hidden_.at(at.before, row),
                                                          gates_.at(at.time, row), hidden_.at(at.after, row)});
        },
        [&](std::int64_t row) { carry_on(hidden_, at, row); });
  }

  // Both parts of a GRU's step with Reset::before, and the product of r ∘ h between them.
  void gru_of_reset_state(const Places& at, std::int64_t begin, std::int64_t end) const {
    const Rows<T> products = recurrent_.rows(at.time, begin);
    weight_.multiply(end - begin, hidden_.rows(at.before, begin), bias(0), products);             // of r and z [B, 2H]
    const bool* valid = valid_at(input_.valid, at.time);
    for_real_rows(
        valid, begin, end,
        [&](std::int64_t row) {
          kernels::gru_gates_forward(H_, kernels::GruGatesForward<T>{projected_.at(at.time, row), recurrent_.at(at.time, row), hidden_.at(at.before, row),
                                                                     gates_.at(at.time, row), reset_hidden_.at(at.time, row)});
        },
        [&](std::int64_t row) { std::fill_n(reset_hidden_.at(at.time, row), H_, T(0)); });
    candidate_weight_.multiply(end - begin, reset_hidden_.rows(at.time, begin), bias(2 * H_), {products.data + 2 * H_, products.stride});  // of n [B, H]
    for_real_rows(
        valid, begin, end,
        [&](std::int64_t row) {
          kernels::gru_candidate_forward(H_, kernels::GruCandidateForward<T>{projected_.at(at.time, row), recurrent_.at(at.time, row),
                                                                             hidden_.at(at.before, row), gates_.at(at.time, row), hidden_.at(at.after, row)});
        },
        [&](std::int64_t row) { carry_on(hidden_, at, row); });
  }

  const SequenceInput& input_;
  std::int64_t steps_, H_;
  Steps<T> projected_, gates_, hidden_, cell_, tanh_cell_, recurrent_, reset_hidden_;
  PackedWeight<T> weight_, candidate_weight_;  // of what takes h as it is, and r ∘ h
};

template <class T>
Trace fused_forward(const SequenceInput& input) {
  const Trace trace = empty_sequence_trace(input);
  const SequenceForward<T> forward(input, trace);
  for_row_blocks(input.projected.size(1), input.projected.size(0), [&](std::int64_t begin, std::int64_t end) { forward.run(begin, end); });
  return trace;
}

struct Gradients {
  Tensor projected, weight, bias, hidden, cell;
};

// Blocks of rows back through all steps. hidden_gradients [L + 1, B, H] of all states, in the places of Trace::hidden.
template <class T>
class SequenceBackward {
 public:
  // `gradients`: hidden that of the last state, cell that of the last cell; they become those of the first. recurrent [L, B, G·H]: of the products with
  // the state; where they have the gradients of projected, those.
  SequenceBackward(const SequenceInput& input, const Trace& trace, const Tensor& hidden_gradients, const Gradients& gradients, const Tensor& recurrent)
      : input_(input), steps_(trace.gates.size(0)), H_(trace.hidden.size(2)), width_(trace.gates.size(2)), gates_(trace.gates), hidden_(trace.hidden),
        cell_(trace.cell), tanh_cell_(trace.tanh_cell), recurrent_(trace.recurrent), of_hidden_(hidden_gradients), of_projected_(gradients.projected),
        of_recurrent_(recurrent), total_(gradients.hidden.unsqueeze(0)), of_cell_(input.cell == Cell::lstm ? gradients.cell.unsqueeze(0) : Tensor()),
        buffers_(at::empty({2, gradients.hidden.size(0), H_}, trace.hidden.options())), direct_(buffers_.slice(0, 0, 1)), of_reset_(buffers_.slice(0, 1)),
        weight_(PackedWeight<T>::backward(input.reset == Reset::before ? input.recurrent_weight.slice(0, 0, 2 * H_) : input.recurrent_weight, steps_)) {
    if (input.reset == Reset::before) candidate_weight_ = PackedWeight<T>::backward(input.recurrent_weight.slice(0, 2 * H_), steps_);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t s = steps_ - 1; s >= 0; --s) {
      const Places at = places(s, steps_, input_.reverse);
      input_.reset == Reset::before ? gru_of_reset_state(at, begin, end) : cells(at, begin, end);
      const T *direct = direct_.at(0, begin), *outside = of_hidden_.at(at.before, begin);
      T* const total = total_.at(0, begin);
      for (std::int64_t i = 0; i < (end - begin) * H_; ++i) total[i] = direct[i] + outside[i];
      weight_.multiply(end - begin, of_recurrent_.rows(at.time, begin), total_.rows(0, begin), total_.rows(0, begin));  // + [B, rows] × [rows, H]
    }
  }

 private:
  void carry_on(const Places& at, std::int64_t row) const {
    std::fill_n(of_projected_.at(at.time, row), width_, T(0));
    std::fill_n(of_recurrent_.at(at.time, row), width_, T(0));
    std::copy_n(total_.at(0, row), H_, direct_.at(0, row));
  }

  void cells(const Places& at, std::int64_t begin, std::int64_t end) const {
    const auto each = [&](std::int64_t row) {
      const T *gates = gates_.at(at.time, row), *dh = total_.at(0, row);
      T *dx = of_projected_.at(at.time, row), *direct = direct_.at(0, row);
      if (input_.cell == Cell::lstm) {
        kernels::lstm_backward(H_, kernels::LstmBackward<T>{gates, cell_.at(at.before, row), tanh_cell_.at(at.time, row), dh, of_cell_.at(0, row), dx});
        std::fill_n(direct, H_, T(0));
      } else {
        kernels::gru_backward(H_, kernels::GruBackward<T>{gates, recurrent_.at(at.time, row), hidden_.at(at.before, row), dh, dx,
                                                          of_recurrent_.at(at.time, row), direct});
      }
    };
    for_real_rows(valid_at(input_.valid, at.time), begin, end, each, [&](std::int64_t row) { carry_on(at, row); });
  }

  // A GRU with Reset::before, whose inputs and products have the same gradients.
  void gru_of_reset_state(const Places& at, std::int64_t begin, std::int64_t end) const {
    const bool* valid = valid_at(input_.valid, at.time);
    const auto gradients = [&](std::int64_t row) { return of_projected_.at(at.time, row); };
    for_real_rows(
        valid, begin, end,
        [&](std::int64_t row) {
          kernels::gru_candidate_backward(H_, kernels::GruCandidateBackward<T>{gates_.at(at.time, row), hidden_.at(at.before, row), total_.at(0, row),
                                                                               gradients(row), direct_.at(0, row)});
        },
        [&](std::int64_t row) { carry_on(at, row); });
    candidate_weight_.multiply(end - begin, {gradients(begin) + 2 * H_, width_}, {}, of_reset_.rows(0, begin));  // [B, H] × [H, H]
    for_real_rows(
        valid, begin, end,
        [&](std::int64_t row) {
          kernels::gru_gates_backward(H_, kernels::GruGatesBackward<T>{gates_.at(at.time, row), hidden_.at(at.before, row), of_reset_.at(0, row),
                                                                       gradients(row), direct_.at(0, row)});
        },
        [](std::int64_t) {});
  }

  const SequenceInput& input_;
  std::int64_t steps_, H_, width_;
  Steps<T> gates_, hidden_, cell_, tanh_cell_, recurrent_, of_hidden_, of_projected_, of_recurrent_;
  Steps<T> total_, of_cell_;  // [1, B, H]: of the state and the cell that the step left
  Tensor buffers_;
  Steps<T> direct_, of_reset_;  // [1, B, H]: of the state before, not by way of a product; of r ∘ h
  PackedWeight<T> weight_, candidate_weight_;
};

template <class T>
Gradients fused_backward(const SequenceInput& input, const Trace& trace, const Tensor& hidden_gradients, const Tensor& cell_gradient) {
  const std::int64_t steps = trace.gates.size(0), batch = trace.gates.size(1), H = trace.hidden.size(2), width = trace.gates.size(2);
  const bool lstm = input.cell == Cell::lstm, reset_before = input.reset == Reset::before;
  Gradients gradients;
  gradients.projected = at::empty_like(trace.gates);
  gradients.hidden = hidden_gradients[places(steps - 1, steps, input.reverse).after].clone();     // [B, H]
  gradients.cell = lstm ? cell_gradient.clone(at::MemoryFormat::Contiguous) : Tensor();
  const Tensor recurrent_gradient = lstm || reset_before ? gradients.projected : at::empty_like(trace.gates);  // [L, B, G·H]
  const SequenceBackward<T> backward(input, trace, hidden_gradients, gradients, recurrent_gradient);
  for_row_blocks(batch, steps, [&](std::int64_t begin, std::int64_t end) { backward.run(begin, end); });
  const std::int64_t rows = reset_before ? 2 * H : width;  // of the weight, that take h as it is
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
    const Trace trace = projected.scalar_type() == at::kDouble ? fused_forward<double>(input) : fused_forward<float>(input);
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
    const Trace trace{saved[6], saved[7], saved[8], saved[9], saved[10], saved[11]};
    Gradients gradients;
    if (at::GradMode::is_enabled())
      gradients = composed_gradients(input, hidden_gradients, cell_gradient);
    else if (input.projected.scalar_type() == at::kDouble)
      gradients = fused_backward<double>(input, trace, hidden_gradients.contiguous(), cell_gradient);
    else
      gradients = fused_backward<float>(input, trace, hidden_gradients.contiguous(), cell_gradient);
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
      FusedSequence::apply(input.projected, input.recurrent_weight, lstm ? nothing : input.recurrent_bias.contiguous(), input.hidden,
                           lstm ? input.cell_state : nothing, padded ? input.valid.contiguous() : nothing, lstm, input.reset == Reset::before, input.reverse, padded);
  const std::int64_t steps = input.projected.size(0);
  return {input.reverse ? outputs[0].slice(0, 0, steps) : outputs[0].slice(0, 1), lstm ? outputs[1] : Tensor()};
}

}  // namespace attend::layers
