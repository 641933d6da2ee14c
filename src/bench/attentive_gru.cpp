#include "attend/layers/attentive_decoder.h"

#include <cmath>
#include <memory>

#include "bench/decoder_operations.h"
#include "bench/operation.h"

namespace attend::bench {
namespace {

std::vector<Tensor> all_of(const layers::AttentiveDecoderInput& input) {
  return {input.tokens, input.token_weight, input.token_bias, input.first,          input.keys,
          input.memory, input.query_weight, input.energy,     input.context_weight, input.state_weight};
}

layers::AttentiveDecoderInput gru_input(const BenchmarkCase& one) {
  const bool gradients = one.pass == Pass::forward_backward;
  std::uint64_t seed = 0;
  const auto make = [&](at::IntArrayRef sizes, std::int64_t fan_in) {
    return random_tensor(sizes, seed++, 1 / std::sqrt(static_cast<double>(fan_in))).set_requires_grad(gradients);
  };
  const std::int64_t B = one.batch, L = one.queries, Lk = one.keys, D = one.state, A = one.hidden, M = one.memory, E = one.embedding;
  return {.tokens = make({B, L, E}, 1),
          .token_weight = make({3 * D, E}, E),
          .token_bias = make({3 * D}, E),
          .first = make({B, D}, 1),
          .keys = make({B, Lk, A}, 1),
          .memory = make({B, Lk, M}, 1),
          .lengths = {},
          .query_weight = make({A, D}, D),
          .energy = make({A}, A),
          .context_weight = make({3 * D, M}, M),
          .state_weight = make({3 * D, D}, D)};
}

}  // namespace

double attentive_gru_operations(const BenchmarkCase& one) {
  const auto B = static_cast<double>(one.batch), L = static_cast<double>(one.queries), Lk = static_cast<double>(one.keys);
  const auto D = static_cast<double>(one.state), A = static_cast<double>(one.hidden), M = static_cast<double>(one.memory);
  const auto E = static_cast<double>(one.embedding);
  const double read = 2 * A * D + Lk * (4 * A + 2 * M), cell = 2 * 3 * D * (D + M + E);
  return B * (L * read + (L - 1) * cell);  // nobody reads the state after the last step
}

Operation attentive_gru_operation(const BenchmarkCase& one) {
  Operation operation;
  operation.operations = (one.pass == Pass::forward ? 1.0 : 3.0) * attentive_gru_operations(one);
  operation.items = static_cast<double>(one.batch);
  const auto input = std::make_shared<layers::AttentiveDecoderInput>(gru_input(one));
  const Tensor upstream = random_tensor({one.batch, one.queries, one.state + one.memory}, 100);
  const auto run = [one, input, upstream](Path path) {
    const layers::AttentiveDecoderResult result = layers::attentive_decoder(*input, path);
    return with_gradients(one, at::cat({result.states, result.contexts}, 2), all_of(*input), upstream);
  };
  operation.fused = [run](std::int64_t) { return run(Path::fused); };
  operation.composed = [run](std::int64_t) { return run(Path::composed); };
  return operation;
}

}  // namespace attend::bench
