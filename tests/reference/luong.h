// Luong's encoder-decoder with global and local attention, equation by equation, as loops over doubles: no libtorch, nothing shared with the library.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/reference/attention.h"
#include "tests/reference/encoder_decoder.h"
#include "tests/reference/recurrent.h"

namespace attend::reference {

struct LuongModel {
  bool input_feeding = false;
  std::int64_t embedding = 1;                 // E
  Vector source_embedding, target_embedding;  // [V, E]
  RecurrentSizes encoder_sizes, decoder_sizes;
  std::vector<RecurrentWeights> encoder, decoder;
  Vector first_state_weight, first_state_bias;  // [D, 2H], [D]
  Vector first_cell_weight, first_cell_bias;    // likewise, of an LSTM
  PairScore score;                              // of h_t and h̄_s
  PlaceScore place_score;                       // instead of it, where it is there
  LocalWindow window;
  Vector combine;                               // W_c [D, 2H + D]
  Vector output_weight, output_bias;            // W_s [V, D], [V]
};

// One pair without padding; logits[t] predicts what follows target[t].
DecodedOutcome luong(const LuongModel& model, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target);

}  // namespace attend::reference
