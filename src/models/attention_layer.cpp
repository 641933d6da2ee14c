#include "attend/models/attention_layer.h"

#include "models/checks.h"

namespace attend::models {
namespace {

constexpr auto attention_layer_name = "attend::models::AttentionLayer";

}  // namespace

AttentionLayer::AttentionLayer(std::int64_t source_vocabulary, std::int64_t target_vocabulary, AttentionLayerOptions options)
    : options_(options) {
  check_positive(attention_layer_name, {{"source_vocabulary", source_vocabulary},
                                        {"target_vocabulary", target_vocabulary},
                                        {"embedding", options.embedding},
                                        {"hidden", options.hidden},
                                        {"layers", options.layers},
                                        {"alignment", options.alignment}});
  check_fractions(attention_layer_name, {{"dropout", options.dropout}, {"label_smoothing", options.label_smoothing}});
  const std::int64_t E = options.embedding, D = options.hidden * (options.bidirectional ? 2 : 1);
  check_tied(attention_layer_name, options.tied, E, "the widths of decoder and context together", 2 * D);
  const auto weight = options.tied ? layers::OutputWeight::embedding : layers::OutputWeight::own;
  const layers::RecurrentOptions one_way{.cell = layers::Cell::gru, .layers = options.layers, .dropout = options.dropout};
  layers::RecurrentOptions reading = one_way;
  reading.bidirectional = options.bidirectional;
  source_embedding_ = register_module("source_embedding", torch::nn::Embedding(source_vocabulary, E));
  target_embedding_ = register_module("target_embedding", layers::token_embedding(target_vocabulary, E, weight));
  encoder_ = register_module("encoder", layers::Recurrent(E, options.hidden, reading));
  decoder_ = register_module("decoder", layers::Recurrent(E, D, one_way));
  attention_ = register_module("attention", Alignment(D, D, options.alignment));
  output_ = register_module("output", layers::TokenOutput(2 * D, target_vocabulary, weight));
}

AttentionLayer::Encoded AttentionLayer::read_source(const TokenBatch& source) {
  check_source(attention_layer_name, source);
  const layers::RecurrentResult read = encoder_(drop(source_embedding_(source.tokens)), source.lengths);  // output [B, Ls, D]
  const Tensor memory = drop(read.output);
  // both directions of each layer side by side: [B, layers · directions, H] → [B, layers, D]
  const Tensor start = read.state.hidden.reshape({read.output.size(0), options_.layers, read.output.size(2)});
  return {memory, attention_->keys(memory), start};
}

Tensor AttentionLayer::scores(const Tensor& hidden, const Tensor& keys, const Tensor& memory, const Tensor& lengths) {
  const Tensor context = attention_(hidden, keys, memory, Mask::lengths(lengths));                // c [B, L, D]
  return output_(at::cat({hidden, context}, 2), target_embedding_->weight);                       // [B, L, V]
}

ModelOutput AttentionLayer::forward(const TokenBatch& source, const TokenBatch& target) {
  const Encoded encoded = read_source(source);
  check_target(attention_layer_name, target, source.tokens.size(0));
  const std::int64_t steps = target.tokens.size(1) - 1;
  const Tensor given = target.tokens.slice(1, 0, steps), wanted = target.tokens.slice(1, 1);      // [B, Lt]
  const Tensor embedded = drop(target_embedding_(given));                                         // [B, Lt, E]
  const Tensor hidden = drop(decoder_(embedded, Tensor(), layers::RecurrentState{encoded.start, {}}).output);  // d [B, Lt, D]
  const Tensor logits = scores(hidden, encoded.keys, encoded.memory, source.lengths);             // [B, Lt, V]
  return {logits, {{"cross_entropy", cross_entropy(logits, wanted, is_training() ? options_.label_smoothing : 0.0)}}};
}

// The state: memory, keys, lengths, hidden.
DecoderState AttentionLayer::encode(const TokenBatch& source) {
  const Encoded encoded = read_source(source);
  return {{encoded.memory, encoded.keys, source.lengths, encoded.start}};
}

Tensor AttentionLayer::step(const Tensor& previous, DecoderState& state) {
  std::vector<Tensor>& parts = state.tensors;
  const Tensor embedded = target_embedding_(previous).unsqueeze(1);                               // [B, 1, E]
  const layers::RecurrentResult one = decoder_(embedded, Tensor(), layers::RecurrentState{parts[3], {}});
  parts[3] = one.state.hidden;
  return scores(one.output, parts[1], parts[0], parts[2]).squeeze(1).log_softmax(1);              // [B, V]
}

}  // namespace attend::models
