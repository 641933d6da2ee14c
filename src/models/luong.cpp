#include "attend/models/luong.h"

#include "models/checks.h"

namespace attend::models {
namespace {

constexpr auto luong_name = "attend::models::Luong";

void check_options(std::int64_t source_vocabulary, std::int64_t target_vocabulary, const LuongOptions& options) {
  check_positive(luong_name, {{"source_vocabulary", source_vocabulary},
                              {"target_vocabulary", target_vocabulary},
                              {"embedding", options.embedding},
                              {"hidden", options.hidden},
                              {"decoder_hidden", options.decoder_hidden},
                              {"layers", options.layers}});
  check_fractions(luong_name, {{"dropout", options.dropout}, {"label_smoothing", options.label_smoothing}});
  check_tied(luong_name, options.tied, options.embedding, "decoder_hidden", options.decoder_hidden);
}

}  // namespace

Luong::Luong(std::int64_t source_vocabulary, std::int64_t target_vocabulary, LuongOptions options) : options_(options) {
  check_options(source_vocabulary, target_vocabulary, options);
  using torch::nn::Linear, torch::nn::LinearOptions, torch::nn::Embedding;
  const std::int64_t memory = 2 * options.hidden, hidden = options.decoder_hidden;
  const std::int64_t decoder_input = options.embedding + (options.input_feeding ? hidden : 0);
  const auto weight = options.tied ? layers::OutputWeight::embedding : layers::OutputWeight::own;
  source_embedding_ = register_module("source_embedding", Embedding(source_vocabulary, options.embedding));
  target_embedding_ = register_module("target_embedding", layers::token_embedding(target_vocabulary, options.embedding, weight));
  encoder_ = register_module("encoder",
                             layers::Recurrent(options.embedding, options.hidden,
                                               layers::RecurrentOptions{options.cell, options.layers, /*bidirectional=*/true, options.dropout, Path::automatic}));
  first_state_ = register_module("first_state", Linear(memory, hidden));
  if (options.cell == layers::Cell::lstm) first_cell_ = register_module("first_cell", Linear(memory, hidden));
  decoder_ = register_module("decoder", layers::Recurrent(decoder_input, hidden,
                                                          layers::RecurrentOptions{options.cell, options.layers, false, options.dropout, Path::automatic}));
  attention_ = register_module("attention", addressing::Attention(hidden, memory, options.attention));
  if (options.attention.normalizer == addressing::Normalizer::hard_sample)
    score_function_ = register_module("score_function", addressing::ScoreFunctionLoss(options.hard));
  combine_ = register_module("combine", Linear(LinearOptions(memory + hidden, hidden).bias(false)));
  output_ = register_module("output", layers::TokenOutput(hidden, target_vocabulary, weight));
}

Luong::Encoded Luong::read_source(const TokenBatch& source) {
  check_source(luong_name, source);
  const Tensor embedded = drop(source_embedding_(source.tokens));                                 // [B, Ls, E]
  const layers::RecurrentResult read = encoder_(embedded, source.lengths);                        // output [B, Ls, 2H]
  // both directions of each layer side by side: [B, layers, 2H] → [B, layers, D]
  const auto first = [&](torch::nn::Linear& map, const Tensor& last) {
    return at::tanh(map(last.reshape({last.size(0), options_.layers, 2 * options_.hidden})));
  };
  layers::RecurrentState start{first(first_state_, read.state.hidden), {}};
  if (options_.cell == layers::Cell::lstm) start.cell = first(first_cell_, read.state.cell);
  return {drop(read.output), start};
}

Tensor Luong::attentional_vector(const Tensor& hidden, const Tensor& memory, const Tensor& lengths, std::int64_t first,
                                 std::vector<AttentionResult>* reads) {
  const addressing::AttentionPlace place{.first_query = first};
  const AttentionResult read = attention_(hidden, memory, memory, Mask::lengths(lengths), false, place);
  if (reads != nullptr) reads->push_back(read);
  const Tensor& context = read.context;                                                           // [B, L, 2H]
  return drop(at::tanh(combine_(at::cat({context, hidden}, 2))));                                 // [B, L, D]
}

std::vector<LossTerm> Luong::losses_of_draws(const std::vector<AttentionResult>& reads, const Tensor& logits, const Tensor& wanted) {
  std::vector<Tensor> log_probabilities, entropies;
  for (const AttentionResult& read : reads) {
    log_probabilities.push_back(read.log_probability);
    entropies.push_back(read.entropy);
  }
  const Tensor counted = wanted != padding_token;                                                 // [B, Lt]
  Tensor reward = logits.detach().log_softmax(2).gather(2, wanted.unsqueeze(2)).squeeze(2);       // log p(y_t | …) [B, Lt]
  if (options_.input_feeding)  // what step t drew acts on all that follows
    reward = reward.masked_fill(counted.logical_not(), 0.0).flip(1).cumsum(1).flip(1);
  const addressing::ScoreFunctionTerms terms =
      score_function_(at::cat(log_probabilities, 2), at::cat(entropies, 2), reward, counted);     // [B, 1, Lt] each
  std::vector<LossTerm> losses = {{"score_function", terms.score_function, options_.hard.weight}};
  if (options_.hard.entropy > 0) losses.push_back({"entropy", terms.entropy, options_.hard.entropy});
  return losses;
}

ModelOutput Luong::forward(const TokenBatch& source, const TokenBatch& target) {
  const Encoded encoded = read_source(source);
  check_target(luong_name, target, encoded.memory.size(0));
  const std::int64_t steps = target.tokens.size(1) - 1;
  const Tensor given = target.tokens.slice(1, 0, steps), wanted = target.tokens.slice(1, 1);      // [B, Lt]
  const Tensor embedded = drop(target_embedding_(given));                                         // [B, Lt, E]
  Tensor attentional;                                                                             // [B, Lt, D]
  std::vector<AttentionResult> reads;
  if (options_.input_feeding) {
    layers::RecurrentState state = encoded.start;
    Tensor fed = at::zeros({embedded.size(0), 1, options_.decoder_hidden}, embedded.options());   // h̃_0 = 0
    std::vector<Tensor> vectors;
    for (std::int64_t t = 0; t < steps; ++t) {
      const layers::RecurrentResult one = decoder_(at::cat({embedded.slice(1, t, t + 1), fed}, 2), Tensor(), state);
      state = one.state;
      fed = attentional_vector(drop(one.output), encoded.memory, source.lengths, t, &reads);      // [B, 1, D]
      vectors.push_back(fed);
    }
    attentional = at::cat(vectors, 1);
  } else {
    const Tensor hidden = drop(decoder_(embedded, Tensor(), encoded.start).output);               // [B, Lt, D]
    attentional = attentional_vector(hidden, encoded.memory, source.lengths, 0, &reads);
  }
  const Tensor logits = output_(attentional, target_embedding_->weight);                          // [B, Lt, V]
  ModelOutput output{logits, {{"cross_entropy", cross_entropy(logits, wanted, is_training() ? options_.label_smoothing : 0.0)}}};
  // in evaluation nothing is drawn
  if (!score_function_.is_empty() && attention_->is_training())
    for (LossTerm& term : losses_of_draws(reads, logits, wanted)) output.losses.push_back(std::move(term));
  return output;
}

// The state: memory, lengths, the place t of the next step, hidden, the cell of an LSTM, and h̃_{t−1} with input feeding.
DecoderState Luong::encode(const TokenBatch& source) {
  const Encoded encoded = read_source(source);
  DecoderState state{{encoded.memory, source.lengths, at::zeros_like(source.lengths), encoded.start.hidden}};
  if (encoded.start.cell.defined()) state.tensors.push_back(encoded.start.cell);
  if (options_.input_feeding)
    state.tensors.push_back(at::zeros({source.tokens.size(0), 1, options_.decoder_hidden}, encoded.memory.options()));
  return state;
}

Tensor Luong::step(const Tensor& previous, DecoderState& state) {
  const bool lstm = options_.cell == layers::Cell::lstm;
  std::vector<Tensor>& parts = state.tensors;
  Tensor input = target_embedding_(previous).unsqueeze(1);                                        // [B, 1, E]
  if (options_.input_feeding) input = at::cat({input, parts.back()}, 2);
  const layers::RecurrentResult one = decoder_(input, Tensor(), layers::RecurrentState{parts[3], lstm ? parts[4] : Tensor()});
  // all rows are at the same place; without rows it doesn't matter
  const std::int64_t t = parts[2].numel() == 0 ? 0 : parts[2][0].item<std::int64_t>();
  const Tensor attentional = attentional_vector(one.output, parts[0], parts[1], t);               // [B, 1, D]
  parts[2] = parts[2] + 1;
  parts[3] = one.state.hidden;
  if (lstm) parts[4] = one.state.cell;
  if (options_.input_feeding) parts.back() = attentional;
  return output_(attentional, target_embedding_->weight).squeeze(1).log_softmax(1);               // [B, V]
}

}  // namespace attend::models
