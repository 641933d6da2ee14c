// One layer of GRU or LSTM in one direction over a whole sequence, as one differentiable operation. Private: layers/recurrent.h is the public edge.
#pragma once

#include "attend/core/libtorch.h"
#include "attend/core/result.h"
#include "attend/layers/recurrent.h"

namespace attend::layers {

struct SequenceInput {
  Cell cell = Cell::lstm;
  Reset reset = Reset::after;  // GRU only
  bool reverse = false;     // from the last step to the first
  Tensor input;             // x [L, B, E]; without input_weight [L, B, G·H], W_i x + b_i itself
  Tensor input_weight;      // W_i [G·H, E]
  Tensor input_bias;        // b_i [G·H]; for an LSTM b_h is in it too
  Tensor recurrent_weight;  // [G·H, H]
  Tensor recurrent_bias;    // [3H], GRU only
  Tensor hidden;            // [B, H], before the first step
  Tensor cell_state;        // [B, H], LSTM only
  Tensor valid;             // bool [L, B]: where it is false the state is carried on; undefined: true everywhere
};

struct SequenceOutput {
  Tensor hidden;      // [L, B, H], in the order of time; in padding what was carried on
  Tensor last;        // [B, H], after the last step
  Tensor cell_state;  // [B, H], likewise, LSTM only
};

// fused: kernels for the cell, one product for the gradient of a weight, buffers made once; CPU, float32 and float64. composed: step by
// step from libtorch's operations; also what a second derivative is computed with.
SequenceOutput recurrent_sequence(const SequenceInput& input, Path path);

}  // namespace attend::layers
