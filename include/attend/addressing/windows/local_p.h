// The predictive local window: each query says where it looks, and weights fall off from there.
#pragma once

#include <cstdint>

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"

namespace attend::addressing {

// p_i = S · sigmoid(vᵀ tanh(W_p q_i))   (Luong 2015 equation 9)
//   query       [B, H, Lq, Dq]
//   projection  [A, Dq]         W_p
//   energy      [A]             v_p
//   lengths     int64 [B]       S, the true length of each row; see key_lengths()
//   →           [B, H, Lq], from 0 to S; keys are counted from 0
// Floating-point types. InvalidArgument where the shapes or types don't fit.
ATTEND_API Tensor local_p_centre(const Tensor& query, const Tensor& projection, const Tensor& energy, const Tensor& lengths);

// keep_ij = |j − p_i| ≤ W, factors_ij = exp(−(j − p_i)² / (2σ²)) with σ = W / 2   (Luong 2015 equation 10; W is the paper's D)
//   centre      [B, H, Lq]      p; gradients flow through it into the factors, not through the window's ends
//   keys        Lk
//   half_width  W ≥ 1
//   →           keep bool, factors [B, H, Lq, Lk]
// Weights are normalised over the window and then multiplied, so that a row sums to at most 1; ReadOptions::renormalised divides by
// the sum. Clipped at the ends: what lies outside the keys is not there.
// A centre that is NaN gives NaN factors to all keys, so that a model that has diverged shows it.
// InvalidArgument where the shape doesn't fit or a number is out of range.
ATTEND_API WindowTensors local_p_window(const Tensor& centre, std::int64_t keys, std::int64_t half_width);

// S of each row, int64 [B]: the least of the lengths that `mask` gives by Mask::lengths, and `keys` (Lk) where it gives none. Other
// parts of a mask hide keys without making the source shorter. `like` gives the device. The lengths are taken as they are: read() has checked them.
ATTEND_API Tensor key_lengths(const Mask& mask, std::int64_t batch, std::int64_t keys, const Tensor& like);

}  // namespace attend::addressing
