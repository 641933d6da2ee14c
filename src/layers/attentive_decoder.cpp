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
#include "layers/weight_gradients.h"

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
  check_shape(attentive_name, "tokens", input.tokens, {{"B", B}, {"L"}, {"E"}});
  check_shape(attentive_name, "token_weight", input.token_weight, {gates, {"E", input.tokens.size(2)}});
  check_shape(attentive_name, "token_bias", input.token_bias, {gates});
  check_shape(attentive_name, "keys", input.keys, {{"B", B}, {"Lk"}, {"A"}});
  check_shape(attentive_name, "memory", input.memory, {{"B", B}, {"Lk", input.keys.size(1)}, {"M"}});
  const std::int64_t A = input.keys.size(2), M = input.memory.size(2);
  check_shape(attentive_name, "query_weight", input.query_weight, {{"A", A}, {"D", D}});
  check_shape(attentive_name, "energy", input.energy, {{"A", A}});
  check_shape(attentive_name, "context_weight", input.context_weight, {gates, {"M", M}});
  check_shape(attentive_name, "state_weight", input.state_weight, {gates, {"D", D}});
  if (lstm) check_shape(attentive_name, "first_cell", input.first_cell, {{"B", B}, {"D", D}});
  check_floating(attentive_name, "tokens", input.tokens);
  const std::pair<const char*, const Tensor*> others[] = {{"token_weight", &input.token_weight}, {"token_bias", &input.token_bias},
                                                          {"first", &input.first}, {"keys", &input.keys}, {"memory", &input.memory},
                                                          {"query_weight", &input.query_weight}, {"energy", &input.energy},
                                                          {"context_weight", &input.context_weight}, {"state_weight", &input.state_weight}};
  for (const auto& [name, tensor] : others) check_matches(attentive_name, name, *tensor, "tokens", input.tokens);
  if (lstm) check_matches(attentive_name, "first_cell", input.first_cell, "tokens", input.tokens);
  if (input.tokens.size(1) < 1 || input.keys.size(1) < 1)
    throw InvalidArgument(format("{}: expected at least one step and one key, got tokens {} and keys {}", attentive_name,
                                 shape_text(input.tokens), shape_text(input.keys)));
}

// --- composed ------------------------------------------------------------------------------------------------------------------------

AttentiveDecoderResult composed(const AttentiveDecoderInput& input) {
  const std::int64_t steps = input.tokens.size(1);
  const Tensor projected = at::linear(input.tokens, input.token_weight, input.token_bias);         // x [B, L, G·D]
  const Mask mask = Mask::lengths(input.lengths);
  const Tensor no_bias = at::zeros({input.state_weight.size(0)}, projected.options());
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
    const Tensor x = projected.select(1, i) + at::matmul(contexts.back(), input.context_weight.t());  // [B, G·D]
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
  std::int64_t steps, batch, tokens, state, gates, keys, hidden, memory;  // L, B, E, D, G·D, Lk, A, M
  bool lstm;
  explicit AttentiveSizes(const AttentiveDecoderInput& input)
      : steps(input.tokens.size(1)), batch(input.first.size(0)), tokens(input.tokens.size(2)), state(input.first.size(1)), gates(input.state_weight.size(0)),
        keys(input.keys.size(1)), hidden(input.keys.size(2)), memory(input.memory.size(2)), lstm(input.cell == Cell::lstm) {}
  std::int64_t gates_of_state() const { return (lstm ? 4 : 2) * state; }  // those that take s as it is
};

// What the forward pass leaves for the backward one, in the order of steps.
struct AttentiveTrace {
  Tensor states;        // [L, B, D]
  Tensor contexts;      // [L, B, M]
  Tensor weights;       // [L, B, Lk]
  Tensor queries;       // [L, B, A]: W_a s
  Tensor gates;         // [L − 1, B, G·D]
  Tensor reset_states;  // [L − 1, B, D]: r ∘ s, GRU
  Tensor cell;          // [L, B, D]: m_0 … m_{L−1}, LSTM
  Tensor tanh_cell;     // [L − 1, B, D], LSTM
  Tensor exponentials;  // [B, Lk, A]
  Tensor fits;          // bool [B]: whether the row's exponentials are of use
};

AttentiveTrace empty_attentive_trace(const AttentiveDecoderInput& input, const AttentiveSizes& sizes) {
  const auto options = input.tokens.options();
  AttentiveTrace trace;
  trace.states = at::empty({sizes.steps, sizes.batch, sizes.state}, options);
  trace.states[0].copy_(input.first);
  trace.contexts = at::empty({sizes.steps, sizes.batch, sizes.memory}, options);
  trace.weights = at::zeros({sizes.steps, sizes.batch, sizes.keys}, options);
  trace.queries = at::empty({sizes.steps, sizes.batch, sizes.hidden}, options);
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

// The weights of both passes, each packed its way. U is in two parts: of the gates that take s as it is, and of a GRU's n, which takes r ∘ s.
template <class T>
struct AttentiveWeights {
  PackedWeight<T> token, query, context, state, candidate;

  using Pack = PackedWeight<T> (*)(const Tensor&, std::int64_t);
  AttentiveWeights(const AttentiveDecoderInput& input, const AttentiveSizes& sizes, Pack pack)
      : token(pack(input.token_weight, sizes.steps)), query(pack(input.query_weight, sizes.steps)), context(pack(input.context_weight, sizes.steps)),
        state(pack(input.state_weight.slice(0, 0, sizes.gates_of_state()), sizes.steps)) {
    if (!sizes.lstm) candidate = pack(input.state_weight.slice(0, sizes.gates_of_state()), sizes.steps);
  }
};

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
      : sizes_(sizes), memory_(input, sizes, trace), weight_(input, sizes, &PackedWeight<T>::forward), token_bias_(input.token_bias.data_ptr<T>()),
        tokens_(input.tokens.transpose(0, 1)), states_(trace.states), contexts_(trace.contexts), weights_(trace.weights), queries_(trace.queries),
        gates_(trace.gates), reset_states_(trace.reset_states), cell_(trace.cell), tanh_cell_(trace.tanh_cell) {}

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) memory_.take_exponentials(row);
    for (std::int64_t i = 0; i < sizes_.steps; ++i) {
      weight_.query.multiply(end - begin, states_.rows(i, begin), {}, queries_.rows(i, begin));   // W_a s [B, A]
      read(i, begin, end);
      if (i + 1 < sizes_.steps) sizes_.lstm ? lstm(i, begin, end) : gru(i, begin, end);
    }
  }

 private:
  // α_i and c_i.
  void read(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row)
      kernels::additive_forward(memory_.row_sizes(row),
                                kernels::AdditiveForward<T>{queries_.at(i, row), memory_.keys + memory_.key_place(row), memory_.exponential(row),
                                                            memory_.energy, memory_.values + memory_.value_place(row), thread_scratch<T>(sizes_.hidden),
                                                            weights_.at(i, row), contexts_.at(i, row)});
  }

  // W y + b + C c [B, G·D]
  void take_inputs(std::int64_t i, std::int64_t begin, std::int64_t count, Rows<T> inputs) const {
    weight_.token.multiply(count, tokens_.rows(i, begin), {token_bias_, 0}, inputs);
    weight_.context.multiply(count, contexts_.rows(i, begin), inputs, inputs);
  }

  // s_i and m_i into their places, as in gru().
  void lstm(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    const Rows<T> gates = gates_.rows(i, begin);
    take_inputs(i, begin, end - begin, gates);
    weight_.state.multiply(end - begin, states_.rows(i, begin), gates, gates);                    // + U s [B, 4D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::lstm_forward(sizes_.state, kernels::LstmForward<T>{gates_.at(i, row), cell_.at(i, row), cell_.at(i + 1, row), tanh_cell_.at(i, row),
                                                                  states_.at(i + 1, row)});
  }

  void gru(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state, count = end - begin, width = 2 * sizes_.gates;
    const Rows<T> inputs = {thread_scratch<T>(count * width), width}, products = {inputs.data + sizes_.gates, width};
    take_inputs(i, begin, count, inputs);
    weight_.state.multiply(count, states_.rows(i, begin), {}, products);                          // U s of r and z [B, 2D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_gates_forward(D, kernels::GruGatesForward<T>{inputs.at(row - begin), products.at(row - begin), states_.at(i, row), gates_.at(i, row),
                                                                reset_states_.at(i, row)});
    weight_.candidate.multiply(count, reset_states_.rows(i, begin), {}, {products.data + 2 * D, width});  // U (r ∘ s) of n [B, D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_candidate_forward(D, kernels::GruCandidateForward<T>{inputs.at(row - begin), products.at(row - begin), states_.at(i, row), gates_.at(i, row),
                                                                        states_.at(i + 1, row)});
  }

  const AttentiveSizes& sizes_;
  AttentiveMemory<T> memory_;
  AttentiveWeights<T> weight_;
  T* token_bias_;
  Steps<T> tokens_, states_, contexts_, weights_, queries_, gates_, reset_states_, cell_, tanh_cell_;
};

template <class T>
AttentiveTrace fused_forward(const AttentiveDecoderInput& input) {
  const AttentiveSizes sizes(input);
  const AttentiveTrace trace = empty_attentive_trace(input, sizes);
  const AttentiveForward<T> forward(input, sizes, trace);
  for_row_blocks(sizes.batch, sizes.steps, [&](std::int64_t begin, std::int64_t end) { forward.run(begin, end); });
  return trace;
}

// Of the inputs, and of what the gradients of the weights are made from.
struct AttentiveRowGradients {
  Tensor queries;   // [L, B, A]
  Tensor gates;     // [L − 1, B, G·D]: of what goes into them, x and what is added to it
  Tensor tokens;    // [L, B, E]
  Tensor contexts;  // [L, B, M]
  Tensor state;     // [1, B, D]: of s_i, in the end of s_0
  Tensor cell;      // [1, B, D]: of m_i, in the end of m_0, LSTM
  Tensor keys, memory;
  Tensor energy;    // [B, A]

  AttentiveRowGradients(const AttentiveDecoderInput& input, const AttentiveSizes& sizes)
      : keys(at::empty_like(input.keys)), memory(at::empty_like(input.memory)) {
    const auto options = input.tokens.options();
    queries = at::empty({sizes.steps, sizes.batch, sizes.hidden}, options);
    gates = at::empty({sizes.steps - 1, sizes.batch, sizes.gates}, options);
    tokens = at::empty({sizes.steps, sizes.batch, sizes.tokens}, options);
    contexts = at::empty({sizes.steps, sizes.batch, sizes.memory}, options);
    state = at::empty({1, sizes.batch, sizes.state}, options);
    if (sizes.lstm) cell = at::zeros({1, sizes.batch, sizes.state}, options);
    energy = at::zeros({sizes.batch, sizes.hidden}, options);
  }
};

// Blocks of rows back through all steps.
template <class T>
class AttentiveBackward {
 public:
  // state_gradients [L, B, D] and context_gradients [L, B, M] of the outputs.
  AttentiveBackward(const AttentiveDecoderInput& input, const AttentiveSizes& sizes, const AttentiveTrace& trace, const Tensor& state_gradients,
                    const Tensor& context_gradients, const AttentiveRowGradients& gradients)
      : sizes_(sizes), memory_(input, sizes, trace), weight_(input, sizes, &PackedWeight<T>::backward), states_(trace.states), weights_(trace.weights),
        queries_(trace.queries), gates_(trace.gates), cell_(trace.cell), tanh_cell_(trace.tanh_cell), state_outside_(state_gradients),
        context_outside_(context_gradients), of_queries_(gradients.queries), of_gates_(gradients.gates), of_tokens_(gradients.tokens),
        of_contexts_(gradients.contexts), of_state_(gradients.state), of_cell_(gradients.cell), of_keys_(gradients.keys.data_ptr<T>()),
        of_memory_(gradients.memory.data_ptr<T>()), of_energy_(gradients.energy.data_ptr<T>()),
        buffers_(at::zeros({2, sizes.batch, sizes.state}, input.tokens.options())), through_(buffers_.slice(0, 0, 1)), of_reset_(buffers_.slice(0, 1)) {}

  void run(std::int64_t begin, std::int64_t end) const {
    std::fill(of_keys_ + memory_.key_place(begin), of_keys_ + memory_.key_place(end), T(0));
    for (std::int64_t i = sizes_.steps - 1; i >= 0; --i) {
      i + 1 == sizes_.steps ? last(i, begin, end) : cell(i, begin, end);
      read(i, begin, end);
      const Rows<T> of_state = of_state_.rows(0, begin);
      for (std::int64_t row = begin; row < end; ++row) {
        const T *through = through_.at(0, row), *outside = state_outside_.at(i, row);
        T* const sum = of_state_.at(0, row);
        for (std::int64_t j = 0; j < sizes_.state; ++j) sum[j] = through[j] + outside[j];
      }
      weight_.query.multiply(end - begin, of_queries_.rows(i, begin), of_state, of_state);        // + [B, A] × [A, D]
      if (i + 1 < sizes_.steps) weight_.state.multiply(end - begin, of_gates_.rows(i, begin), of_state, of_state);  // + [B, 2D] × [2D, D], LSTM 4D
    }
    for (std::int64_t row = begin; row < end; ++row) {
      T* const of_memory = of_memory_ + memory_.value_place(row);
      std::fill_n(of_memory, sizes_.keys * sizes_.memory, T(0));
      kernels::add_rows(kernels::AddedRows<T>{sizes_.steps, memory_.lengths[row], sizes_.memory, weights_.at(0, row), weights_.step_stride,
                                              of_contexts_.at(0, row), of_contexts_.step_stride, of_memory});
    }
  }

 private:
  // The last step has no cell: its token is read by nobody, its context only from outside. `through` is still 0.
  void last(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      std::fill_n(of_tokens_.at(i, row), sizes_.tokens, T(0));
      std::copy_n(context_outside_.at(i, row), sizes_.memory, of_contexts_.at(i, row));
    }
  }

  // From the gradient of s_{i+1} those of the gates, and through them of y_i and c_i.
  void cell(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    sizes_.lstm ? lstm(i, begin, end) : gru(i, begin, end);
    const Rows<T> of_gates = of_gates_.rows(i, begin);
    weight_.token.multiply(end - begin, of_gates, {}, of_tokens_.rows(i, begin));                 // [B, G·D] × [G·D, E]
    weight_.context.multiply(end - begin, of_gates, context_outside_.rows(i, begin), of_contexts_.rows(i, begin));  // + [B, G·D] × [G·D, M]
  }

  // From the gradients of s_{i+1} and m_{i+1}, those of the gates and of m_i. `through` stays 0.
  void lstm(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row)
      kernels::lstm_backward(sizes_.state, kernels::LstmBackward<T>{gates_.at(i, row), cell_.at(i, row), tanh_cell_.at(i, row), of_state_.at(0, row),
                                                                    of_cell_.at(0, row), of_gates_.at(i, row)});
  }

  // From the gradient of s_{i+1}, those of the gates, and into `through` that of s_i as far as it doesn't go through a product.
  void gru(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state;
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_candidate_backward(D, kernels::GruCandidateBackward<T>{gates_.at(i, row), states_.at(i, row), of_state_.at(0, row), of_gates_.at(i, row),
                                                                          through_.at(0, row)});
    weight_.candidate.multiply(end - begin, {of_gates_.at(i, begin) + 2 * D, sizes_.gates}, {}, of_reset_.rows(0, begin));  // [B, D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_gates_backward(D, kernels::GruGatesBackward<T>{gates_.at(i, row), states_.at(i, row), of_reset_.at(0, row), of_gates_.at(i, row),
                                                                  through_.at(0, row)});
  }

  // From the gradient of c_i that of the query; keys' and energy's are added up.
  void read(std::int64_t i, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t place = memory_.key_place(row);
      kernels::additive_backward(memory_.row_sizes(row),
                                 kernels::AdditiveBackward<T>{queries_.at(i, row), memory_.keys + place, memory_.exponential(row), memory_.energy,
                                                              memory_.values + memory_.value_place(row), weights_.at(i, row), of_contexts_.at(i, row),
                                                              thread_scratch<T>(sizes_.hidden + sizes_.keys), of_queries_.at(i, row), of_keys_ + place,
                                                              of_energy_ + row * sizes_.hidden});
    }
  }

  const AttentiveSizes& sizes_;
  AttentiveMemory<T> memory_;
  AttentiveWeights<T> weight_;
  Steps<T> states_, weights_, queries_, gates_, cell_, tanh_cell_, state_outside_, context_outside_;
  Steps<T> of_queries_, of_gates_, of_tokens_, of_contexts_, of_state_, of_cell_;
  T *of_keys_, *of_memory_, *of_energy_;
  Tensor buffers_;
  Steps<T> through_, of_reset_;  // [1, B, D]: of s_i not by way of a product; of r ∘ s
};

struct AttentiveWeightGradients {
  Tensor token, query, context, state;
};

// From the gradients of rows, which several weights share.
AttentiveWeightGradients weight_gradients_of(const AttentiveDecoderInput& input, const AttentiveSizes& sizes, const AttentiveTrace& trace,
                                             const AttentiveRowGradients& of) {
  const std::int64_t cells = sizes.steps - 1, plain = sizes.gates_of_state(), all = sizes.gates;
  const auto steps = [&](const Tensor& tensor) { return tensor.slice(0, 0, cells); };
  AttentiveWeightGradients gradients = {empty_gradient(input.token_weight), weight_gradient(of.queries, trace.states), empty_gradient(input.context_weight),
                                        empty_gradient(input.state_weight)};
  std::vector<WeightShare> shares = {{0, all, steps(input.tokens.transpose(0, 1)), gradients.token},       // [G·D, E]
                                     {0, all, steps(trace.contexts), gradients.context},                    // [G·D, M]
                                     {0, plain, steps(trace.states), gradients.state.slice(0, 0, plain)}};  // GRU [2D, D], LSTM [4D, D]
  if (!sizes.lstm) shares.push_back({plain, all, trace.reset_states, gradients.state.slice(0, plain)});     // [D, D]
  fill_weight_gradients(of.gates, shares);
  return gradients;
}

// In the order of FusedAttentiveDecoder's inputs.
template <class T>
variable_list fused_backward(const AttentiveDecoderInput& input, const AttentiveTrace& trace, const Tensor& state_gradients, const Tensor& context_gradients) {
  const AttentiveSizes sizes(input);
  const AttentiveRowGradients of(input, sizes);
  const AttentiveBackward<T> backward(input, sizes, trace, state_gradients, context_gradients, of);
  for_row_blocks(sizes.batch, sizes.steps, [&](std::int64_t begin, std::int64_t end) { backward.run(begin, end); });
  const AttentiveWeightGradients weights = weight_gradients_of(input, sizes, trace, of);
  return {of.tokens.transpose(0, 1),
          weights.token,
          bias_gradient(of.gates),
          of.state[0],
          sizes.lstm ? of.cell[0] : Tensor(),
          of.keys,
          of.memory,
          Tensor(),
          weights.query,
          of.energy.sum(0),
          weights.context,
          weights.state};
}

constexpr std::size_t attentive_inputs = 12;

AttentiveDecoderInput attentive_input_of(const variable_list& given, bool lstm) {
  return {lstm ? Cell::lstm : Cell::gru, given[0], given[1], given[2], given[3], lstm ? given[4] : Tensor(), given[5], given[6], given[7], given[8], given[9],
          given[10], given[11]};
}

// Under create_graph: gradients that can be differentiated again.
variable_list composed_gradients(const AttentiveDecoderInput& input, const Tensor& state_gradients, const Tensor& context_gradients) {
  const AttentiveDecoderResult result = composed(input);
  return differentiable_gradients({result.states, result.contexts}, {state_gradients.transpose(0, 1), context_gradients.transpose(0, 1)},
                                  {input.tokens, input.token_weight, input.token_bias, input.first, input.first_cell, input.keys, input.memory, Tensor(),
                                   input.query_weight, input.energy, input.context_weight, input.state_weight});
}

// Inputs in the order of AttentiveDecoderInput, `first_cell` of a GRU an empty tensor, since libtorch takes no undefined ones here; outputs in the
// order of steps: states [L, B, D], contexts [L, B, M], weights [L, B, Lk].
class FusedAttentiveDecoder : public torch::autograd::Function<FusedAttentiveDecoder> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& tokens, const Tensor& token_weight, const Tensor& token_bias, const Tensor& first,
                               const Tensor& first_cell, const Tensor& keys, const Tensor& memory, const Tensor& lengths, const Tensor& query_weight,
                               const Tensor& energy, const Tensor& context_weight, const Tensor& state_weight, bool lstm) {
    variable_list saved = {tokens, token_weight, token_bias, first, first_cell, keys, memory, lengths, query_weight, energy, context_weight, state_weight};
    const AttentiveDecoderInput input = attentive_input_of(saved, lstm);
    const AttentiveTrace trace = tokens.scalar_type() == at::kDouble ? fused_forward<double>(input) : fused_forward<float>(input);
    for (const Tensor& tensor : {trace.states, trace.contexts, trace.weights, trace.queries, trace.gates, trace.reset_states, trace.cell, trace.tanh_cell,
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
      return given.defined() ? with_whole_rows(given) : at::zeros_like(like);
    };
    const Tensor of_states = upstream(0, trace.states), of_contexts = upstream(1, trace.contexts);
    variable_list gradients = at::GradMode::is_enabled()                   ? composed_gradients(input, of_states, of_contexts)
                              : input.tokens.scalar_type() == at::kDouble ? fused_backward<double>(input, trace, of_states, of_contexts)
                                                                          : fused_backward<float>(input, trace, of_states, of_contexts);
    gradients.resize(attentive_inputs + 1);
    return gradients;
  }
};

}  // namespace

AttentiveDecoderResult attentive_decoder(const AttentiveDecoderInput& given, Path path) {
  check(given);
  AttentiveDecoderInput input = given;
  input.lengths = lengths_of_memory(attentive_name, given.lengths, given.keys);
  const bool possible = has_kernels(input.tokens);
  if (path == Path::fused && !possible)
    throw NotSupported(format("{}: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"", attentive_name));
  if (path == Path::composed || !possible) return composed(input);
  const bool lstm = input.cell == Cell::lstm;
  const variable_list found = FusedAttentiveDecoder::apply(
      with_whole_rows(input.tokens), input.token_weight.contiguous(), input.token_bias.contiguous(), input.first.contiguous(),
      lstm ? input.first_cell.contiguous() : at::empty({0}, input.tokens.options()), input.keys.contiguous(), input.memory.contiguous(),
      input.lengths.contiguous(), input.query_weight.contiguous(), input.energy.contiguous(), input.context_weight.contiguous(),
      input.state_weight.contiguous(), lstm);
  return {found[0].transpose(0, 1), found[1].transpose(0, 1), found[2].transpose(0, 1)};
}

}  // namespace attend::layers
