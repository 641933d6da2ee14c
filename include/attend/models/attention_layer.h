// An attention layer on a GRU encoder-decoder: the whole output sequences of both go through additive attention before the softmax.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"
#include "attend/layers/recurrent.h"
#include "attend/layers/token_output.h"
#include "attend/models/alignment.h"
#include "attend/models/sequence_to_sequence.h"

namespace attend::models {

struct AttentionLayerOptions {
  std::int64_t embedding = 128;
  std::int64_t hidden = 256;
  std::int64_t layers = 1;
  bool bidirectional = false;
  std::int64_t alignment = 256;
  bool tied = false;
  double dropout = 0.0;
  double label_smoothing = 0.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("embedding", self.embedding, "width of the token embeddings of both sides");
    visitor("hidden", self.hidden, "width of each direction of the encoder; the decoder is as wide as all of them together");
    visitor("layers", self.layers, "layers of encoder and decoder");
    visitor("bidirectional", self.bidirectional, "whether the encoder reads both ways");
    visitor("alignment", self.alignment, "hidden width of the additive score");
    visitor("tied", self.tied, "whether the target's embedding is the output's weight, which needs equal widths (Press and Wolf 2017)");
    visitor("dropout", self.dropout, "probability that an activation is dropped while training");
    visitor("label_smoothing", self.label_smoothing, "weight of the uniform distribution in the training target");
  }
};

// Encoder:          h_1 … h_S = GRU(x_1 … x_S), its whole output sequence; read both ways [→h_j ; ←h_j]
// Decoder:          d_1 … d_T = GRU(y_0 … y_{T−1}), which begins with the encoder's last states, unchanged
// Attention layer:  e_ij = vᵀ tanh(W d_i + U h_j),  α_i = softmax(e_i),  c_i = Σ_j α_ij h_j         the score of Bahdanau 2014 A.1.2, on d_i
// Output:           p(y_i | y_<i, x) = softmax(W_s [d_i ; c_i])
// So attention touches neither the recurrence, as in RNNsearch, nor has a layer of its own before the output, as Luong's: encoder, decoder, attention and output are
// four calls, each for all steps. There is no one paper of it; it is the layer that is put on top of a trained or plain encoder-decoder.
class ATTEND_API AttentionLayer : public SequenceToSequence {
 public:
  // InvalidArgument where an option is out of range or tied widths differ.
  AttentionLayer(std::int64_t source_vocabulary, std::int64_t target_vocabulary, AttentionLayerOptions options = {});

  ModelOutput forward(const TokenBatch& source, const TokenBatch& target) override;
  DecoderState encode(const TokenBatch& source) override;
  Tensor step(const Tensor& previous, DecoderState& state) override;
  std::string alignment_module() const override { return "attention"; }

 private:
  struct Encoded {
    Tensor memory;  // h [B, Ls, H · directions]
    Tensor keys;    // U h [B, Ls, A]
    Tensor start;   // [B, layers, H · directions]
  };
  Encoded read_source(const TokenBatch& source);
  // d [B, L, D] → scores [B, L, V]
  Tensor scores(const Tensor& hidden, const Tensor& keys, const Tensor& memory, const Tensor& lengths);
  Tensor drop(const Tensor& activation) { return at::dropout(activation, options_.dropout, is_training()); }

  AttentionLayerOptions options_;
  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  layers::Recurrent encoder_{nullptr}, decoder_{nullptr};
  Alignment attention_{nullptr};
  layers::TokenOutput output_{nullptr};
};

}  // namespace attend::models
