// RNNsearch's deep output up to its maxout layer: what state, last token and context say together of the next token.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/result.h"

namespace attend::layers {

struct DeepOutputInput {
  Tensor states;          // s [B, L, D]
  Tensor tokens;          // y [B, L, E]
  Tensor contexts;        // c [B, L, M]
  Tensor state_weight;    // U_o [2l, D]
  Tensor token_weight;    // V_o [2l, E]
  Tensor context_weight;  // C_o [2l, M]
  Tensor bias;            // [2l]
};

// t̃ = U_o s + V_o y + C_o c + b,  t_j = max(t̃_{2j−1}, t̃_{2j})                              (Bahdanau 2014 A.2.2; maxout: Goodfellow 2013)
// → t [B, L, l]. Of two equal ones the gradient goes to the first; a NaN stays one.
// fused: one operation with a backward pass of its own, on the CPU in float32 and float64, which stores no t̃; composed: from libtorch's operations, also what
// a second derivative is computed with.
// InvalidArgument where a shape or type doesn't fit; NotSupported where Path::fused is impossible.
ATTEND_API Tensor deep_output(const DeepOutputInput& input, Path path = Path::automatic);

}  // namespace attend::layers
