// The teacher-forced decoder of Luong with input feeding: a GRU or LSTM that takes its last attentional vector, over a whole sequence at once.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/result.h"
#include "attend/layers/recurrent.h"

namespace attend::layers {

// G gates: 3 of a GRU, 4 of an LSTM, in the order of Recurrent.
struct InputFeedingInput {
  Cell cell = Cell::lstm;
  Tensor projected;         // [B, L, G·D]: what is known of each step before it, W y_t and the biases of the input; for an LSTM all biases
  Tensor hidden;            // h_0 [B, D]
  Tensor cell_state;        // LSTM: [B, D] before the first step
  Tensor keys;              // [B, Lk, D]; with an additive score U_a h̄_s + b [B, Lk, A]
  Tensor values;            // W_cc h̄_s [B, Lk, D]: what the attentional vector takes of a place of the memory
  Tensor lengths;           // int64 [B]: real places of the memory, from 1 to Lk; undefined: all
  Tensor feed_weight;       // F [G·D, D]
  Tensor recurrent_weight;  // U [G·D, D]
  Tensor recurrent_bias;    // GRU: [3D]
  Tensor combine_weight;    // W_ch [D, D]
  Tensor query_weight;      // additive score: W_a [A, D]
  Tensor energy;            // additive score: v_a [A]
  double scale = 1.0;       // of the dot score
  // Of dropout: what h_t is multiplied by where attention and combination take it, and what h̃_t is multiplied by: [L, B, D], or undefined. No gradient.
  Tensor hidden_multipliers, vector_multipliers;
};

struct InputFeedingResult {
  Tensor vectors;  // h̃_1 … h̃_L [B, L, D]
  Tensor weights;  // α [B, L, Lk], 0 in padding; no gradient flows through it
};

// h_t = cell(projected_t + F h̃_{t−1}, h_{t−1}),  h̃_0 = 0                                      (Luong 2015 §3.3)
// α_t = softmax_s(scale · h_t·key_s), additive: softmax_s(v_aᵀ tanh(W_a h_t + key_s))          (equations 7, 8)
// h̃_t = tanh(W_c [c_t ; h_t]) = tanh(Σ_s α_ts W_cc h̄_s + W_ch h_t)                             (equation 5, W_c = [W_cc W_ch])
// where the general score h_tᵀ W h̄_s is the dot score on keys W h̄_s: keys and values are projected once for all steps.
// fused: one operation with a backward pass of its own, on the CPU in float32 and float64; composed: step by step from libtorch's operations, also what
// a second derivative is computed with. Edge cases as of addressing::read().
// InvalidArgument where a shape, type or length doesn't fit; NotSupported where Path::fused is impossible.
ATTEND_API InputFeedingResult input_feeding_decoder(const InputFeedingInput& input, Path path = Path::automatic);

}  // namespace attend::layers
