#include "attend/models/rnnsearch.h"

#include <cmath>

#include "attend/core/recording.h"
#include "attend/layers/attentive_decoder.h"
#include "attend/layers/deep_output.h"
#include "models/checks.h"

namespace attend::models {
namespace {

constexpr auto rnnsearch_name = "attend::models::Rnnsearch";

}  // namespace

Rnnsearch::Rnnsearch(std::int64_t source_vocabulary, std::int64_t target_vocabulary, RnnsearchOptions options) : options_(options) {
  check_positive(rnnsearch_name, {{"source_vocabulary", source_vocabulary},
                                  {"target_vocabulary", target_vocabulary},
                                  {"embedding", options.embedding},
                                  {"hidden", options.hidden},
                                  {"decoder_hidden", options.decoder_hidden},
                                  {"alignment", options.alignment},
                                  {"maxout", options.maxout}});
  check_fractions(rnnsearch_name, {{"dropout", options.dropout}, {"label_smoothing", options.label_smoothing}});
  check_tied(rnnsearch_name, options.tied, options.embedding, "maxout", options.maxout);
  using torch::nn::Linear, torch::nn::LinearOptions;
  const bool lstm = options.cell == layers::Cell::lstm;
  const std::int64_t E = options.embedding, H = options.hidden, D = options.decoder_hidden, gates = (lstm ? 4 : 3) * D;
  const auto weight = options.tied ? layers::OutputWeight::embedding : layers::OutputWeight::own;
  source_embedding_ = register_module("source_embedding", torch::nn::Embedding(source_vocabulary, E));
  target_embedding_ = register_module("target_embedding", layers::token_embedding(target_vocabulary, E, weight));
  encoder_ = register_module(
      "encoder", layers::Recurrent(E, H, layers::RecurrentOptions{.cell = options.cell, .bidirectional = true,
                                                                   .reset = lstm ? layers::Reset::after : layers::Reset::before}));
  first_state_ = register_module("first_state", Linear(H, D));
  attention_ = register_module("attention", Alignment(D, 2 * H, options.alignment));
  gates_of_token_ = register_module("gates_of_token", Linear(E, gates));
  gates_of_context_ = register_module("gates_of_context", Linear(LinearOptions(2 * H, gates).bias(false)));
  const double bound = std::sqrt(1.0 / static_cast<double>(D));
  gates_of_state_ = register_parameter("gates_of_state", torch::empty({gates, D}).uniform_(-bound, bound));
  if (lstm) {
    const torch::NoGradGuard no_gradient;
    gates_of_token_->bias.slice(0, D, 2 * D).fill_(1);  // of the forget gate (Jozefowicz 2015)
  }
  deep_of_state_ = register_module("deep_of_state", Linear(D, 2 * options.maxout));
  deep_of_token_ = register_module("deep_of_token", Linear(LinearOptions(E, 2 * options.maxout).bias(false)));
  deep_of_context_ = register_module("deep_of_context", Linear(LinearOptions(2 * H, 2 * options.maxout).bias(false)));
  output_ = register_module("output", layers::TokenOutput(options.maxout, target_vocabulary, weight));
}

// The layers take them step by step: stored so, none is copied. What is dropped is drawn in the order of the batch.
Tensor Rnnsearch::embed(torch::nn::Embedding& table, const Tensor& tokens) {
  if (options_.dropout > 0 && is_training()) return drop(table(tokens));
  return table(tokens.t()).transpose(0, 1);
}

Rnnsearch::Encoded Rnnsearch::read_source(const TokenBatch& source) {
  check_source(rnnsearch_name, source);
  const layers::RecurrentResult read = encoder_(embed(source_embedding_, source.tokens), source.lengths);  // output [B, Ls, 2H]
  const Tensor memory = drop(read.output).contiguous();
  const Tensor first = read.state.hidden.select(1, 1);                                            // ←h_1 [B, H]
  const Tensor start = at::tanh(first_state_(first));                                             // s_0 [B, D]
  return {memory, attention_->keys(memory), {start, options_.cell == layers::Cell::lstm ? at::zeros_like(start) : Tensor()}};
}

layers::RecurrentState Rnnsearch::next_state(const layers::RecurrentState& state, const Tensor& from_token, const Tensor& context) {
  const Tensor projected = from_token + gates_of_context_(context);                               // W y + C c [B, G·D]
  if (options_.cell == layers::Cell::lstm) return layers::lstm_step(projected, state, gates_of_state_);
  const Tensor no_bias = at::zeros({gates_of_state_.size(0)}, projected.options());               // W y has one
  return {layers::gru_step(projected, state.hidden, gates_of_state_, no_bias, layers::Reset::before), {}};
}

Tensor Rnnsearch::deep_output(const Tensor& states, const Tensor& embedded, const Tensor& contexts) {
  const Tensor deep = layers::deep_output({.states = states,
                                           .tokens = embedded,
                                           .contexts = contexts,
                                           .state_weight = deep_of_state_->weight,
                                           .token_weight = deep_of_token_->weight,
                                           .context_weight = deep_of_context_->weight,
                                           .bias = deep_of_state_->bias});                        // t [B, L, l]
  return output_(drop(deep), target_embedding_->weight);                                          // [B, L, V]
}

ModelOutput Rnnsearch::forward(const TokenBatch& source, const TokenBatch& target) {
  const Encoded encoded = read_source(source);
  check_target(rnnsearch_name, target, source.tokens.size(0));
  const std::int64_t steps = target.tokens.size(1) - 1;
  const Tensor given = target.tokens.slice(1, 0, steps), wanted = target.tokens.slice(1, 1);      // [B, Lt]
  const Tensor embedded = embed(target_embedding_, given);                                        // [B, Lt, E]
  const layers::AttentiveDecoderResult decoded = layers::attentive_decoder({.cell = options_.cell,
                                                                            .tokens = embedded,
                                                                            .token_weight = gates_of_token_->weight,
                                                                            .token_bias = gates_of_token_->bias,
                                                                            .first = encoded.start.hidden,
                                                                            .first_cell = encoded.start.cell,
                                                                            .keys = encoded.keys,
                                                                            .memory = encoded.memory,
                                                                            .lengths = source.lengths,
                                                                            .query_weight = attention_->query_projection(),
                                                                            .energy = attention_->energy(),
                                                                            .context_weight = gates_of_context_->weight,
                                                                            .state_weight = gates_of_state_});
  if (Recording::wants(*attention_))
    Recording::report(*attention_, "alignment", decoded.weights.unsqueeze(1), {"batch", "head", "query", "key"});
  const Tensor logits = deep_output(decoded.states, embedded, decoded.contexts);                  // [B, Lt, V]
  return {logits, {{"cross_entropy", cross_entropy(logits, wanted, is_training() ? options_.label_smoothing : 0.0)}}};
}

// The state: memory, keys, lengths, s_{i−1}, and of an LSTM its cell.
DecoderState Rnnsearch::encode(const TokenBatch& source) {
  const Encoded encoded = read_source(source);
  DecoderState state{{encoded.memory, encoded.keys, source.lengths, encoded.start.hidden}};
  if (encoded.start.cell.defined()) state.tensors.push_back(encoded.start.cell);
  return state;
}

Tensor Rnnsearch::step(const Tensor& previous, DecoderState& state) {
  std::vector<Tensor>& parts = state.tensors;
  const Tensor embedded = target_embedding_(previous).unsqueeze(1), before = parts[3].unsqueeze(1);  // [B, 1, E], [B, 1, D]
  const Tensor context = attention_(before, parts[1], parts[0], Mask::lengths(parts[2]));         // [B, 1, 2H]
  const bool lstm = options_.cell == layers::Cell::lstm;
  const layers::RecurrentState after = next_state({parts[3], lstm ? parts[4] : Tensor()}, gates_of_token_(embedded).squeeze(1), context.squeeze(1));
  parts[3] = after.hidden;
  if (lstm) parts[4] = after.cell;
  return deep_output(before, embedded, context).squeeze(1).log_softmax(1);                        // [B, V]
}

}  // namespace attend::models
