// What sparsemax, 1.5-entmax and α-entmax share: masks, types, and one gradient.
#pragma once

#include <optional>

#include "attend/core/libtorch.h"

namespace attend::addressing {

// Weights of scores [B, H, Lq, Lk] with Lk ≥ 1 and a number or NaN in each row: in the scores' type, without a gradient.
using EntmaxSolver = Tensor (*)(const Tensor& scores, double alpha);

Tensor entmax_weights(const char* where, const Tensor& scores, const std::optional<Tensor>& keep, double alpha, EntmaxSolver solve);

}  // namespace attend::addressing
