#include "attend/models/rnn.h"

#include "models/checks.h"
#include "layers/maxout.h"

namespace attend::models {
namespace {

constexpr auto rnn_name = "attend::models::Rnn";

// Each row's tokens from its last to its first; padding stays behind them.
Tensor reversed(const Tensor& tokens, const Tensor& lengths) {
  const Tensor place = at::arange(tokens.size(1), tokens.options()).unsqueeze(0);                 // [1, L]
  const Tensor from_end = lengths.unsqueeze(1) - 1 - place;                                       // [B, L]
  return tokens.gather(1, at::where(from_end >= 0, from_end, place));
}

}  // namespace

Rnn::Rnn(std::int64_t source_vocabulary, std::int64_t target_vocabulary, RnnOptions options) : options_(options) {
  check_positive(rnn_name, {{"source_vocabulary", source_vocabulary},
                            {"target_vocabulary", target_vocabulary},
                            {"embedding", options.embedding},
                            {"hidden", options.hidden},
                            {"layers", options.layers},
                            {"maxout", options.maxout}});
  check_fractions(rnn_name, {{"dropout", options.dropout}, {"label_smoothing", options.label_smoothing}});
  const std::int64_t E = options.embedding, H = options.hidden, output_width = every_step() ? options.maxout : H;
  check_tied(rnn_name, options.tied, E, every_step() ? "maxout" : "hidden", output_width);
  using torch::nn::Linear, torch::nn::LinearOptions;
  const auto weight = options.tied ? layers::OutputWeight::embedding : layers::OutputWeight::own;
  const layers::RecurrentOptions recurrent{
      .cell = options.cell, .layers = options.layers, .dropout = options.dropout, .reset = options.reset};
  source_embedding_ = register_module("source_embedding", torch::nn::Embedding(source_vocabulary, E));
  target_embedding_ = register_module("target_embedding", layers::token_embedding(target_vocabulary, E, weight));
  encoder_ = register_module("encoder", layers::Recurrent(E, H, recurrent));
  decoder_ = register_module("decoder", layers::Recurrent(E + (every_step() ? H : 0), H, recurrent));
  if (every_step()) {
    summary_ = register_module("summary", Linear(LinearOptions(H, H).bias(false)));
    first_state_ = register_module("first_state", Linear(LinearOptions(H, options.layers * H).bias(false)));
    if (options.cell == layers::Cell::lstm) first_cell_ = register_module("first_cell", Linear(LinearOptions(H, options.layers * H).bias(false)));
    deep_ = register_module("deep", Linear(H + E + H, 2 * options.maxout));
  }
  output_ = register_module("output", layers::TokenOutput(output_width, target_vocabulary, weight));
}

Rnn::Encoded Rnn::read_source(const TokenBatch& source) {
  check_source(rnn_name, source);
  const Tensor tokens = options_.reverse_source ? reversed(source.tokens, source.lengths) : source.tokens;
  const layers::RecurrentState last = encoder_(drop(source_embedding_(tokens)), source.lengths).state;  // [B, layers, H]
  if (!every_step()) return {last, {}};
  const Tensor vector = at::tanh(summary_(last.hidden.select(1, -1)));                            // c [B, H]
  const auto first = [&](torch::nn::Linear& map) { return at::tanh(map(vector)).unflatten(1, {options_.layers, options_.hidden}); };
  layers::RecurrentState start{first(first_state_), {}};
  if (options_.cell == layers::Cell::lstm) start.cell = first(first_cell_);
  return {start, vector.unsqueeze(1)};
}

Tensor Rnn::decoder_input(const Tensor& embedded, const Tensor& vector) const {
  if (!every_step()) return embedded;
  return at::cat({embedded, vector.expand({-1, embedded.size(1), -1})}, 2);                       // [B, L, E + H]
}

Tensor Rnn::scores(const Tensor& hidden, const Tensor& embedded, const Tensor& vector) {
  if (!every_step()) return output_(hidden, target_embedding_->weight);
  const Tensor all = at::cat({hidden, embedded, vector.expand({-1, hidden.size(1), -1})}, 2);     // [B, L, H + E + H]
  return output_(layers::maxout(deep_(all)), target_embedding_->weight);                                  // [B, L, V]
}

ModelOutput Rnn::forward(const TokenBatch& source, const TokenBatch& target) {
  const Encoded encoded = read_source(source);
  check_target(rnn_name, target, source.tokens.size(0));
  const std::int64_t steps = target.tokens.size(1) - 1;
  const Tensor given = target.tokens.slice(1, 0, steps), wanted = target.tokens.slice(1, 1);      // [B, Lt]
  const Tensor embedded = drop(target_embedding_(given));                                         // [B, Lt, E]
  const Tensor hidden = drop(decoder_(decoder_input(embedded, encoded.vector), Tensor(), encoded.start).output);  // [B, Lt, H]
  const Tensor logits = scores(hidden, embedded, encoded.vector);                                 // [B, Lt, V]
  return {logits, {{"cross_entropy", cross_entropy(logits, wanted, is_training() ? options_.label_smoothing : 0.0)}}};
}

// The state: hidden, the cell of an LSTM, and with every_step the source's vector.
DecoderState Rnn::encode(const TokenBatch& source) {
  const Encoded encoded = read_source(source);
  DecoderState state{{encoded.start.hidden}};
  if (encoded.start.cell.defined()) state.tensors.push_back(encoded.start.cell);
  if (encoded.vector.defined()) state.tensors.push_back(encoded.vector);
  return state;
}

Tensor Rnn::step(const Tensor& previous, DecoderState& state) {
  const bool lstm = options_.cell == layers::Cell::lstm;
  std::vector<Tensor>& parts = state.tensors;
  const Tensor vector = every_step() ? parts.back() : Tensor(), embedded = target_embedding_(previous).unsqueeze(1);  // [B, 1, E]
  const layers::RecurrentResult one =
      decoder_(decoder_input(embedded, vector), Tensor(), layers::RecurrentState{parts[0], lstm ? parts[1] : Tensor()});
  parts[0] = one.state.hidden;
  if (lstm) parts[1] = one.state.cell;
  return scores(one.output, embedded, vector).squeeze(1).log_softmax(1);                          // [B, V]
}

}  // namespace attend::models
