// Luong's encoder-decoder with global or local attention (Luong, Pham, Manning 2015).
#pragma once

#include "attend/addressing/attention.h"
#include "attend/addressing/score_function.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"
#include "attend/layers/input_feeding_decoder.h"
#include "attend/layers/recurrent.h"
#include "attend/layers/token_output.h"
#include "attend/models/sequence_to_sequence.h"

namespace attend::models {

struct LuongOptions {
  std::int64_t embedding = 128;
  std::int64_t hidden = 256;
  std::int64_t decoder_hidden = 512;
  std::int64_t layers = 1;
  layers::Cell cell = layers::Cell::lstm;
  addressing::AttentionOptions attention = {};
  // Of attention's normaliser hard-sample; others have none.
  addressing::ScoreFunctionOptions hard = {};
  bool input_feeding = false;
  bool tied = false;
  double dropout = 0.0;
  double label_smoothing = 0.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("embedding", self.embedding, "width of the token embeddings of both sides");
    visitor("hidden", self.hidden, "width of each direction of the encoder");
    visitor("decoder_hidden", self.decoder_hidden, "width of the decoder");
    visitor("layers", self.layers, "layers of encoder and decoder");
    visitor("cell", self.cell, "recurrent cell");
    visitor("attention", self.attention, "score, normaliser and window");
    visitor("hard", self.hard, "how normalizer \"hard-sample\" learns where to look");
    visitor("input_feeding", self.input_feeding, "whether the attentional vector enters the next step (§3.3)");
    visitor("tied", self.tied, "whether the target's embedding is the output's weight, which needs equal widths (Press and Wolf 2017)");
    visitor("dropout", self.dropout, "probability that an activation is dropped while training");
    visitor("label_smoothing", self.label_smoothing, "weight of the uniform distribution in the training target");
  }
};

// Encoder (bidirectional; the paper's reads one way):  h̄_s = [→h_s ; ←h_s]
// Decoder:                                              h_t = cell(y_{t−1} [; h̃_{t−1}], h_{t−1})          §3, input feeding §3.3
// Attention on the state after the cell:                a_t = align(h_t, h̄_s),  c_t = Σ_s a_t(s) h̄_s      equations 7, 8; §3.2
// Attentional vector:                                   h̃_t = tanh(W_c [c_t ; h_t])                        equation 5
// Output:                                               p(y_t | y_<t, x) = softmax(W_s h̃_t)                equation 6
// The decoder's first state is tanh(W_0 · the encoder's last states); the paper passes them on unchanged, which needs equal widths.
// Dropout falls on embeddings, h̄_s and what the output takes of h̃_t, and without input feeding on h_t; never on what goes round from step to step (Zaremba 2014).
// Every score and window of addressing::Attention can be taken. Query t is target place t, counted from 0: where local-m's window stands.
// Without input feeding the whole target goes through decoder, attention and output in one call each. With it decoder and attention are one operation
// for one layer, scores dot, scaled-dot, general and additive, softmax, the global window and attention.path other than "composed"; else they go
// step by step, with the same numbers.
//
// With attention normaliser hard-sample, while training, c_t is the h̄_s of one drawn place (Xu 2015 §4.1), and forward() adds the losses
// "score_function" and, where it has a weight, "entropy", which teach where to look (addressing/score_function.h). The reward of the draw of step t is
// the log-likelihood of what it acts on: R_t = log p(y_t | …) without input feeding, R_t = Σ_{t' ≥ t} log p(y_t' | …) with it; padding has none.
// The moving baseline is the buffer `score_function.baseline`. In evaluation the most probable place is read.
class ATTEND_API Luong : public SequenceToSequence {
 public:
  // InvalidArgument where an option is out of range or tied widths differ.
  Luong(std::int64_t source_vocabulary, std::int64_t target_vocabulary, LuongOptions options = {});

  ModelOutput forward(const TokenBatch& source, const TokenBatch& target) override;
  DecoderState encode(const TokenBatch& source) override;
  Tensor step(const Tensor& previous, DecoderState& state) override;
  std::string alignment_module() const override { return "attention"; }

 private:
  struct Encoded {
    Tensor memory;  // [B, Ls, 2H]
    layers::RecurrentState start;
  };
  Encoded read_source(const TokenBatch& source);
  // h [B, L, D] of target places first … first + L − 1 → h̃ [B, L, D]; what was read is appended to `reads`, where it is given
  Tensor attentional_vector(const Tensor& hidden, const Tensor& memory, const Tensor& lengths, std::int64_t first,
                            std::vector<AttentionResult>* reads = nullptr);
  Tensor fed_step_by_step(const Tensor& embedded, const Encoded& encoded, const Tensor& lengths, std::vector<AttentionResult>& reads);
  Tensor fed_at_once(const Tensor& embedded, const Encoded& encoded, const Tensor& lengths);
  // The losses of what was drawn for target tokens `wanted` [B, Lt], of which `logits` [B, Lt, V] came.
  std::vector<LossTerm> losses_of_draws(const std::vector<AttentionResult>& reads, const Tensor& logits, const Tensor& wanted);
  Tensor drop(const Tensor& activation) { return at::dropout(activation, options_.dropout, is_training()); }

  LuongOptions options_;
  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  layers::Recurrent encoder_{nullptr}, decoder_{nullptr};
  torch::nn::Linear first_state_{nullptr}, first_cell_{nullptr}, combine_{nullptr};
  addressing::Attention attention_{nullptr};
  addressing::ScoreFunctionLoss score_function_{nullptr};
  layers::TokenOutput output_{nullptr};
};

}  // namespace attend::models
