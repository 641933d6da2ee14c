#include "attend/layers/input_feeding_decoder.h"

#include <vector>

#include "attend/addressing/additive.h"
#include "attend/addressing/dot_product.h"
#include "attend/core/shapes.h"
#include "core/fused_operation.h"
#include "kernels/additive.h"
#include "kernels/dot_read.h"
#include "kernels/recurrent_cell.h"
#include "layers/memory_lengths.h"
#include "layers/packed_weight.h"
#include "layers/recurrent_sequence.h"
#include "layers/weight_gradients.h"

namespace attend::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto feeding_name = "attend::layers::input_feeding_decoder";

struct FeedingSizes {
  std::int64_t steps, batch, state, gates, keys, key_width;  // L, B, D, G·D, Lk, D or A
  bool lstm, additive;
  explicit FeedingSizes(const InputFeedingInput& input)
      : steps(input.projected.size(1)), batch(input.hidden.size(0)), state(input.hidden.size(1)), gates(input.projected.size(2)), keys(input.keys.size(1)),
        key_width(input.keys.size(2)), lstm(input.cell == Cell::lstm), additive(input.energy.defined()) {}
};

void check_feeding(const InputFeedingInput& input) {
  check_shape(feeding_name, "hidden", input.hidden, {{"B"}, {"D"}});
  const bool lstm = input.cell == Cell::lstm, additive = input.energy.defined();
  const std::int64_t B = input.hidden.size(0), D = input.hidden.size(1), width = (lstm ? 4 : 3) * D;
  check_shape(feeding_name, "projected", input.projected, {{"B", B}, {"L"}, {"G·D", width}});
  check_floating(feeding_name, "projected", input.projected);
  const auto check = [&](const char* name, const Tensor& tensor, std::initializer_list<NamedSize> shape) {
    check_shape(feeding_name, name, tensor, shape);
    check_matches(feeding_name, name, tensor, "projected", input.projected);
  };
  check_matches(feeding_name, "hidden", input.hidden, "projected", input.projected);
  additive ? check("keys", input.keys, {{"B", B}, {"Lk"}, {"A"}}) : check("keys", input.keys, {{"B", B}, {"Lk"}, {"D", D}});
  check("values", input.values, {{"B", B}, {"Lk", input.keys.size(1)}, {"D", D}});
  check("feed_weight", input.feed_weight, {{"G·D", width}, {"D", D}});
  check("recurrent_weight", input.recurrent_weight, {{"G·D", width}, {"D", D}});
  check("combine_weight", input.combine_weight, {{"D", D}, {"D", D}});
  if (lstm) check("cell_state", input.cell_state, {{"B", B}, {"D", D}});
  if (!lstm) check("recurrent_bias", input.recurrent_bias, {{"3D", width}});
  if (additive) check("query_weight", input.query_weight, {{"A", input.keys.size(2)}, {"D", D}});
  if (additive) check("energy", input.energy, {{"A", input.keys.size(2)}});
  const std::int64_t steps = input.projected.size(1);
  if (input.hidden_multipliers.defined()) check("hidden_multipliers", input.hidden_multipliers, {{"L", steps}, {"B", B}, {"D", D}});
  if (input.vector_multipliers.defined()) check("vector_multipliers", input.vector_multipliers, {{"L", steps}, {"B", B}, {"D", D}});
  if (steps < 1 || input.keys.size(1) < 1)
    throw InvalidArgument(format("{}: expected at least one step and one key, got projected {} and keys {}", feeding_name, shape_text(input.projected),
                                 shape_text(input.keys)));
}

// --- composed ------------------------------------------------------------------------------------------------------------------------

Tensor multiplied(const Tensor& tensor, const Tensor& multipliers, std::int64_t step) { return multipliers.defined() ? tensor * multipliers[step] : tensor; }

AttentionResult composed_read(const InputFeedingInput& input, const Tensor& hidden, const Mask& mask) {
  addressing::ReadOptions how;
  how.return_weights = true;
  how.path = Path::composed;
  const Tensor keys = input.keys.unsqueeze(1), values = input.values.unsqueeze(1);                // [B, 1, Lk, ·]
  if (!input.energy.defined())
    return addressing::dot_product(hidden.unsqueeze(1).unsqueeze(1), keys, values, mask, {.scale = input.scale, .read = how});
  const Tensor query = at::matmul(hidden, input.query_weight.t());                                // [B, A]
  return addressing::additive(query.unsqueeze(1).unsqueeze(1), keys, values, input.energy, mask, how);
}

InputFeedingResult composed_feeding(const InputFeedingInput& input) {
  const Mask mask = Mask::lengths(input.lengths);
  SequenceInput one;
  one.cell = input.cell;
  one.recurrent_weight = input.recurrent_weight, one.recurrent_bias = input.recurrent_bias;
  one.hidden = input.hidden, one.cell_state = input.cell_state;
  Tensor fed = at::zeros_like(input.hidden);                                                      // h̃_0 [B, D]
  std::vector<Tensor> vectors, weights;
  for (std::int64_t t = 0; t < input.projected.size(1); ++t) {
    one.input = (input.projected.select(1, t) + at::matmul(fed, input.feed_weight.t())).unsqueeze(0);  // [1, B, G·D]
    const SequenceOutput after = recurrent_sequence(one, Path::composed);
    one.hidden = after.hidden[0], one.cell_state = after.cell_state;
    const Tensor used = multiplied(one.hidden, input.hidden_multipliers, t);                      // [B, D]
    const AttentionResult read = composed_read(input, used, mask);
    const Tensor context = read.context.squeeze(1).squeeze(1);                                    // W_cc c_t [B, D]
    fed = multiplied(at::tanh(context + at::matmul(used, input.combine_weight.t())), input.vector_multipliers, t);
    vectors.push_back(fed);
    weights.push_back(read.weights.squeeze(1).squeeze(1));                                        // [B, Lk]
  }
  return {at::stack(vectors, 1), at::stack(weights, 1).detach()};
}

// --- fused ---------------------------------------------------------------------------------------------------------------------------

// What the forward pass leaves for the backward one, in the order of steps.
struct FeedingTrace {
  Tensor vectors;       // [B, L, D]: h̃_1 … h̃_L
  Tensor weights;       // [L, B, Lk]
  Tensor fed;           // [L, B, D]: h̃_0 … h̃_{L−1}
  Tensor hidden;        // [L + 1, B, D]: h_0 … h_L
  Tensor used;          // [L, B, D]: h_1 … h_L after dropout
  Tensor combined;      // [L, B, D]: h̃_1 … h̃_L before dropout
  Tensor gates;         // [L, B, G·D]
  Tensor cell;          // [L + 1, B, D], LSTM
  Tensor tanh_cell;     // [L, B, D], LSTM
  Tensor recurrent;     // [L, B, 3D]: U h + b, GRU
  Tensor queries;       // [L, B, A], additive
  Tensor exponentials;  // [B, Lk, A], additive
  Tensor fits;          // bool [B], additive: whether the row's exponentials are of use
};

FeedingTrace empty_trace(const InputFeedingInput& input, const FeedingSizes& sizes) {
  const std::int64_t L = sizes.steps, B = sizes.batch, D = sizes.state;
  const auto options = input.projected.options();
  FeedingTrace trace;
  trace.vectors = at::empty({B, L, D}, options);
  trace.weights = at::zeros({L, B, sizes.keys}, options);
  trace.fed = at::empty({L, B, D}, options);
  trace.fed[0].zero_();
  trace.hidden = at::empty({L + 1, B, D}, options);
  trace.hidden[0].copy_(input.hidden);
  trace.used = input.hidden_multipliers.defined() ? at::empty({L, B, D}, options) : trace.hidden.slice(0, 1);
  trace.combined = at::empty({L, B, D}, options);
  trace.gates = at::empty({L, B, sizes.gates}, options);
  if (sizes.lstm) {
    trace.cell = at::empty({L + 1, B, D}, options);
    trace.cell[0].copy_(input.cell_state);
    trace.tanh_cell = at::empty({L, B, D}, options);
  } else {
    trace.recurrent = at::empty({L, B, sizes.gates}, options);
  }
  if (sizes.additive) {
    trace.queries = at::empty({L, B, sizes.key_width}, options);
    trace.exponentials = at::empty_like(input.keys);
    trace.fits = at::empty({B}, options.dtype(at::kBool));
  }
  return trace;
}

// What both passes read of a row's memory.
template <class T>
struct FeedingMemory {
  const FeedingSizes& sizes;
  const std::int64_t* lengths;
  const T *keys, *values, *energy;
  T* exponentials;
  bool* fits;

  FeedingMemory(const InputFeedingInput& input, const FeedingSizes& of, const FeedingTrace& trace)
      : sizes(of), lengths(input.lengths.data_ptr<std::int64_t>()), keys(input.keys.data_ptr<T>()), values(input.values.data_ptr<T>()),
        energy(of.additive ? input.energy.data_ptr<T>() : nullptr), exponentials(of.additive ? trace.exponentials.data_ptr<T>() : nullptr),
        fits(of.additive ? trace.fits.data_ptr<bool>() : nullptr) {}

  std::int64_t key_place(std::int64_t row) const { return row * sizes.keys * sizes.key_width; }
  const T* key(std::int64_t row) const { return keys + key_place(row); }
  const T* value(std::int64_t row) const { return values + row * sizes.keys * sizes.state; }
  const T* exponential(std::int64_t row) const { return fits[row] ? exponentials + key_place(row) : nullptr; }
  kernels::AdditiveSizes additive_sizes(std::int64_t row) const { return {lengths[row], sizes.key_width, sizes.state}; }
  kernels::DotReadSizes dot_sizes(std::int64_t row) const { return {lengths[row], sizes.key_width, sizes.state}; }
  void take_exponentials(std::int64_t row) const {
    fits[row] = kernels::doubled_exponentials(lengths[row] * sizes.key_width, key(row), exponentials + key_place(row));
  }
};

template <class T>
void multiply_row(std::int64_t count, const T* a, const T* b, T* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
}

// Blocks of rows through all steps.
template <class T>
class FeedingForward {
 public:
  FeedingForward(const InputFeedingInput& input, const FeedingSizes& sizes, const FeedingTrace& trace)
      : input_(input), sizes_(sizes), memory_(input, sizes, trace), vectors_(trace.vectors.data_ptr<T>()), weights_(trace.weights), fed_(trace.fed),
        hidden_(trace.hidden), used_(trace.used), combined_(trace.combined), gates_(trace.gates), cell_(trace.cell), tanh_cell_(trace.tanh_cell),
        recurrent_(trace.recurrent), queries_(trace.queries), hidden_multipliers_(input.hidden_multipliers), vector_multipliers_(input.vector_multipliers),
        feed_(PackedWeight<T>::forward(input.feed_weight, sizes.steps)), state_(PackedWeight<T>::forward(input.recurrent_weight, sizes.steps)),
        combine_(PackedWeight<T>::forward(input.combine_weight, sizes.steps)),
        inputs_tensor_(at::empty({1, sizes.batch, sizes.lstm ? 0 : sizes.gates}, input.projected.options())), inputs_(inputs_tensor_) {
    if (sizes.additive) query_ = PackedWeight<T>::forward(input.query_weight, sizes.steps);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t row = begin; row < end && sizes_.additive; ++row) memory_.take_exponentials(row);
    for (std::int64_t t = 0; t < sizes_.steps; ++t) {
      sizes_.lstm ? lstm(t, begin, end) : gru(t, begin, end);
      read(t, begin, end);
      combine(t, begin, end);
    }
  }

 private:
  Rows<T> projected(std::int64_t t, std::int64_t row) const {
    return {input_.projected.data_ptr<T>() + (row * sizes_.steps + t) * sizes_.gates, sizes_.steps * sizes_.gates};
  }

  void lstm(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    const Rows<T> gates = gates_.rows(t, begin);
    state_.multiply(end - begin, hidden_.rows(t, begin), projected(t, begin), gates);             // x + U h [B, 4D]
    if (t > 0) feed_.multiply(end - begin, fed_.rows(t, begin), gates, gates);                    // + F h̃
    for (std::int64_t row = begin; row < end; ++row)
      kernels::lstm_forward(sizes_.state, kernels::LstmForward<T>{gates_.at(t, row), cell_.at(t, row), cell_.at(t + 1, row), tanh_cell_.at(t, row),
                                                                  hidden_.at(t + 1, row)});
  }

  void gru(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    state_.multiply(end - begin, hidden_.rows(t, begin), {input_.recurrent_bias.data_ptr<T>(), 0}, recurrent_.rows(t, begin));  // U h + b [B, 3D]
    const Rows<T> x = t > 0 ? inputs_.rows(0, begin) : projected(t, begin);
    if (t > 0) feed_.multiply(end - begin, fed_.rows(t, begin), projected(t, begin), x);          // x + F h̃ [B, 3D]
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_forward(sizes_.state, kernels::GruForward<T>{x.data + (row - begin) * x.stride, recurrent_.at(t, row), hidden_.at(t, row),
                                                                gates_.at(t, row), hidden_.at(t + 1, row)});
  }

  // α_t, and what h̃_t takes of the memory in the place of h̃_t.
  void read(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    if (hidden_multipliers_.data != nullptr)
      multiply_row((end - begin) * sizes_.state, hidden_.at(t + 1, begin), hidden_multipliers_.at(t, begin), used_.at(t, begin));
    if (sizes_.additive) query_.multiply(end - begin, used_.rows(t, begin), {}, queries_.rows(t, begin));  // W_a h [B, A]
    for (std::int64_t row = begin; row < end; ++row)
      if (sizes_.additive)
        kernels::additive_forward(memory_.additive_sizes(row), kernels::AdditiveForward<T>{queries_.at(t, row), memory_.key(row), memory_.exponential(row),
                                                                                           memory_.energy, memory_.value(row),
                                                                                           thread_scratch<T>(sizes_.key_width), weights_.at(t, row),
                                                                                           combined_.at(t, row)});
      else
        kernels::dot_read_forward(memory_.dot_sizes(row),
                                  kernels::DotReadForward<T>{used_.at(t, row), memory_.key(row), memory_.value(row), static_cast<T>(input_.scale),
                                                             weights_.at(t, row), combined_.at(t, row)});
  }

  void combine(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state;
    combine_.multiply(end - begin, used_.rows(t, begin), combined_.rows(t, begin), combined_.rows(t, begin));  // W_cc c + W_ch h [B, D]
    kernels::tanh_forward((end - begin) * D, combined_.at(t, begin), combined_.at(t, begin));
    for (std::int64_t row = begin; row < end; ++row) {
      T* const vector = vectors_ + (row * sizes_.steps + t) * D;
      const T* const before = combined_.at(t, row);
      vector_multipliers_.data != nullptr ? multiply_row(D, before, vector_multipliers_.at(t, row), vector) : (void)std::copy_n(before, D, vector);
      if (t + 1 < sizes_.steps) std::copy_n(vector, D, fed_.at(t + 1, row));
    }
  }

  const InputFeedingInput& input_;
  const FeedingSizes& sizes_;
  FeedingMemory<T> memory_;
  T* vectors_;
  Steps<T> weights_, fed_, hidden_, used_, combined_, gates_, cell_, tanh_cell_, recurrent_, queries_, hidden_multipliers_, vector_multipliers_;
  PackedWeight<T> feed_, state_, combine_, query_;
  Tensor inputs_tensor_;  // [1, B, 3D], GRU: x + F h̃ of a step
  Steps<T> inputs_;
};

// Gradients of what InputFeedingInput has; those of products in the order of steps.
struct FeedingGradients {
  Tensor gates;      // [L, B, G·D]: of projected
  Tensor recurrent;  // [L, B, G·D]: of U h; an LSTM's gates
  Tensor combined;   // [L, B, D]: of what tanh is taken of
  Tensor queries;    // [L, B, A], additive
  Tensor scores;     // [L, B, Lk], dot
  Tensor hidden, cell_state;  // [B, D]: of the state before the step, in the end of the first
  Tensor keys, values;
  Tensor energy;     // [B, A], additive
};

FeedingGradients empty_gradients(const InputFeedingInput& input, const FeedingSizes& sizes, const FeedingTrace& trace) {
  FeedingGradients gradients;
  gradients.gates = at::empty_like(trace.gates);
  gradients.recurrent = sizes.lstm ? gradients.gates : at::empty_like(trace.gates);
  gradients.combined = at::empty_like(trace.combined);
  gradients.hidden = at::zeros_like(input.hidden);
  if (sizes.lstm) gradients.cell_state = at::zeros_like(input.hidden);
  gradients.keys = at::zeros_like(input.keys), gradients.values = at::zeros_like(input.values);
  if (sizes.additive) {
    gradients.queries = at::empty_like(trace.queries);
    gradients.energy = at::zeros({sizes.batch, sizes.key_width}, input.keys.options());
  } else {
    gradients.scores = at::zeros_like(trace.weights);
  }
  return gradients;
}

template <class T>
class FeedingBackward {
 public:
  // vector_gradients [B, L, D] of the output
  FeedingBackward(const InputFeedingInput& input, const FeedingSizes& sizes, const FeedingTrace& trace, const Tensor& vector_gradients,
                  const FeedingGradients& gradients)
      : input_(input), sizes_(sizes), memory_(input, sizes, trace), of_vectors_(vector_gradients.data_ptr<T>()), weights_(trace.weights), hidden_(trace.hidden),
        used_(trace.used), combined_(trace.combined), gates_(trace.gates), cell_(trace.cell), tanh_cell_(trace.tanh_cell), recurrent_(trace.recurrent),
        queries_(trace.queries), hidden_multipliers_(input.hidden_multipliers), vector_multipliers_(input.vector_multipliers), of_gates_(gradients.gates),
        of_recurrent_(gradients.recurrent), of_combined_(gradients.combined), of_queries_(gradients.queries), of_scores_(gradients.scores),
        of_hidden_(gradients.hidden.data_ptr<T>()), of_cell_(sizes.lstm ? gradients.cell_state.data_ptr<T>() : nullptr),
        of_keys_(gradients.keys.data_ptr<T>()), of_values_(gradients.values.data_ptr<T>()),
        of_energy_(sizes.additive ? gradients.energy.data_ptr<T>() : nullptr), feed_(PackedWeight<T>::backward(input.feed_weight, sizes.steps)),
        state_(PackedWeight<T>::backward(input.recurrent_weight, sizes.steps)), combine_(PackedWeight<T>::backward(input.combine_weight, sizes.steps)),
        buffers_(at::zeros({2, sizes.batch, sizes.state}, input.projected.options())), of_fed_(buffers_[0].data_ptr<T>()), of_used_(buffers_[1].data_ptr<T>()) {
    if (sizes.additive) query_ = PackedWeight<T>::backward(input.query_weight, sizes.steps);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t t = sizes_.steps - 1; t >= 0; --t) {
      combine(t, begin, end);
      read(t, begin, end);
      sizes_.lstm ? lstm(t, begin, end) : gru(t, begin, end);
      if (t > 0) feed_.multiply(end - begin, of_gates_.rows(t, begin), {}, rows(of_fed_, begin));  // [B, G·D] × [G·D, D]
    }
    for (std::int64_t row = begin; row < end; ++row) of_memory(row);
  }

 private:
  // Of a buffer [B, D].
  Rows<T> rows(T* buffer, std::int64_t row) const { return {buffer + row * sizes_.state, sizes_.state}; }

  // From the gradient of h̃_t, what is known from outside and what step t + 1 has left behind, that of h_t by way of W_ch.
  void combine(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state;
    for (std::int64_t row = begin; row < end; ++row) {
      const T *outside = of_vectors_ + (row * sizes_.steps + t) * D, *fed = of_fed_ + row * D;
      T* const of_vector = of_combined_.at(t, row);
      for (std::int64_t c = 0; c < D; ++c) of_vector[c] = outside[c] + fed[c];
      if (vector_multipliers_.data != nullptr) multiply_row(D, of_vector, vector_multipliers_.at(t, row), of_vector);
      kernels::tanh_backward(D, combined_.at(t, row), of_vector, of_vector);
    }
    combine_.multiply(end - begin, of_combined_.rows(t, begin), {}, rows(of_used_, begin));       // [B, D]
  }

  // Adds to the gradient of h_t what comes from the read, and to that of h_t before dropout what the step after has left behind.
  void read(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state, A = sizes_.key_width;
    for (std::int64_t row = begin; row < end; ++row)
      if (sizes_.additive)
        kernels::additive_backward(memory_.additive_sizes(row),
                                   kernels::AdditiveBackward<T>{queries_.at(t, row), memory_.key(row), memory_.exponential(row), memory_.energy,
                                                                memory_.value(row), weights_.at(t, row), of_combined_.at(t, row),
                                                                thread_scratch<T>(A + sizes_.keys), of_queries_.at(t, row),
                                                                of_keys_ + memory_.key_place(row), of_energy_ + row * A});
      else
        kernels::dot_read_backward(memory_.dot_sizes(row),
                                   kernels::DotReadBackward<T>{memory_.key(row), memory_.value(row), weights_.at(t, row), of_combined_.at(t, row),
                                                               static_cast<T>(input_.scale), of_scores_.at(t, row), of_used_ + row * D});
    const Rows<T> of_used = rows(of_used_, begin);
    if (sizes_.additive) query_.multiply(end - begin, of_queries_.rows(t, begin), of_used, of_used);  // + [B, A] × [A, D]
    if (hidden_multipliers_.data != nullptr) multiply_row((end - begin) * D, of_used.data, hidden_multipliers_.at(t, begin), of_used.data);
    const T* const after = of_hidden_ + begin * D;
    for (std::int64_t i = 0; i < (end - begin) * D; ++i) of_used.data[i] += after[i];
  }

  // From the gradient of h_t those of the gates and of h_{t−1}.
  void lstm(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state;
    for (std::int64_t row = begin; row < end; ++row)
      kernels::lstm_backward(D, kernels::LstmBackward<T>{gates_.at(t, row), cell_.at(t, row), tanh_cell_.at(t, row), of_used_ + row * D, of_cell_ + row * D,
                                                         of_gates_.at(t, row)});
    state_.multiply(end - begin, of_gates_.rows(t, begin), {}, rows(of_hidden_, begin));          // [B, 4D] × [4D, D]
  }

  void gru(std::int64_t t, std::int64_t begin, std::int64_t end) const {
    const std::int64_t D = sizes_.state;
    for (std::int64_t row = begin; row < end; ++row)
      kernels::gru_backward(D, kernels::GruBackward<T>{gates_.at(t, row), recurrent_.at(t, row), hidden_.at(t, row), of_used_ + row * D,
                                                       of_gates_.at(t, row), of_recurrent_.at(t, row), of_hidden_ + row * D});
    state_.multiply(end - begin, of_recurrent_.rows(t, begin), rows(of_hidden_, begin), rows(of_hidden_, begin));  // + [B, 3D] × [3D, D]
  }

  // The gradients of a row's values and keys, of all steps; the additive read has added up those of its keys.
  void of_memory(std::int64_t row) const {
    const std::int64_t D = sizes_.state, count = memory_.lengths[row], stride = sizes_.batch * sizes_.keys, place = row * sizes_.keys * D;
    kernels::add_rows(
        kernels::AddedRows<T>{sizes_.steps, count, D, weights_.at(0, row), stride, of_combined_.at(0, row), sizes_.batch * D, of_values_ + place});
    if (!sizes_.additive)
      kernels::add_rows(kernels::AddedRows<T>{sizes_.steps, count, D, of_scores_.at(0, row), stride, used_.at(0, row), sizes_.batch * D, of_keys_ + place});
  }

  const InputFeedingInput& input_;
  const FeedingSizes& sizes_;
  FeedingMemory<T> memory_;
  const T* of_vectors_;
  Steps<T> weights_, hidden_, used_, combined_, gates_, cell_, tanh_cell_, recurrent_, queries_, hidden_multipliers_, vector_multipliers_;
  Steps<T> of_gates_, of_recurrent_, of_combined_, of_queries_, of_scores_;
  T *of_hidden_, *of_cell_, *of_keys_, *of_values_, *of_energy_;
  PackedWeight<T> feed_, state_, combine_, query_;
  Tensor buffers_;
  T *of_fed_, *of_used_;  // [B, D]: gradients of h̃_t by way of step t + 1, and of h_t
};

template <class T>
FeedingTrace fused_feeding(const InputFeedingInput& input) {
  const FeedingSizes sizes(input);
  FeedingTrace trace = empty_trace(input, sizes);
  const FeedingForward<T> forward(input, sizes, trace);
  for_row_blocks(sizes.batch, sizes.steps, [&](std::int64_t begin, std::int64_t end) { forward.run(begin, end); });
  return trace;
}

// The gradients of F and U. An LSTM's are from the same rows; h̃_0 is 0.
std::pair<Tensor, Tensor> cell_weight_gradients(const InputFeedingInput& input, const FeedingSizes& sizes, const FeedingTrace& trace,
                                                const FeedingGradients& gradients) {
  const Tensor of_feed = empty_gradient(input.feed_weight), of_recurrent = empty_gradient(input.recurrent_weight);
  const WeightShare feed = {0, sizes.gates, trace.fed, of_feed};                                  // [G·D, D]
  const WeightShare recurrent = {0, sizes.gates, trace.hidden.slice(0, 0, sizes.steps), of_recurrent};  // of h_0 … h_{L−1} [G·D, D]
  if (sizes.lstm) {
    fill_weight_gradients(gradients.gates, {feed, recurrent});
  } else {
    fill_weight_gradients(gradients.gates, {feed});
    fill_weight_gradients(gradients.recurrent, {recurrent});
  }
  return {of_feed, of_recurrent};
}

template <class T>
variable_list feeding_gradients(const InputFeedingInput& input, const FeedingTrace& trace, const Tensor& vector_gradients) {
  const FeedingSizes sizes(input);
  const FeedingGradients gradients = empty_gradients(input, sizes, trace);
  const FeedingBackward<T> backward(input, sizes, trace, vector_gradients, gradients);
  for_row_blocks(sizes.batch, sizes.steps, [&](std::int64_t begin, std::int64_t end) { backward.run(begin, end); });
  const auto [of_feed, of_recurrent] = cell_weight_gradients(input, sizes, trace, gradients);
  return {gradients.gates.transpose(0, 1),
          gradients.hidden,
          gradients.cell_state,
          gradients.keys,
          gradients.values,
          Tensor(),
          of_feed,
          of_recurrent,
          sizes.lstm ? Tensor() : bias_gradient(gradients.recurrent),
          weight_gradient(gradients.combined, trace.used),
          sizes.additive ? weight_gradient(gradients.queries, trace.used) : Tensor(),
          sizes.additive ? gradients.energy.sum(0) : Tensor()};
}

constexpr std::size_t feeding_inputs = 14;

// Under create_graph: gradients that can be differentiated again.
variable_list composed_feeding_gradients(const InputFeedingInput& input, const Tensor& vector_gradients) {
  return differentiable_gradients({composed_feeding(input).vectors}, {vector_gradients},
                                  {input.projected, input.hidden, input.cell_state, input.keys, input.values, Tensor(), input.feed_weight,
                                   input.recurrent_weight, input.recurrent_bias, input.combine_weight, input.query_weight, input.energy});
}

// Inputs in the order of InputFeedingInput, behind them its multipliers; what a decoder doesn't have is an empty tensor, since libtorch takes no undefined
// ones here. Outputs: vectors [B, L, D], weights in the order of steps [L, B, Lk].
class FusedInputFeeding : public torch::autograd::Function<FusedInputFeeding> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& projected, const Tensor& hidden, const Tensor& cell_state, const Tensor& keys,
                               const Tensor& values, const Tensor& lengths, const Tensor& feed_weight, const Tensor& recurrent_weight,
                               const Tensor& recurrent_bias, const Tensor& combine_weight, const Tensor& query_weight, const Tensor& energy,
                               const Tensor& hidden_multipliers, const Tensor& vector_multipliers, bool lstm, double scale) {
    const variable_list given = {projected, hidden, cell_state, keys, values, lengths, feed_weight, recurrent_weight, recurrent_bias, combine_weight, query_weight,
                                 energy, hidden_multipliers, vector_multipliers};
    const InputFeedingInput input = input_of(given, lstm, scale);
    const FeedingTrace trace = projected.scalar_type() == at::kDouble ? fused_feeding<double>(input) : fused_feeding<float>(input);
    variable_list saved = given;
    for (const Tensor& tensor : {trace.vectors, trace.weights, trace.fed, trace.hidden, trace.used, trace.combined, trace.gates, trace.cell, trace.tanh_cell,
                                 trace.recurrent, trace.queries, trace.exponentials, trace.fits})
      saved.push_back(tensor);
    context->save_for_backward(saved);
    context->saved_data["lstm"] = lstm;
    context->saved_data["scale"] = scale;
    context->mark_non_differentiable({trace.weights});
    return {trace.vectors, trace.weights};
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const InputFeedingInput input = input_of(saved, context->saved_data["lstm"].toBool(), context->saved_data["scale"].toDouble());
    const auto at = [&](std::size_t i) { return saved[feeding_inputs + i]; };
    const FeedingTrace trace{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12)};
    const Tensor of_vectors = output_gradients[0].defined() ? output_gradients[0].contiguous() : at::zeros_like(trace.vectors);
    variable_list gradients = at::GradMode::is_enabled()                       ? composed_feeding_gradients(input, of_vectors)
                              : input.projected.scalar_type() == at::kDouble ? feeding_gradients<double>(input, trace, of_vectors)
                                                                             : feeding_gradients<float>(input, trace, of_vectors);
    gradients.resize(feeding_inputs + 2);
    return gradients;
  }

 private:
  static InputFeedingInput input_of(const variable_list& given, bool lstm, double scale) {
    const auto unless_empty = [&](std::size_t i) { return given[i].dim() == 1 && given[i].numel() == 0 ? Tensor() : given[i]; };
    return {lstm ? Cell::lstm : Cell::gru, given[0], given[1], unless_empty(2), given[3], given[4], given[5], given[6], given[7], unless_empty(8), given[9],
            unless_empty(10), unless_empty(11), scale, unless_empty(12), unless_empty(13)};
  }
};

}  // namespace

InputFeedingResult input_feeding_decoder(const InputFeedingInput& given, Path path) {
  check_feeding(given);
  InputFeedingInput input = given;
  input.lengths = lengths_of_memory(feeding_name, given.lengths, given.keys);
  const bool possible = has_kernels(input.projected);
  if (path == Path::fused && !possible)
    throw NotSupported(format("{}: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or \"composed\"", feeding_name));
  if (path == Path::composed || !possible) return composed_feeding(input);
  const Tensor nothing = at::empty({0}, input.projected.options());
  const auto given_or_nothing = [&](const Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : nothing; };
  const bool lstm = input.cell == Cell::lstm;
  const variable_list found = FusedInputFeeding::apply(
      input.projected.contiguous(), input.hidden.contiguous(), given_or_nothing(lstm ? input.cell_state : Tensor()), input.keys.contiguous(),
      input.values.contiguous(), input.lengths.contiguous(), input.feed_weight, input.recurrent_weight, given_or_nothing(lstm ? Tensor() : input.recurrent_bias),
      input.combine_weight, given_or_nothing(input.energy.defined() ? input.query_weight : Tensor()), given_or_nothing(input.energy),
      given_or_nothing(input.hidden_multipliers), given_or_nothing(input.vector_multipliers), lstm, input.scale);
  return {found[0], found[1].transpose(0, 1)};
}

}  // namespace attend::layers
