// Dot-product attention through the fused kernels, differentiable. Private: read() decides when it runs.
#pragma once

#include <optional>

#include "addressing/fused_read.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"

namespace attend::addressing {

struct FusedDotProductOptions {
  double scale = 1.0;
  double soft_cap = 0.0;
  bool renormalised = false;  // weights are divided by their sum after the factors
  DropoutDraw dropout = {};
};

// context = Σ dropout · factor · softmax(soft_cap(scale · q·k) + bias) · v over the keys that `seen` lets through: query [B, Hq, Lq, Dk], key [B, Hkv, Lk, Dk],
// value [B, Hkv, Lk, Dv] → [B, Hq, Lq, Dv]. Float32 or float64 on the CPU, all of one type, shapes checked. Scores are never stored: the backward pass
// computes them again, and under create_graph takes the composed form. Results depend neither on the number of threads nor on strides.
//   factors  broadcast to [B, Hq, Lq, Lk]; empty: 1
// Inputs::unknown: whether query, key and value are finite is seen while they are packed; empty where they aren't.
enum class Inputs { finite, unknown };
std::optional<Tensor> fused_dot_product(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Spans& seen, const std::optional<Tensor>& factors,
                                        const FusedDotProductOptions& options, Inputs inputs = Inputs::finite);

}  // namespace attend::addressing
