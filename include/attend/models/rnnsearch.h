// RNNsearch: attention on the decoder's state before the step, its context inside the cell (Bahdanau, Cho, Bengio 2014).
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"
#include "attend/layers/recurrent.h"
#include "attend/layers/token_output.h"
#include "attend/models/alignment.h"
#include "attend/models/sequence_to_sequence.h"

namespace attend::models {

struct RnnsearchOptions {
  std::int64_t embedding = 128;
  std::int64_t hidden = 256;
  std::int64_t decoder_hidden = 512;
  std::int64_t alignment = 256;
  std::int64_t maxout = 256;
  layers::Cell cell = layers::Cell::gru;
  bool tied = false;
  double dropout = 0.0;
  double label_smoothing = 0.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("embedding", self.embedding, "width of the token embeddings of both sides (m in the paper)");
    visitor("hidden", self.hidden, "width of each direction of the encoder (n)");
    visitor("decoder_hidden", self.decoder_hidden, "width of the decoder (n)");
    visitor("alignment", self.alignment, "hidden width of the alignment model (n')");
    visitor("maxout", self.maxout, "width of the maxout layer before the output (l)");
    visitor("cell", self.cell, "recurrent cell of encoder and decoder (gru in the paper)");
    visitor("tied", self.tied, "whether the target's embedding is the output's weight, which needs equal widths (Press and Wolf 2017)");
    visitor("dropout", self.dropout, "probability that an activation is dropped while training");
    visitor("label_smoothing", self.label_smoothing, "weight of the uniform distribution in the training target");
  }
};

// Encoder:          h_j = [→h_j ; ←h_j], each a GRU whose reset gate acts on the state, U(r ∘ h)                              A.2.1
// First state:      s_0 = tanh(W_s ←h_1)                                                                               A.2.2
// Alignment model:  e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j),  α_i = softmax(e_i),  c_i = Σ_j α_ij h_j                        A.1.2, A.2.2
// Decoder's cell:   r_i = σ(W_r y_{i−1} + U_r s_{i−1} + C_r c_i),  z_i likewise                                           A.2.2
//                   s̃_i = tanh(W y_{i−1} + U(r_i ∘ s_{i−1}) + C c_i),  s_i = (1 − z_i) ∘ s̃_i + z_i ∘ s_{i−1}
// With Cell::lstm encoder and decoder are LSTMs, whose gates i, f, g, o take W y_{i−1} + U s_{i−1} + C c_i, and whose cell begins at 0 (not in the paper).
// Deep output:      t̃_i = U_o s_{i−1} + V_o y_{i−1} + C_o c_i,  t_i = max of its pairs,  p(y_i | …) = softmax(W_o t_i)          A.2.2
// y stands for its embedding E y. With the target given, all steps of attention and cell are one operation, layers::attentive_decoder, for which U_a h_j is
// taken once, and after the last step the deep output of all is another, layers::deep_output.
// Deviations: z keeps the state where the paper's 1 − z does (the same network, with z's weights negated); gates, alignment model, deep output, first state
// and output have biases, which the paper leaves out "to increase readability"; parameters begin uniform in ±√(1 / fan-in), not orthogonal. The output reads
// s_{i−1}, as the appendix says; equation 4 of the paper's body has s_i.
class ATTEND_API Rnnsearch : public SequenceToSequence {
 public:
  // InvalidArgument where an option is out of range or tied widths differ.
  Rnnsearch(std::int64_t source_vocabulary, std::int64_t target_vocabulary, RnnsearchOptions options = {});

  ModelOutput forward(const TokenBatch& source, const TokenBatch& target) override;
  DecoderState encode(const TokenBatch& source) override;
  Tensor step(const Tensor& previous, DecoderState& state) override;
  std::string alignment_module() const override { return "attention"; }

 private:
  struct Encoded {
    Tensor memory;                 // h [B, Ls, 2H]
    Tensor keys;                   // U_a h [B, Ls, A]
    layers::RecurrentState start;  // s_0 and, of an LSTM, its cell: [B, D]
  };
  // [B, L] → E y [B, L, E]
  Tensor embed(torch::nn::Embedding& table, const Tensor& tokens);
  Encoded read_source(const TokenBatch& source);
  // s_{i−1} [B, D], from_token W y_{i−1} [B, G·D], context c_i [B, 2H] → s_i [B, D]
  layers::RecurrentState next_state(const layers::RecurrentState& state, const Tensor& from_token, const Tensor& context);
  // s_{i−1} [B, L, D], y_{i−1} [B, L, E], c_i [B, L, 2H] → scores [B, L, V]
  Tensor deep_output(const Tensor& states, const Tensor& embedded, const Tensor& contexts);
  Tensor drop(const Tensor& activation) { return at::dropout(activation, options_.dropout, is_training()); }

  RnnsearchOptions options_;
  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  layers::Recurrent encoder_{nullptr};
  torch::nn::Linear first_state_{nullptr}, gates_of_token_{nullptr}, gates_of_context_{nullptr};
  torch::nn::Linear deep_of_state_{nullptr}, deep_of_token_{nullptr}, deep_of_context_{nullptr};
  Alignment attention_{nullptr};
  layers::TokenOutput output_{nullptr};
  Tensor gates_of_state_;  // U of the gates one below the other: [G·D, D], of r, z, s̃ or of i, f, g, o
};

}  // namespace attend::models
