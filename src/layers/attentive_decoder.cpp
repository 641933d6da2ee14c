#include "attend/layers/attentive_decoder.h"

#include <vector>

#include "attend/addressing/additive.h"
#include "attend/core/shapes.h"
#include "attend/layers/recurrent.h"
#include "core/fused_operation.h"
#include "kernels/additive.h"
#include "kernels/dot_read.h"
#include "kernels/recurrent_cell.h"
#include "layers/memory_lengths.h"
#include "layers/packed_weight.h"

namespace attend::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto attentive_name = "attend::layers::attentive_decoder";

void check(const AttentiveDecoderInput& input) {
  check_shape(attentive_name, "first", input.first, {{"B"}, {"D"}});
  const bool lstm = input.cell == Cell::lstm;
  const std::int64_t B = input.first.size(0), D = input.first.size(1);
  const NamedSize gates = lstm ? NamedSize{"4D", 4 * D} : NamedSize{"3D", 3 * D};
  check_shape(attentive_name, "projected", input.projected, {{"B", B}, {"L"}, gates});
  check_shape(attentive_name, "keys", input.keys, {{"B", B}, {"Lk"}, {"A"}});
  check_shape(attentive_name, "memory", input.memory, {{"B", B}, {"Lk", input.keys.size(1)}, {"M"}});
  const std::int64_t A = input.keys.size(2), M = input.memory.size(2);
  check_shape(attentive_name, "query_weight", input.query_weight, {{"A", A}, {"D", D}});
  check_shape(attentive_name, "energy", input.energy, {{"A", A}});
  check_shape(attentive_name, "context_weight", input.context_weight, {gates, {"M", M}});
  check_shape(attentive_name, "state_weight", input.state_weight, {gates, {"D", D}});
  if (lstm) check_shape(attentive_name, "first_cell", input.first_cell, {{"B", B}, {"D", D}});
  check_floating(attentive_name, "projected", input.projected);
  const std::pair<const char*, const Tensor*> others[] = {{"first", &input.first}, {"keys", &input.keys}, {"memory", &input.memory},
                                                          {"query_weight", &input.query_weight}, {"energy", &input.energy},
                                                          {"context_weight", &input.context_weight}, {"state_weight", &input.state_weight}};
  for (const auto& [name, tensor] : others) check_matches(attentive_name, name, *tensor, "projected", input.projected);
  if (lstm) check_matches(attentive_name, "first_cell", input.first_cell, "projected", input.projected);
  if (input.projected.size(1) < 1 || input.keys.size(1) < 1)
    throw InvalidArgument(format("{}: expected at least one step and one key, got projected {} and keys {}", attentive_name,
                                 shape_text(input.projected), shape_text(input.keys)));
}

// --- composed ------------------------------------------------------------------------------------------------------------------------

AttentiveDecoderResult composed(const AttentiveDecoderInput& input) {
  const std::int64_t steps = input.projected.size(1);
  const Mask mask = Mask::lengths(input.lengths);
  const Tensor no_bias = at::zeros({input.state_weight.size(0)}, input.projected.options());
  Tensor cell = input.first_cell;                                                                 // LSTM: m_{i−1} [B, D]
  addressing::ReadOptions how;
  how.return_weights = true;
  how.path = Path::composed;
  std::vector<Tensor> states{input.first}, contexts, weights;
  for (std::int64_t i = 0; i < steps; ++i) {
    const Tensor before = states.back();                                                          // s_{i−1} [B, D]
    const Tensor query = at::matmul(before, input.query_weight.t());                              // [B, A]
    const AttentionResult read = addressing::additive(query.unsqueeze(1).unsqueeze(1), input.keys.unsqueeze(1), input.memory.unsqueeze(1),
                                                      input.energy, mask, how);
    contexts.push_back(read.context.squeeze(1).squeeze(1));                                       // c_i [B, M]
    weights.push_back(read.weights.squeeze(1).squeeze(1));                                        // α_i [B, Lk]
    if (i + 1 == steps) break;
    const Tensor x = input.projected.select(1, i) + at::matmul(contexts.back(), input.context_weight.t());  // [B, G·D]
    if (input.cell == Cell::gru) {
      states.push_back(gru_step(x, before, input.state_weight, no_bias, Reset::before));
    } else {
      const RecurrentState after = lstm_step(x, {before, cell}, input.state_weight);
      states.push_back(after.hidden);
      cell = after.cell;
    }
  }
  return {at::stack(states, 1), at::stack(contexts, 1), at::stack(weights, 1).detach()};
}

// --- fused ---------------------------------------------------------------------------------------------------------------------------

struct AttentiveSizes {
  std::int64_t steps, batch, state, gates, keys, hidden, memory;  // L, B, D, G·D, Lk, A, M
  bool lstm;
  explicit AttentiveSizes(const AttentiveDecoderInput& input)
      : steps(input.projected.size(1)), batch(input.first.size(0)), state(input.first.size(1)), gates(input.projected.size(2)),
        keys(input.keys.size(1)), hidden(input.keys.size(2)), memory(input.memory.size(2)), lstm(input.cell == Cell::lstm) {}
  std::int64_t gates_of_state() const { return (lstm ? 4 : 2) * state; }  // those that take s as it is
  std::int64_t of_state() const { return hidden + gates_of_state(); }     // columns of the products that do
  std::int64_t products() const { return hidden + gates; }
};

// What the forward pass leaves for the backward one, in the order of steps.
struct AttentiveTrace {
  Tensor states;        // [L, B, D]
  Tensor contexts;      // [L, B, M]
  Tensor weights;       // [L, B, Lk]
  Tensor products;      // [L, B, A + G·D]: W_a s, U s of all gates, but of a GRU's n U (r ∘ s)
  Tensor gates;         // [L − 1, B, G·D]
  Tensor reset_states;  // [L − 1, B, D]: r ∘ s, GRU
  Tensor cell;          // [L, B, D]: m_0 … m_{L−1}, LSTM
  Tensor tanh_cell;     // [L − 1, B, D], LSTM
  Tensor exponentials;  // [B, Lk, A]
  Tensor fits;          // bool [B]: whether the row's exponentials are of use
};

AttentiveTrace empty_attentive_trace(const AttentiveDecoderInput& input, const AttentiveSizes& sizes) {
  const auto options = input.projected.options();
  AttentiveTrace trace;
  trace.states = at::empty({sizes.steps, sizes.batch, sizes.state}, options);
  trace.states[0].copy_(input.first);
  trace.contexts = at::empty({sizes.steps, sizes.batch, sizes.memory}, options);
  trace.weights = at::zeros({sizes.steps, sizes.batch, sizes.keys}, options);
  trace.products = at::empty({sizes.steps, sizes.batch, sizes.products()}, options);
  trace.gates = at::empty({sizes.steps - 1, sizes.batch, sizes.gates}, options);
  if (sizes.lstm) {
    trace.cell = at::empty({sizes.steps, sizes.batch, sizes.state}, options);
    trace.cell[0].copy_(input.first_cell);
    trace.tanh_cell = at::empty({sizes.steps - 1, sizes.batch, sizes.state}, options);
  } else {
    trace.reset_states = at::empty({sizes.steps - 1, sizes.batch, sizes.state}, options);
  }
  trace.exponentials = at::empty({sizes.batch, sizes.keys, sizes.hidden}, options);
  trace.fits = at::empty({sizes.batch}, options.dtype(at::kBool));
  return trace;
}

// W_a above U of the gates that take s as it is, in one product.
Tensor weight_of_state(const AttentiveDecoderInput& input, const AttentiveSizes& sizes) {
  return at::cat({input.query_weight, input.state_weight.slice(0, 0, sizes.gates_of_state())});   // GRU [A + 2D, D], LSTM [A + 4D, D]
}
// Packed with that of a GRU's n; an LSTM has nothing of the kind.
template <class T>
PackedWeight<T> packed_candidate(const AttentiveDecoderInput& input, const AttentiveSizes& sizes, PackedWeight<T> (*pack)(const Tensor&, std::int64_t)) {
  return sizes.lstm ? PackedWeight<T>() : pack(input.state_weight.slice(0, sizes.gates_of_state()), sizes.steps);  // [D, D]
}

// What both passes read of a row's memory.
template <class T>
struct AttentiveMemory {
  const AttentiveSizes& sizes;
  const std::int64_t* lengths;
  const T *keys, *values, *energy;
  T* exponentials;
  bool* fits;

  AttentiveMemory(const AttentiveDecoderInput& input, const AttentiveSizes& of, const AttentiveTrace& trace)
      : sizes(of), lengths(input.lengths.data_ptr<std::int64_t>()), keys(input.keys.data_ptr<T>()), values(input.memory.data_ptr<T>()),
        energy(input.energy.data_ptr<T>()), exponentials(trace.exponentials.data_ptr<T>()), fits(trace.fits.data_ptr<bool>()) {}

  std::int64_t key_place(std::int64_t row) const { return row * sizes.keys * sizes.hidden; }
  std::int64_t value_place(std::int64_t row) const { return row * sizes.keys * sizes.memory; }
  const T* exponential(std::int64_t row) const { return fits[row] ? exponentials + key_place(row) : nullptr; }
  kernels::AdditiveSizes row_sizes(std::int64_t row) const { return {lengths[row], sizes.hidden, sizes.memory}; }
  void take_exponentials(std::int64_t row) const {
    fits[row] = kernels::doubled_exponentials(lengths[row] * sizes.hidden, keys + key_place(row), exponentials + key_place(row));
  }
};

// Blocks of rows through all steps.
template <class T>
class AttentiveForward {
 public:
  AttentiveForward(const AttentiveDecoderInput& input, const AttentiveSizes& sizes, const AttentiveTrace& trace)
      : sizes_(sizes), memory_(input, sizes, trace), projected_(input.projected.data_ptr<T>()), states_(trace.states), contexts_(trace.contexts),
        weights_(trace.weights), products_(trace.products), gates_(trace.gates), reset_states_(trace.reset_states), cell_(trace.cell),
        tanh_cell_(trace.tanh_cell), of_state_(PackedWeight<T>::forward(weight_of_state(input, sizes), sizes.steps)),
        of_candidate_(packed_candidate(input, sizes, &PackedWeight<T>::forward)),
        of_context_(PackedWeight<T>::forward(input.context_weight, sizes.steps)),
        inputs_tensor_(at::empty({1, sizes.batch, sizes.lstm ? 0 : sizes.gates}, input.projected.options())),
        inputs_(inputs_tensor_) {}

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) memory_.take_exponentials(row);
    for (std::int64_t i = 0; i < sizes_.steps; ++i) {
      of_state_.multiply(end - begin, states_.rows(i, begin), {}, products_.rows(i, begin));      // GRU [B, A + 2D], LSTM [B, A + 4D]
      read(i, begin, end);
      if (i + 1 < sizes_.steps) sizes_.lstm ? lstm(i, begin, end) : gru(i, begin, end);
    }
  }

 private:
  // α_i and c_i.
  void read(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row)
      kernels::additive_forward(memory_.row_sizes(row),
                                kernels::AdditiveForward<T>{products_.at(i, row), memory_.keys + memory_.key_place(row), memory_.exponential(row),
                                                            memory_.energy, memory_.values + memory_.value_place(row), thread_scratch<T>(sizes_.hidden),
                                                            weights_.at(i, row), contexts_.at(i, row)});
  }

  Rows<T> projected(std::int64_t i, std::int64_t begin) const {
    return {projected_ + (begin * sizes_.steps + i) * sizes_.gates, sizes_.steps * sizes_.gates};
  }

  // s_i and m_i into their places. The products of s_{i−1} are there already, as in gru().
  void lstm(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    of_context_.multiply(end - begin, contexts_.rows(i, begin), projected(i, begin), gates_.rows(i, begin));  // x + C c [B, 4D]
    for (std::int64_t row = begin; row < end; ++row) {
      const T* of_state = products_.at(i, row) + sizes_.hidden;                                   // U s [4D]
      T* gates = gates_.at(i, row);
      for (std::int64_t j = 0; j < sizes_.gates; ++j) gates[j] += of_state[j];
      kernels::lstm_forward(sizes_.state, kernels::LstmForward<T>{gates, cell_.at(i, row), cell_.at(i + 1, row), tanh_cell_.at(i, row),
                                                                  states_.at(i + 1, row)});
    }
  }

  void gru(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state, A = sizes_.hidden;
    of_context_.multiply(end - begin, contexts_.rows(i, begin), projected(i, begin), inputs_.rows(0, begin));  // x + C c [B, 3D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_gates_forward(D, kernels::GruGatesForward<T>{inputs_.at(0, row), products_.at(i, row) + A, states_.at(i, row), gates_.at(i, row),
                                                                reset_states_.at(i, row)});
    of_candidate_.multiply(end - begin, reset_states_.rows(i, begin), {}, {products_.at(i, begin) + sizes_.of_state(), sizes_.products()});  // [B, D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_candidate_forward(D, kernels::GruCandidateForward<T>{inputs_.at(0, row), products_.at(i, row) + A, states_.at(i, row), gates_.at(i, row),
                                                                        states_.at(i + 1, row)});
  }

  const AttentiveSizes& sizes_;
  AttentiveMemory<T> memory_;
  T* projected_;
  Steps<T> states_, contexts_, weights_, products_, gates_, reset_states_, cell_, tanh_cell_;
  PackedWeight<T> of_state_, of_candidate_, of_context_;
  Tensor inputs_tensor_;
  Steps<T> inputs_;  // GRU [1, B, 3D]: x + C c of a step
};

template <class T>
AttentiveTrace fused_forward(const AttentiveDecoderInput& input) {
  const AttentiveSizes sizes(input);
  const AttentiveTrace trace = empty_attentive_trace(input, sizes);
  const AttentiveForward<T> forward(input, sizes, trace);
  for_row_blocks(sizes.batch, sizes.steps, [&](std::int64_t begin, std::int64_t end) { forward.run(begin, end); });
  return trace;
}

struct AttentiveGradients {
  Tensor projected, first, first_cell, keys, memory, query_weight, energy, context_weight, state_weight;
};

// What a block's rows leave behind.
struct AttentiveRowGradients {
  Tensor rows;      // [L, B, A + G·D]: of the products and, behind the query's, of x
  Tensor contexts;  // [L, B, M]
  Tensor state;     // [1, B, D]: of s_i, in the end of s_0
  Tensor cell;      // [1, B, D]: of m_i, in the end of m_0, LSTM
  Tensor keys, memory;
  Tensor energy;    // [B, A]
};

// Blocks of rows back through all steps.
template <class T>
class AttentiveBackward {
 public:
  AttentiveBackward(const AttentiveDecoderInput& input, const AttentiveSizes& sizes, const AttentiveTrace& trace, const Tensor& state_gradients,
                    const AttentiveRowGradients& gradients)
      : sizes_(sizes), memory_(input, sizes, trace), states_(trace.states), weights_(trace.weights), products_(trace.products), gates_(trace.gates),
        cell_(trace.cell), tanh_cell_(trace.tanh_cell), outside_(state_gradients), rows_(gradients.rows), of_contexts_(gradients.contexts),
        of_state_(gradients.state), of_cell_(gradients.cell), of_keys_(gradients.keys.data_ptr<T>()),
        of_memory_(gradients.memory.data_ptr<T>()), of_energy_(gradients.energy.data_ptr<T>()),
        buffers_(at::zeros({2, sizes.batch, sizes.state}, input.projected.options())), through_(buffers_.slice(0, 0, 1)), of_reset_(buffers_.slice(0, 1)),
        state_weight_(PackedWeight<T>::backward(weight_of_state(input, sizes), sizes.steps)),
        candidate_weight_(packed_candidate(input, sizes, &PackedWeight<T>::backward)),
        context_weight_(PackedWeight<T>::backward(input.context_weight, sizes.steps)) {}

  void run(std::int64_t begin, std::int64_t end) const {
    const std::int64_t L = sizes_.steps, D = sizes_.state, A = sizes_.hidden;
    for (std::int64_t row = begin; row < end; ++row) std::fill_n(rows_.at(L - 1, row) + A, sizes_.gates, T(0));
    for (std::int64_t i = L - 1; i >= 0; --i) {
      const Rows<T> of_context = of_contexts_.rows(i, begin), of_state = of_state_.rows(0, begin);
      if (i + 1 < L) {
        sizes_.lstm ? lstm(i, begin, end) : gru(i, begin, end);
        context_weight_.multiply(end - begin, {rows_.at(i, begin) + A, sizes_.products()}, of_context, of_context);  // + [B, G·D] × [G·D, M]
      }
      read(i, begin, end);
      const T *through = through_.at(0, begin), *outside = outside_.at(i, begin);
      for (std::int64_t j = 0; j < (end - begin) * D; ++j) of_state.data[j] = through[j] + outside[j];
      state_weight_.multiply(end - begin, rows_.rows(i, begin), of_state, of_state);              // + [B, A + 2D] × [A + 2D, D], LSTM 4D
    }
    for (std::int64_t row = begin; row < end; ++row)
      kernels::add_rows(kernels::AddedRows<T>{L, memory_.lengths[row], sizes_.memory, weights_.at(0, row), sizes_.batch * sizes_.keys, of_contexts_.at(0, row),
                                              sizes_.batch * sizes_.memory, of_memory_ + memory_.value_place(row)});
  }

 private:
  // From the gradients of s_{i+1} and m_{i+1}, that of x_i into its columns of the step's row, and that of m_i. `through` stays 0.
  void lstm(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row)
      kernels::lstm_backward(sizes_.state, kernels::LstmBackward<T>{gates_.at(i, row), cell_.at(i, row), tanh_cell_.at(i, row), of_state_.at(0, row),
                                                                    of_cell_.at(0, row), rows_.at(i, row) + sizes_.hidden});
  }

  // From the gradient of s_{i+1}, that of x_i into its columns of the step's row, and into `through` that of s_i as far as it doesn't go through a product.
  void gru(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state, A = sizes_.hidden;
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_candidate_backward(D, kernels::GruCandidateBackward<T>{gates_.at(i, row), states_.at(i, row), of_state_.at(0, row), rows_.at(i, row) + A,
                                                                          through_.at(0, row)});
    candidate_weight_.multiply(end - begin, {rows_.at(i, begin) + sizes_.of_state(), sizes_.products()}, {}, of_reset_.rows(0, begin));  // [B, D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_gates_backward(D, kernels::GruGatesBackward<T>{gates_.at(i, row), states_.at(i, row), of_reset_.at(0, row), rows_.at(i, row) + A,
                                                                  through_.at(0, row)});
  }

  // From the gradient of c_i, that of the query into the first columns of the step's row; keys' and energy's are added up.
  void read(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t place = memory_.key_place(row);
      kernels::additive_backward(memory_.row_sizes(row),
                                 kernels::AdditiveBackward<T>{products_.at(i, row), memory_.keys + place, memory_.exponential(row), memory_.energy,
                                                              memory_.values + memory_.value_place(row), weights_.at(i, row), of_contexts_.at(i, row),
                                                              thread_scratch<T>(sizes_.hidden + sizes_.keys), rows_.at(i, row), of_keys_ + place,
                                                              of_energy_ + row * sizes_.hidden});
    }
  }

  const AttentiveSizes& sizes_;
  AttentiveMemory<T> memory_;
  Steps<T> states_, weights_, products_, gates_, cell_, tanh_cell_, outside_, rows_, of_contexts_, of_state_, of_cell_;
  T *of_keys_, *of_memory_, *of_energy_;
  Tensor buffers_;
  Steps<T> through_, of_reset_;  // [1, B, D]: of s_i not by way of a product; of r ∘ s
  PackedWeight<T> state_weight_, candidate_weight_, context_weight_;
};

// state_gradients [L, B, D] and context_gradients [L, B, M] of the outputs.
template <class T>
AttentiveGradients fused_backward(const AttentiveDecoderInput& input, const AttentiveTrace& trace, const Tensor& state_gradients,
                                  const Tensor& context_gradients) {
  const AttentiveSizes sizes(input);
  const std::int64_t L = sizes.steps, B = sizes.batch, D = sizes.state, A = sizes.hidden;
  const auto options = input.projected.options();
  const AttentiveRowGradients of = {.rows = at::empty({L, B, sizes.products()}, options),
                                    .contexts = context_gradients.clone(at::MemoryFormat::Contiguous),
                                    .state = at::empty({1, B, D}, options),
                                    .cell = sizes.lstm ? at::zeros({1, B, D}, options) : Tensor(),
                                    .keys = at::zeros_like(input.keys),
                                    .memory = at::zeros_like(input.memory),
                                    .energy = at::zeros({B, A}, options)};
  const AttentiveBackward<T> backward(input, sizes, trace, state_gradients, of);
  for_row_blocks(B, L, [&](std::int64_t begin, std::int64_t end) { backward.run(begin, end); });
  const Tensor flat = of.rows.view({L * B, sizes.products()});
  const Tensor of_weight = at::mm(flat.slice(1, 0, sizes.of_state()).t(), trace.states.view({L * B, D}));  // GRU [A + 2D, D], LSTM [A + 4D, D]
  AttentiveGradients gradients;
  gradients.projected = of.rows.slice(2, A).transpose(0, 1);
  gradients.first = of.state[0];
  if (sizes.lstm) gradients.first_cell = of.cell[0];
  gradients.keys = of.keys, gradients.memory = of.memory;
  gradients.query_weight = of_weight.slice(0, 0, A);
  gradients.energy = of.energy.sum(0);
  gradients.context_weight = at::mm(flat.slice(1, A).t(), trace.contexts.view({L * B, sizes.memory}));  // [G·D, M]
  gradients.state_weight = of_weight.slice(0, A);
  if (!sizes.lstm) {
    const Tensor of_candidate = at::mm(flat.slice(0, 0, (L - 1) * B).slice(1, sizes.of_state()).t(), trace.reset_states.view({(L - 1) * B, D}));
    gradients.state_weight = at::cat({gradients.state_weight, of_candidate});                     // [3D, D]
  }
  return gradients;
}

constexpr std::size_t attentive_inputs = 10;

AttentiveDecoderInput attentive_input_of(const variable_list& given, bool lstm) {
  return {lstm ? Cell::lstm : Cell::gru, given[0], given[1], lstm ? given[2] : Tensor(), given[3], given[4], given[5], given[6], given[7], given[8], given[9]};
}

// Under create_graph: gradients that can be differentiated again.
variable_list composed_gradients(const AttentiveDecoderInput& input, const Tensor& state_gradients, const Tensor& context_gradients) {
  const AttentiveDecoderResult result = composed(input);
  return differentiable_gradients({result.states, result.contexts}, {state_gradients.transpose(0, 1), context_gradients.transpose(0, 1)},
                                  {input.projected, input.first, input.first_cell, input.keys, input.memory, Tensor(), input.query_weight, input.energy,
                                   input.context_weight, input.state_weight});
}

// Inputs in the order of AttentiveDecoderInput, `first_cell` of a GRU an empty tensor, since libtorch takes no undefined ones here; outputs in the
// order of steps: states [L, B, D], contexts [L, B, M], weights [L, B, Lk].
class FusedAttentiveDecoder : public torch::autograd::Function<FusedAttentiveDecoder> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& projected, const Tensor& first, const Tensor& first_cell, const Tensor& keys,
                               const Tensor& memory, const Tensor& lengths, const Tensor& query_weight, const Tensor& energy, const Tensor& context_weight,
                               const Tensor& state_weight, bool lstm) {
    variable_list saved = {projected, first, first_cell, keys, memory, lengths, query_weight, energy, context_weight, state_weight};
    const AttentiveDecoderInput input = attentive_input_of(saved, lstm);
    const AttentiveTrace trace = projected.scalar_type() == at::kDouble ? fused_forward<double>(input) : fused_forward<float>(input);
    for (const Tensor& tensor : {trace.states, trace.contexts, trace.weights, trace.products, trace.gates, trace.reset_states, trace.cell, trace.tanh_cell,
                                 trace.exponentials, trace.fits})
      saved.push_back(tensor);
    context->save_for_backward(saved);
    context->saved_data["lstm"] = lstm;
    context->mark_non_differentiable({trace.weights});
    return {trace.states, trace.contexts, trace.weights};
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const AttentiveDecoderInput input = attentive_input_of(saved, context->saved_data["lstm"].toBool());
    const auto at = [&](std::size_t i) { return saved[attentive_inputs + i]; };
    const AttentiveTrace trace{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9)};
    const auto upstream = [&](std::size_t output, const Tensor& like) {
      const Tensor& given = output_gradients[output];
      return given.defined() ? given.contiguous() : at::zeros_like(like);
    };
    const Tensor of_states = upstream(0, trace.states), of_contexts = upstream(1, trace.contexts);
    variable_list gradients = at::GradMode::is_enabled() ? composed_gradients(input, of_states, of_contexts)
                                                         : kernel_gradients(input, trace, of_states, of_contexts);
    gradients.resize(attentive_inputs + 1);
    return gradients;
  }

 private:
  static variable_list kernel_gradients(const AttentiveDecoderInput& input, const AttentiveTrace& trace, const Tensor& of_states, const Tensor& of_contexts) {
    const bool wide = input.projected.scalar_type() == at::kDouble;
    const AttentiveGradients all = wide ? fused_backward<double>(input, trace, of_states, of_contexts)
                               : fused_backward<float>(input, trace, of_states, of_contexts);
    return {all.projected, all.first, all.first_cell, all.keys, all.memory, Tensor(), all.query_weight, all.energy, all.context_weight, all.state_weight};
  }
};

}  // namespace

AttentiveDecoderResult attentive_decoder(const AttentiveDecoderInput& given, Path path) {
  check(given);
  AttentiveDecoderInput input = given;
  input.lengths = lengths_of_memory(attentive_name, given.lengths, given.keys);
  const bool possible = has_kernels(input.projected);
  if (path == Path::fused && !possible)
    throw NotSupported(format("{}: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"", attentive_name));
  if (path == Path::composed || !possible) return composed(input);
  const bool lstm = input.cell == Cell::lstm;
  const variable_list found = FusedAttentiveDecoder::apply(
      input.projected.contiguous(), input.first.contiguous(), lstm ? input.first_cell.contiguous() : at::empty({0}, input.projected.options()),
      input.keys.contiguous(), input.memory.contiguous(), input.lengths.contiguous(), input.query_weight.contiguous(), input.energy.contiguous(),
      input.context_weight.contiguous(), input.state_weight.contiguous(), lstm);
  return {found[0].transpose(0, 1), found[1].transpose(0, 1), found[2].transpose(0, 1)};
}

}  // namespace attend::layers
