// Dot-product attention through the fused kernels, differentiable. Private: read() decides when it runs.
#pragma once

#include "attend/core/libtorch.h"
#include "attend/core/mask.h"

namespace attend::addressing {

struct FusedDotProductOptions {
  double scale = 1.0;
  double soft_cap = 0.0;
};

// context = softmax(soft_cap(scale · q·k) + bias) · v over the keys that `mask` keeps: query [B, Hq, Lq, Dk], key [B, Hkv, Lk, Dk], value [B, Hkv, Lk, Dv] →
// [B, Hq, Lq, Dv]. Finite float32 or float64 on the CPU, all of one type, shapes checked. Scores are never stored: the backward pass computes them again, and
// under create_graph takes the composed form. Results depend neither on the number of threads nor on strides.
Tensor fused_dot_product(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Tensors& mask, const FusedDotProductOptions& options);

}  // namespace attend::addressing
