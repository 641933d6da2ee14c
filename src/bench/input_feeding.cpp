#include "attend/layers/input_feeding_decoder.h"

#include <cmath>
#include <memory>

#include "bench/operation.h"

namespace attend::bench {
namespace {

std::vector<Tensor> all_of(const layers::InputFeedingInput& input) {
  return {input.projected, input.hidden, input.cell_state, input.keys, input.values, input.feed_weight, input.recurrent_weight, input.combine_weight};
}

// An LSTM whose score is the dot product with keys that are projected already: the general score.
layers::InputFeedingInput lstm_input(const BenchmarkCase& one) {
  const bool gradients = one.pass == Pass::forward_backward;
  std::uint64_t seed = 0;
  const auto make = [&](at::IntArrayRef sizes, std::int64_t fan_in) {
    return random_tensor(sizes, seed++, 1 / std::sqrt(static_cast<double>(fan_in))).set_requires_grad(gradients);
  };
  const std::int64_t B = one.batch, L = one.queries, Lk = one.keys, D = one.state;
  layers::InputFeedingInput input;
  input.projected = make({B, L, 4 * D}, 1);
  input.hidden = make({B, D}, 1), input.cell_state = make({B, D}, 1);
  input.keys = make({B, Lk, D}, 16), input.values = make({B, Lk, D}, 1);  // scores of about 1
  input.feed_weight = make({4 * D, D}, D), input.recurrent_weight = make({4 * D, D}, D), input.combine_weight = make({D, D}, D);
  return input;
}

double input_feeding_operations(const BenchmarkCase& one) {
  const auto B = static_cast<double>(one.batch), L = static_cast<double>(one.queries), Lk = static_cast<double>(one.keys), D = static_cast<double>(one.state);
  return B * L * (2 * 4 * D * 2 * D + 2 * D * D + Lk * 4 * D);
}

}  // namespace

Operation input_feeding_operation(const BenchmarkCase& one) {
  Operation operation;
  operation.operations = (one.pass == Pass::forward ? 1.0 : 3.0) * input_feeding_operations(one);
  operation.items = static_cast<double>(one.batch);
  const auto input = std::make_shared<layers::InputFeedingInput>(lstm_input(one));
  const Tensor upstream = random_tensor({one.batch, one.queries, one.state}, 100);
  const auto run = [one, input, upstream](Path path) {
    return with_gradients(one, layers::input_feeding_decoder(*input, path).vectors, all_of(*input), upstream);
  };
  operation.fused = [run](std::int64_t) { return run(Path::fused); };
  operation.composed = [run](std::int64_t) { return run(Path::composed); };
  return operation;
}

}  // namespace attend::bench
