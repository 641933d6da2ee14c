// The encoder-decoders beside Luong's, equation by equation, as loops over doubles: no libtorch, nothing shared with the library.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/reference/attention.h"
#include "tests/reference/recurrent.h"

namespace attend::reference {

// W x + b; an empty b is 0.
struct Affine {
  Vector weight, bias;
};

struct DecodedOutcome {
  std::vector<Vector> logits;      // for each target place, [V]: what follows it
  std::vector<Vector> alignments;  // for each target place, one weight for each source place; none without attention
};

using TokenRow = std::vector<std::int64_t>;

// Sutskever 2014 §2; Cho 2014 appendix A where `every_step`.
struct RnnModel {
  bool reverse_source = true, every_step = false;
  std::int64_t embedding = 1;
  Vector source_embedding, target_embedding;  // [V, E]
  RecurrentSizes encoder_sizes, decoder_sizes;
  std::vector<RecurrentWeights> encoder, decoder;
  Affine summary;                  // V
  Affine first_state, first_cell;  // V', layer by layer
  Affine deep;                     // [O_h O_y O_c]
  Affine output;                   // W_s, or G
};
DecodedOutcome rnn(const RnnModel& model, const TokenRow& source, const TokenRow& target);

// Bahdanau 2014 appendix A; gates one below the other: r, z, candidate.
struct RnnsearchModel {
  std::int64_t embedding = 1, decoder_hidden = 1;
  RecurrentCell cell = RecurrentCell::gru_reset_before;  // of the decoder; or lstm
  Vector source_embedding, target_embedding;
  RecurrentSizes encoder_sizes;
  std::vector<RecurrentWeights> encoder;
  Affine first_state;                              // W_s
  PairScore score;                                 // of s_{i−1} and h_j
  Affine of_token, of_state, of_context;           // W, U, C of the gates
  Affine deep_of_state, deep_of_token, deep_of_context;  // U_o, V_o, C_o
  Affine output;                                   // W_o
};
DecodedOutcome rnnsearch(const RnnsearchModel& model, const TokenRow& source, const TokenRow& target);

// An additive attention layer on the outputs of encoder and decoder.
struct AttentionLayerModel {
  std::int64_t embedding = 1;
  Vector source_embedding, target_embedding;
  RecurrentSizes encoder_sizes, decoder_sizes;
  std::vector<RecurrentWeights> encoder, decoder;
  PairScore score;  // of d_i and h_j
  Affine output;
};
DecodedOutcome attention_layer(const AttentionLayerModel& model, const TokenRow& source, const TokenRow& target);

}  // namespace attend::reference
