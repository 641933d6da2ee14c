#include "attend/models/luong.h"

#include <cmath>

#include "attend/core/recording.h"
#include "attend/layers/input_feeding_decoder.h"
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

// Whether the decoder with input feeding goes through the target in one operation (layers/input_feeding_decoder.h). Otherwise it goes step by step: with
// several layers, with scores that are no product with keys known beforehand, with other normalisers, with weights that are dropped, and with local
// windows: the centre of local-p follows from h_t, which only the step itself knows. Path::composed asks for the steps.
bool feeds_in_one_operation(const LuongOptions& options) {
  using addressing::Score;
  const addressing::AttentionOptions& attention = options.attention;
  const bool scores = attention.score == Score::dot || attention.score == Score::scaled_dot || attention.score == Score::general ||
                      attention.score == Score::additive;
  return options.layers == 1 && scores && attention.normalizer == addressing::Normalizer::softmax && attention.window == addressing::Window::global &&
         attention.dropout == 0 && attention.path != Path::composed;
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
  return at::tanh(combine_(at::cat({context, hidden}, 2)));                                       // [B, L, D]
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

// h̃_t [B, Lt, D] of given tokens, embedded [B, Lt, E].
Tensor Luong::fed_step_by_step(const Tensor& embedded, const Encoded& encoded, const Tensor& lengths, std::vector<AttentionResult>& reads) {
  layers::RecurrentState state = encoded.start;
  Tensor fed = at::zeros({embedded.size(0), 1, options_.decoder_hidden}, embedded.options());     // h̃_0 = 0
  std::vector<Tensor> vectors;
  for (std::int64_t t = 0; t < embedded.size(1); ++t) {
    const layers::RecurrentResult one = decoder_(at::cat({embedded.slice(1, t, t + 1), fed}, 2), Tensor(), state);
    state = one.state;
    fed = attentional_vector(one.output, encoded.memory, lengths, t, &reads);               // [B, 1, D]
    vectors.push_back(fed);
  }
  return at::cat(vectors, 1);
}

// The same in one operation. What doesn't change from step to step is projected beforehand: tokens, keys, and what W_c takes of the memory.
Tensor Luong::fed_at_once(const Tensor& embedded, const Encoded& encoded, const Tensor& lengths) {
  const auto decoder = decoder_->named_parameters(), attention = attention_->named_parameters();
  const bool lstm = options_.cell == layers::Cell::lstm;
  const std::int64_t memory = 2 * options_.hidden;
  const Tensor of_input = decoder["weight_ih_l0"], input_bias = decoder["bias_ih_l0"], recurrent_bias = decoder["bias_hh_l0"];
  layers::InputFeedingInput input;
  input.cell = options_.cell;
  input.projected = at::linear(embedded, of_input.slice(1, 0, options_.embedding), lstm ? input_bias + recurrent_bias : input_bias);  // [B, Lt, G·D]
  input.hidden = encoded.start.hidden.select(1, 0);                                               // [B, D]
  if (lstm) input.cell_state = encoded.start.cell.select(1, 0);
  input.feed_weight = of_input.slice(1, options_.embedding), input.recurrent_weight = decoder["weight_hh_l0"];
  if (!lstm) input.recurrent_bias = recurrent_bias;
  switch (options_.attention.score) {
    case addressing::Score::general: input.keys = at::matmul(encoded.memory, attention["weight"].t()); break;  // W h̄_s [B, Ls, D]
    case addressing::Score::additive:
      input.keys = at::linear(encoded.memory, attention["key_projection"], attention["bias"]);    // [B, Ls, A]
      input.query_weight = attention["query_projection"], input.energy = attention["energy"];
      break;
    case addressing::Score::scaled_dot: input.scale = 1 / std::sqrt(static_cast<double>(memory)); [[fallthrough]];
    default: input.keys = encoded.memory;
  }
  input.values = at::matmul(encoded.memory, combine_->weight.slice(1, 0, memory).t());            // [B, Ls, D]
  input.combine_weight = combine_->weight.slice(1, memory);
  input.lengths = lengths;
  const layers::InputFeedingResult decoded = layers::input_feeding_decoder(input, options_.attention.path);
  if (Recording::wants(*attention_))
    Recording::report(*attention_, "alignment", decoded.weights.unsqueeze(1), {"batch", "head", "query", "key"});
  return decoded.vectors;
}

ModelOutput Luong::forward(const TokenBatch& source, const TokenBatch& target) {
  const Encoded encoded = read_source(source);
  check_target(luong_name, target, encoded.memory.size(0));
  const std::int64_t steps = target.tokens.size(1) - 1;
  const Tensor given = target.tokens.slice(1, 0, steps), wanted = target.tokens.slice(1, 1);      // [B, Lt]
  const Tensor embedded = drop(target_embedding_(given));                                         // [B, Lt, E]
  Tensor attentional;                                                                             // [B, Lt, D]
  std::vector<AttentionResult> reads;
  if (!options_.input_feeding) {
    const Tensor hidden = drop(decoder_(embedded, Tensor(), encoded.start).output);               // [B, Lt, D]
    attentional = attentional_vector(hidden, encoded.memory, source.lengths, 0, &reads);
  } else if (feeds_in_one_operation(options_)) {
    attentional = fed_at_once(embedded, encoded, source.lengths);
  } else {
    attentional = fed_step_by_step(embedded, encoded, source.lengths, reads);
  }
  const Tensor logits = output_(drop(attentional), target_embedding_->weight);                          // [B, Lt, V]
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
