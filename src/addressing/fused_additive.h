// Additive attention through the fused kernels, differentiable. Private: read() decides when it runs.
#pragma once

#include <optional>

#include "addressing/fused_read.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"

namespace attend::addressing {

struct FusedAdditiveOptions {
  double soft_cap = 0.0;
  // Whether weights are divided by their sum after the factors.
  bool renormalised = false;
  DropoutDraw dropout = {};
};

struct FusedAdditive {
  Tensor context;  // [B, H, Lq, Dv]
  Tensor weights;  // [B, H, Lq, Lk], before dropout
};

// What read() says of the softmax of vᵀ tanh(q + k): query [B, H, Lq, A], key [B, H, Lk, A], value [B, H, Lk, Dv], energy [A]; factors broadcast to
// [B, H, Lq, Lk]. Finite float32 or float64 on the CPU, all of one type, shapes checked. What a pair has in common, [B, H, Lq, Lk, A], is never stored. The
// backward pass computes it again, and under create_graph takes the composed form. Results depend neither on the number of threads nor on strides.
FusedAdditive fused_additive(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& energy, const Mask::Tensors& mask,
                             const std::optional<Tensor>& factors, const FusedAdditiveOptions& options);

// The scores alone [B, H, Lq, Lk], for other normalisers.
Tensor fused_additive_score(const Tensor& query, const Tensor& key, const Tensor& energy);

}  // namespace attend::addressing
