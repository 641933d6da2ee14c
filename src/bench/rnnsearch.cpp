#include "attend/models/rnnsearch.h"

#include <map>
#include <memory>

#include "attend/core/tokens.h"
#include "attend/layers/attentive_decoder.h"
#include "bench/decoder_operations.h"
#include "bench/operation.h"
#include "layers/maxout.h"

namespace attend::bench {
namespace {

models::RnnsearchOptions sizes_of(const BenchmarkCase& one) {
  models::RnnsearchOptions options;
  options.embedding = one.embedding, options.hidden = one.memory / 2, options.decoder_hidden = one.state, options.alignment = one.hidden;
  options.maxout = one.maxout.value_or(one.hidden);
  return options;
}

// Random tokens, none of them special but those at the target's ends.
models::TokenBatch random_tokens(const BenchmarkCase& one, std::int64_t length, std::uint64_t seed) {
  const Tensor places = random_tensor({one.batch, length}, seed).abs().mul_(1000).to(at::kLong);
  return {places.remainder(one.vocabulary - 4).add_(4), at::full({one.batch}, length, at::kLong)};
}

models::TokenBatch random_target(const BenchmarkCase& one) {
  models::TokenBatch target = random_tokens(one, one.queries + 1, 1);
  target.tokens.select(1, 0).fill_(begin_token), target.tokens.select(1, one.queries).fill_(end_token);
  return target;
}

// The same model from libtorch's operations, an encoder and a decoder that go step by step: parameters by the model's names.
class ComposedRnnsearch {
 public:
  ComposedRnnsearch(const models::Rnnsearch& model, const models::RnnsearchOptions& sizes)
      : encoder_(sizes.embedding, sizes.hidden,
                 layers::RecurrentOptions{.cell = layers::Cell::gru, .bidirectional = true, .path = Path::composed, .reset = layers::Reset::before}) {
    const torch::NoGradGuard no_gradient;
    for (const auto& own : encoder_->named_parameters()) own.value().copy_(model.named_parameters()["encoder." + own.key()]);
    for (const auto& parameter : model.named_parameters()) {
      const bool of_encoder = parameter.key().starts_with("encoder.");
      parameters_[parameter.key()] = of_encoder ? encoder_->named_parameters()[parameter.key().substr(8)] : parameter.value();
      order_.push_back(parameters_[parameter.key()]);
    }
  }

  const std::vector<Tensor>& parameters() const { return order_; }

  Tensor loss(const models::TokenBatch& source, const models::TokenBatch& target) {
    const layers::RecurrentResult read = encoder_(at::embedding(of("source_embedding.weight"), source.tokens));
    const Tensor start = linear("first_state", read.state.hidden.select(1, 1)).tanh();            // [B, D]
    const Tensor keys = at::linear(read.output, of("attention.key_projection"), of("attention.bias"));  // [B, Ls, A]
    const std::int64_t steps = target.tokens.size(1) - 1;
    const Tensor embedded = at::embedding(of("target_embedding.weight"), target.tokens.slice(1, 0, steps));  // [B, Lt, E]
    const layers::AttentiveDecoderResult decoded = layers::attentive_decoder({.tokens = embedded,
                                                                     .token_weight = of("gates_of_token.weight"),
                                                                     .token_bias = of("gates_of_token.bias"),
                                                                     .first = start,
                                                                     .keys = keys,
                                                                     .memory = read.output,
                                                                     .lengths = source.lengths,
                                                                     .query_weight = of("attention.query_projection"),
                                                                     .energy = of("attention.energy"),
                                                                     .context_weight = of("gates_of_context.weight"),
                                                                     .state_weight = of("gates_of_state")},
                                                                         Path::composed);
    const Tensor deep = linear("deep_of_state", decoded.states) + at::linear(embedded, of("deep_of_token.weight")) +
                        at::linear(decoded.contexts, of("deep_of_context.weight"));               // [B, Lt, 2l]
    return models::cross_entropy(linear("output", layers::maxout(deep)), target.tokens.slice(1, 1), 0.0);
  }

 private:
  const Tensor& of(const std::string& name) const { return parameters_.at(name); }
  Tensor linear(const std::string& name, const Tensor& input) const { return at::linear(input, of(name + ".weight"), of(name + ".bias")); }

  layers::Recurrent encoder_;
  std::map<std::string, Tensor> parameters_;
  std::vector<Tensor> order_;
};

double operations_of(const BenchmarkCase& one) {
  const auto B = static_cast<double>(one.batch), Lt = static_cast<double>(one.queries), Ls = static_cast<double>(one.keys);
  const auto H = static_cast<double>(one.memory) / 2, D = static_cast<double>(one.state), A = static_cast<double>(one.hidden);
  const auto l = static_cast<double>(one.maxout.value_or(one.hidden));
  const auto E = static_cast<double>(one.embedding), V = static_cast<double>(one.vocabulary);
  const double encoder = Ls * (2 * 2 * 3 * H * (E + H) + 2 * 2 * H * A) + 2 * H * D;
  const double beside_the_decoder = Lt * (2 * 2 * l * (D + E + 2 * H) + 2 * l * V);
  return B * (encoder + beside_the_decoder) + attentive_gru_operations(one);
}

std::vector<Tensor> loss_with_gradients(const Tensor& loss, const std::vector<Tensor>& parameters) {
  std::vector<Tensor> results = {loss.detach()};
  for (const Tensor& gradient : torch::autograd::grad({loss}, parameters)) results.push_back(gradient);
  return results;
}

}  // namespace

Operation rnnsearch_operation(const BenchmarkCase& one) {
  Operation operation;
  operation.operations = 3 * operations_of(one);
  operation.items = static_cast<double>(one.batch);
  torch::manual_seed(1);
  const auto model = std::make_shared<models::Rnnsearch>(one.vocabulary, one.vocabulary, sizes_of(one));
  const auto composed = std::make_shared<ComposedRnnsearch>(*model, sizes_of(one));
  const models::TokenBatch source = random_tokens(one, one.keys, 0), target = random_target(one);
  operation.fused = [model, source, target](std::int64_t) {
    return loss_with_gradients(model->forward(source, target).losses.front().value, model->parameters());
  };
  operation.composed = [composed, source, target](std::int64_t) { return loss_with_gradients(composed->loss(source, target), composed->parameters()); };
  return operation;
}

}  // namespace attend::bench
