#include "layers/recurrent_sequence.h"

#include "attend/base/error.h"
#include "core/fused_operation.h"
#include "kernels/recurrent_cell.h"
#include "layers/packed_weight.h"
#include "layers/weight_gradients.h"

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
  const std::int64_t steps = input.input.size(0);
  const Tensor projected = input.input_weight.defined() ? at::linear(input.input, input.input_weight, input.input_bias) : input.input;  // [L, B, G·H]
  std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
  StepState state{input.hidden, input.cell_state};
  for (std::int64_t s = 0; s < steps; ++s) {
    const std::int64_t t = input.reverse ? steps - 1 - s : s;
    StepState next = composed_step(input, projected[t], state);
    if (input.valid.defined()) {
      const Tensor keep = input.valid[t].unsqueeze(1);
      next.hidden = at::where(keep, next.hidden, state.hidden);
      if (next.cell.defined()) next.cell = at::where(keep, next.cell, state.cell);
    }
    state = next;
    outputs[static_cast<std::size_t>(t)] = state.hidden;
  }
  return {at::stack(outputs), state.hidden, state.cell};
}

// --- fused ---------------------------------------------------------------------------------------------------------------------------

// What the forward pass leaves for the backward one. Time is stored as it is; `hidden` and `cell` have one row more, for the state before
// the first step: row 0, or row L where the sequence is read in reverse.
struct Trace {
  Tensor gates;         // [L, B, G·H]
  Tensor hidden;        // [L + 1, B, H]
  Tensor cell;          // [L + 1, B, H], LSTM
  Tensor tanh_cell;     // [L, B, H], LSTM
  Tensor recurrent;     // [L, B, 3H]: W_h h + b_h, GRU with Reset::after
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

// How many rows of W_h take h as it is; of a GRU with Reset::before the others take r ∘ h.
std::int64_t gates_of_hidden(const SequenceInput& input) {
  return input.reset == Reset::before ? 2 * input.hidden.size(1) : input.recurrent_weight.size(0);
}

Trace empty_sequence_trace(const SequenceInput& input) {
  const std::int64_t steps = input.input.size(0), batch = input.input.size(1), H = input.hidden.size(1), width = input.recurrent_weight.size(0);
  const auto empty = [&](std::int64_t places, std::int64_t numbers) { return at::empty({places, batch, numbers}, input.input.options()); };
  const std::int64_t first = input.reverse ? steps : 0;
  Trace trace;
  trace.gates = empty(steps, width);
  trace.hidden = empty(steps + 1, H);
  trace.hidden[first].copy_(input.hidden);
  if (input.cell == Cell::lstm) {
    trace.cell = empty(steps + 1, H);
    trace.cell[first].copy_(input.cell_state);
    trace.tanh_cell = empty(steps, H);
  } else {
    (input.reset == Reset::before ? trace.reset_hidden : trace.recurrent) = empty(steps, input.reset == Reset::before ? H : width);
  }
  return trace;
}

// The weights of both passes, each packed its way.
template <class T>
struct SequenceWeights {
  PackedWeight<T> input, hidden, candidate;  // of x, of h as it is, of r ∘ h

  using Pack = PackedWeight<T> (*)(const Tensor&, std::int64_t);
  SequenceWeights(const SequenceInput& of, Pack pack) {
    const std::int64_t steps = of.input.size(0), rows = gates_of_hidden(of);
    if (of.input_weight.defined()) input = pack(of.input_weight, steps);
    hidden = pack(of.recurrent_weight.slice(0, 0, rows), steps);
    if (of.reset == Reset::before) candidate = pack(of.recurrent_weight.slice(0, rows), steps);
  }
};

// Blocks of rows through all steps.
template <class T>
class SequenceForward {
 public:
  SequenceForward(const SequenceInput& input, const Trace& trace)
      : input_(input), steps_(input.input.size(0)), H_(input.hidden.size(1)), width_(trace.gates.size(2)), given_(input.input), gates_(trace.gates),
        hidden_(trace.hidden), cell_(trace.cell), tanh_cell_(trace.tanh_cell), recurrent_(trace.recurrent), reset_hidden_(trace.reset_hidden),
        weight_(input, &PackedWeight<T>::forward) {}

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

  // W_i x + b_i, into `to` where it isn't given.
  Rows<T> projected(const Places& at, std::int64_t begin, std::int64_t end, Rows<T> to) const {
    if (!input_.input_weight.defined()) return given_.rows(at.time, begin);
    weight_.input.multiply(end - begin, given_.rows(at.time, begin), {input_.input_bias.data_ptr<T>(), 0}, to);
    return to;
  }

  void lstm(const Places& at, std::int64_t begin, std::int64_t end) const {
    const Rows<T> gates = gates_.rows(at.time, begin), x = projected(at, begin, end, gates);
    weight_.hidden.multiply(end - begin, hidden_.rows(at.before, begin), x, gates);               // x + W_h h [B, 4H]
    for_real_rows(
        valid_at(input_.valid, at.time), begin, end,
        [&](std::int64_t row) {
          kernels::lstm_forward(H_, kernels::LstmForward<T>{gates_.at(at.time, row), cell_.at(at.before, row), cell_.at(at.after, row),
                                                            tanh_cell_.at(at.time, row), hidden_.at(at.after, row)});
        },
        [&](std::int64_t row) { carry_on(hidden_, at, row), carry_on(cell_, at, row); });
  }

  void gru(const Places& at, std::int64_t begin, std::int64_t end) const {
    const Rows<T> x = projected(at, begin, end, {thread_scratch<T>((end - begin) * width_), width_});
    weight_.hidden.multiply(end - begin, hidden_.rows(at.before, begin), bias(0), recurrent_.rows(at.time, begin));  // W_h h + b_h [B, 3H]
    for_real_rows(
        valid_at(input_.valid, at.time), begin, end,
        [&](std::int64_t row) {
          kernels::gru_forward(H_, kernels::GruForward<T>{x.at(row - begin), recurrent_.at(at.time, row), hidden_.at(at.before, row),
                                                          gates_.at(at.time, row), hidden_.at(at.after, row)});
        },
        [&](std::int64_t row) { carry_on(hidden_, at, row); });
  }

  // Both parts of a GRU's step with Reset::before, and the product of r ∘ h between them.
  void gru_of_reset_state(const Places& at, std::int64_t begin, std::int64_t end) const {
    const Rows<T> products = {thread_scratch<T>(2 * (end - begin) * width_), width_};
    const Rows<T> x = projected(at, begin, end, {products.at(end - begin), width_});
    weight_.hidden.multiply(end - begin, hidden_.rows(at.before, begin), bias(0), products);      // of r and z [B, 2H]
    const bool* valid = valid_at(input_.valid, at.time);
    for_real_rows(
        valid, begin, end,
        [&](std::int64_t row) {
          kernels::gru_gates_forward(H_, kernels::GruGatesForward<T>{x.at(row - begin), products.at(row - begin), hidden_.at(at.before, row),
                                                                     gates_.at(at.time, row), reset_hidden_.at(at.time, row)});
        },
        [&](std::int64_t row) { std::fill_n(reset_hidden_.at(at.time, row), H_, T(0)); });
    weight_.candidate.multiply(end - begin, reset_hidden_.rows(at.time, begin), bias(2 * H_), {products.data + 2 * H_, width_});  // of n [B, H]
    for_real_rows(
        valid, begin, end,
        [&](std::int64_t row) {
          kernels::gru_candidate_forward(H_, kernels::GruCandidateForward<T>{x.at(row - begin), products.at(row - begin), hidden_.at(at.before, row),
                                                                             gates_.at(at.time, row), hidden_.at(at.after, row)});
        },
        [&](std::int64_t row) { carry_on(hidden_, at, row); });
  }

  const SequenceInput& input_;
  std::int64_t steps_, H_, width_;
  Steps<T> given_, gates_, hidden_, cell_, tanh_cell_, recurrent_, reset_hidden_;
  SequenceWeights<T> weight_;
};

template <class T>
Trace fused_forward(const SequenceInput& input) {
  const Trace trace = empty_sequence_trace(input);
  const SequenceForward<T> forward(input, trace);
  for_row_blocks(input.input.size(1), input.input.size(0), [&](std::int64_t begin, std::int64_t end) { forward.run(begin, end); });
  return trace;
}

struct Gradients {
  Tensor input, input_weight, input_bias, weight, bias, hidden, cell;
};

// What arrives at the outputs: [L, B, H], with_whole_rows(); [B, H]; [B, H], LSTM.
struct Upstream {
  Tensor hidden, last, cell;
};

// What the gradients are made from.
struct SequenceGradients {
  Tensor projected;  // [L, B, G·H]: of W_i x + b_i
  Tensor recurrent;  // [L, B, G·H]: of the products with the state; `projected` but of a GRU with Reset::after
  Tensor input;      // [L, B, E], where there is an input weight
  Tensor total;      // [1, B, H]: at first of the last state, in the end of the first
  Tensor cell;       // [1, B, H], likewise, LSTM

  SequenceGradients(const SequenceInput& of, const Trace& trace, const Upstream& upstream)
      : projected(at::empty_like(trace.gates)), total(upstream.last.clone(at::MemoryFormat::Contiguous).unsqueeze(0)) {
    recurrent = trace.recurrent.defined() ? at::empty_like(trace.gates) : projected;
    if (of.input_weight.defined()) input = at::empty(of.input.sizes(), of.input.options());
    if (of.cell == Cell::lstm) cell = upstream.cell.clone(at::MemoryFormat::Contiguous).unsqueeze(0);
  }
};

// Blocks of rows back through all steps.
template <class T>
class SequenceBackward {
 public:
  SequenceBackward(const SequenceInput& input, const Trace& trace, const Tensor& outside, const SequenceGradients& gradients)
      : input_(input), steps_(trace.gates.size(0)), H_(trace.hidden.size(2)), width_(trace.gates.size(2)), gates_(trace.gates), hidden_(trace.hidden),
        cell_(trace.cell), tanh_cell_(trace.tanh_cell), recurrent_(trace.recurrent), outside_(outside), of_projected_(gradients.projected),
        of_recurrent_(gradients.recurrent), of_input_(gradients.input), total_(gradients.total), of_cell_(gradients.cell),
        buffers_(at::empty({2, gradients.total.size(1), H_}, trace.hidden.options())), direct_(buffers_.slice(0, 0, 1)), of_reset_(buffers_.slice(0, 1)),
        weight_(input, &PackedWeight<T>::backward) {}

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t s = steps_ - 1; s >= 0; --s) {
      const Places at = places(s, steps_, input_.reverse);
      add_outside(at, begin, end);
      input_.reset == Reset::before ? gru_of_reset_state(at, begin, end) : cells(at, begin, end);
      if (input_.input_weight.defined()) weight_.input.multiply(end - begin, of_projected_.rows(at.time, begin), {}, of_input_.rows(at.time, begin));
      weight_.hidden.multiply(end - begin, of_recurrent_.rows(at.time, begin), direct_.rows(0, begin), total_.rows(0, begin));  // + [B, rows] × [rows, H]
    }
  }

 private:
  // What arrives at the state from outside the sequence.
  void add_outside(const Places& at, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* outside = outside_.at(at.time, row);
      T* const total = total_.at(0, row);
      for (std::int64_t j = 0; j < H_; ++j) total[j] += outside[j];
    }
  }

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
    weight_.candidate.multiply(end - begin, {gradients(begin) + 2 * H_, width_}, {}, of_reset_.rows(0, begin));  // [B, H] × [H, H]
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
  Steps<T> gates_, hidden_, cell_, tanh_cell_, recurrent_, outside_, of_projected_, of_recurrent_, of_input_;
  Steps<T> total_, of_cell_;  // [1, B, H]: of the state and the cell that the step left
  Tensor buffers_;
  Steps<T> direct_, of_reset_;  // [1, B, H]: of the state before, not by way of a product; of r ∘ h
  SequenceWeights<T> weight_;
};

// The gradients of W_i and W_h: from the same rows but where a GRU resets after its product.
void fill_weights(const SequenceInput& input, const Trace& trace, const SequenceGradients& of, Gradients& gradients) {
  const std::int64_t steps = trace.gates.size(0), rows = gates_of_hidden(input), all = trace.gates.size(2);
  const Tensor before = input.reverse ? trace.hidden.slice(0, 1) : trace.hidden.slice(0, 0, steps);
  gradients.weight = empty_gradient(input.recurrent_weight);
  std::vector<WeightShare> shares = {{0, rows, before, gradients.weight.slice(0, 0, rows)}};      // [rows, H]
  if (input.reset == Reset::before) shares.push_back({rows, all, trace.reset_hidden, gradients.weight.slice(0, rows)});  // [H, H]
  if (input.input_weight.defined()) {
    gradients.input_weight = empty_gradient(input.input_weight);
    const WeightShare of_input = {0, all, input.input, gradients.input_weight};                   // [G·H, E]
    if (of.recurrent.is_same(of.projected))
      shares.push_back(of_input);
    else
      fill_weight_gradients(of.projected, {of_input});
  }
  fill_weight_gradients(of.recurrent, shares);
}

template <class T>
Gradients fused_backward(const SequenceInput& input, const Trace& trace, const Upstream& upstream) {
  const std::int64_t steps = trace.gates.size(0), batch = trace.gates.size(1);
  const SequenceGradients of(input, trace, upstream);
  const SequenceBackward<T> backward(input, trace, upstream.hidden, of);
  for_row_blocks(batch, steps, [&](std::int64_t begin, std::int64_t end) { backward.run(begin, end); });
  Gradients gradients;
  fill_weights(input, trace, of, gradients);
  gradients.input = input.input_weight.defined() ? of.input : of.projected;
  if (input.input_weight.defined()) gradients.input_bias = bias_gradient(of.projected);
  if (input.cell == Cell::gru) gradients.bias = bias_gradient(of.recurrent);
  gradients.hidden = of.total[0];
  if (input.cell == Cell::lstm) gradients.cell = of.cell[0];
  return gradients;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Inputs in order: input, its weight and bias, weight, bias, hidden, cell. Outputs: all states [L, B, H], the last one [B, H], the last cell [B, H].
// libtorch takes no undefined inputs and outputs here: what a cell doesn't have is an empty tensor.
class FusedSequence : public torch::autograd::Function<FusedSequence> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& given, const Tensor& input_weight, const Tensor& input_bias, const Tensor& weight,
                               const Tensor& bias, const Tensor& hidden, const Tensor& cell, const Tensor& valid, bool lstm, bool reset_before, bool reverse,
                               bool projects, bool padded) {
    context->saved_data["lstm"] = lstm;
    context->saved_data["reset_before"] = reset_before;
    context->saved_data["reverse"] = reverse;
    context->saved_data["projects"] = projects;
    context->saved_data["padded"] = padded;
    variable_list saved = {given, input_weight, input_bias, weight, bias, hidden, cell, valid};
    const SequenceInput input = input_of(saved, context);
    const Trace trace = given.scalar_type() == at::kDouble ? fused_forward<double>(input) : fused_forward<float>(input);
    const std::int64_t steps = given.size(0), last = reverse ? 0 : steps;
    for (const Tensor& tensor : {trace.gates, trace.hidden, trace.cell, trace.tanh_cell, trace.recurrent, trace.reset_hidden}) saved.push_back(tensor);
    context->save_for_backward(saved);
    // the states' own rows of the trace; as outputs they are no view of what is saved
    const Tensor states = (reverse ? trace.hidden.slice(0, 0, steps) : trace.hidden.slice(0, 1)).variable_data();
    return {states, trace.hidden[last].clone(), lstm ? trace.cell[last].clone() : at::empty({0}, given.options())};
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const SequenceInput input = input_of(saved, context);
    const Trace trace{saved[8], saved[9], saved[10], saved[11], saved[12], saved[13]};
    const auto or_zeros = [](const Tensor& gradient, const Tensor& like) { return gradient.defined() ? gradient : at::zeros_like(like); };
    const Upstream upstream = {with_whole_rows(or_zeros(output_gradients[0], trace.hidden.slice(0, 1))), or_zeros(output_gradients[1], input.hidden),
                               input.cell == Cell::lstm ? or_zeros(output_gradients[2], input.cell_state) : Tensor()};
    Gradients gradients;
    if (at::GradMode::is_enabled())
      gradients = composed_gradients(input, upstream);
    else if (input.input.scalar_type() == at::kDouble)
      gradients = fused_backward<double>(input, trace, upstream);
    else
      gradients = fused_backward<float>(input, trace, upstream);
    variable_list all = {gradients.input, gradients.input_weight, gradients.input_bias, gradients.weight, gradients.bias, gradients.hidden, gradients.cell};
    all.resize(all.size() + 6);  // of valid and the flags
    return all;
  }

 private:
  static SequenceInput input_of(const variable_list& given, const AutogradContext* context) {
    const auto flag = [context](const char* name) { return context->saved_data.at(name).toBool(); };
    const bool lstm = flag("lstm"), projects = flag("projects");
    return {lstm ? Cell::lstm : Cell::gru,     flag("reset_before") ? Reset::before : Reset::after,
            flag("reverse"),                   given[0],
            projects ? given[1] : Tensor(),    projects ? given[2] : Tensor(),
            given[3],                          lstm ? Tensor() : given[4],
            given[5],                          lstm ? given[6] : Tensor(),
            flag("padded") ? given[7] : Tensor()};
  }

  // Under create_graph: gradients that can be differentiated again.
  static Gradients composed_gradients(const SequenceInput& input, const Upstream& upstream) {
    const SequenceOutput output = composed_sequence(input);
    variable_list outputs{output.hidden, output.last}, given{upstream.hidden, upstream.last};
    if (input.cell == Cell::lstm) outputs.push_back(output.cell_state), given.push_back(upstream.cell);
    const variable_list found = differentiable_gradients(
        outputs, given, {input.input, input.input_weight, input.input_bias, input.recurrent_weight, input.recurrent_bias, input.hidden, input.cell_state});
    return {found[0], found[1], found[2], found[3], found[4], found[5], found[6]};
  }
};

}  // namespace

SequenceOutput recurrent_sequence(const SequenceInput& input, Path path) {
  const bool possible = has_kernels(input.input);
  if (path == Path::fused && !possible)
    throw NotSupported("attend::layers::Recurrent: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"");
  if (path == Path::composed || !possible) return composed_sequence(input);
  const Tensor nothing = at::empty({0}, input.input.options());
  const auto whole = [&](const Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : nothing; };
  const bool lstm = input.cell == Cell::lstm, projects = input.input_weight.defined();
  const variable_list outputs = FusedSequence::apply(with_whole_rows(input.input), whole(input.input_weight), whole(input.input_bias), input.recurrent_weight,
                                                     whole(input.recurrent_bias), input.hidden, whole(input.cell_state), whole(input.valid), lstm,
                                                     input.reset == Reset::before, input.reverse, projects, input.valid.defined());
  return {outputs[0], outputs[1], lstm ? outputs[2] : Tensor()};
}

}  // namespace attend::layers
