// The encoder-decoder without attention: all that the decoder knows of the source is one vector (Sutskever 2014; Cho 2014).
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"
#include "attend/layers/recurrent.h"
#include "attend/layers/token_output.h"
#include "attend/models/sequence_to_sequence.h"

namespace attend {
namespace models {

// Where the vector of the source goes.
enum class SourceVector {
  first_state,  // into the decoder's first state (Sutskever 2014 §2)
  every_step,   // also into each step and each output (Cho 2014 appendix A.2)
};

}  // namespace models

template <>
struct EnumNames<models::SourceVector> {
  static constexpr EnumName<models::SourceVector> values[] = {{models::SourceVector::first_state, "first-state"},
                                                              {models::SourceVector::every_step, "every-step"}};
};

namespace models {

struct RnnOptions {
  std::int64_t embedding = 128;
  std::int64_t hidden = 512;
  std::int64_t layers = 1;
  layers::Cell cell = layers::Cell::lstm;
  layers::Reset reset = layers::Reset::after;
  bool reverse_source = true;
  SourceVector source_vector = SourceVector::first_state;
  std::int64_t maxout = 256;
  bool tied = false;
  double dropout = 0.0;
  double label_smoothing = 0.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("embedding", self.embedding, "width of the token embeddings of both sides");
    visitor("hidden", self.hidden, "width of encoder and decoder");
    visitor("layers", self.layers, "layers of encoder and decoder");
    visitor("cell", self.cell, "recurrent cell");
    visitor("reset", self.reset, "where a GRU's reset gate acts: after or before the product with the state");
    visitor("reverse_source", self.reverse_source, "whether the source is read from its end (Sutskever 2014 §3.3)");
    visitor("source_vector", self.source_vector, "where the vector of the source goes: first-state alone, or every-step and output as well");
    visitor("maxout", self.maxout, "width of the maxout layer before the output, with source_vector every-step");
    visitor("tied", self.tied, "whether the target's embedding is the output's weight, which needs equal widths (Press and Wolf 2017)");
    visitor("dropout", self.dropout, "probability that an activation is dropped while training");
    visitor("label_smoothing", self.label_smoothing, "weight of the uniform distribution in the training target");
  }
};

// Sutskever 2014 §2:
//   Encoder:  v = the states of all layers after x_1 … x_T, read as x_T … x_1 (§3.3)
//   Decoder:  h_0 = v,  h_t = cell(y_{t−1}, h_{t−1}),  p(y_t | y_<t, v) = softmax(W_s h_t)                       equation 1
// Cho 2014 appendix A (source_vector every-step), there with one layer of GRU:
//   Encoder:  c = tanh(V h_T), of the last layer                                                              A.1
//   Decoder:  h_0 = tanh(V' c),  h_t = cell([y_{t−1} ; c], h_{t−1})                                              A.2
//             s'_t = O_h h_t + O_y y_{t−1} + O_c c,  s_t = max of its pairs,  p(y_t | …) = softmax(G s_t)             A.2
// The whole target goes through decoder and output in one call each. There is nothing to align: alignment_module() is empty.
// The end token counts as the source's last, so that reversed it is read first. With several layers or an LSTM each layer's hidden state and cell has
// rows of its own in V', on which Cho 2014 (one layer of GRU) is silent. The cell is one of layers::Recurrent on [y ; c]: c enters the candidate beside y, where
// Cho's decoder has it, with the product of the state, under the reset gate. O and G have biases, the paper's have none.
class ATTEND_API Rnn : public SequenceToSequence {
 public:
  // InvalidArgument where an option is out of range, where reset is "before" with an LSTM, or where tied widths differ.
  Rnn(std::int64_t source_vocabulary, std::int64_t target_vocabulary, RnnOptions options = {});

  ModelOutput forward(const TokenBatch& source, const TokenBatch& target) override;
  DecoderState encode(const TokenBatch& source) override;
  Tensor step(const Tensor& previous, DecoderState& state) override;

 private:
  struct Encoded {
    layers::RecurrentState start;
    Tensor vector;  // c [B, 1, H], with every_step
  };
  Encoded read_source(const TokenBatch& source);
  // y [B, L, E] → what the decoder reads at each step
  Tensor decoder_input(const Tensor& embedded, const Tensor& vector) const;
  // h [B, L, H], y [B, L, E] → scores [B, L, V]
  Tensor scores(const Tensor& hidden, const Tensor& embedded, const Tensor& vector);
  Tensor drop(const Tensor& activation) { return at::dropout(activation, options_.dropout, is_training()); }
  bool every_step() const { return options_.source_vector == SourceVector::every_step; }

  RnnOptions options_;
  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  layers::Recurrent encoder_{nullptr}, decoder_{nullptr};
  torch::nn::Linear summary_{nullptr}, first_state_{nullptr}, first_cell_{nullptr}, deep_{nullptr};
  layers::TokenOutput output_{nullptr};
};

}  // namespace models
}  // namespace attend
