// 1.5-entmax over the keys that a query may attend to: half way between softmax and sparsemax.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// w_j = max(s_j / 2 − τ, 0)² for visible j, with τ so that the weights sum to 1 (Peters 2019 equation 6 for α = 1.5); exact, by sorting
// (algorithm 2). 0 at hidden keys; a row without a visible key is 0 everywhere, with gradient 0.
//   scores  [B, H, Lq, Lk]   minus infinity hides as well; a visible NaN makes its row NaN
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
//   →       [B, H, Lq, Lk]
// float64 and float32; half types are computed in float32. Gradients of every order: those of entmax() for α = 1.5.
// InvalidArgument where the shapes don't fit; NotSupported for scores that aren't floating-point.
ATTEND_API Tensor entmax15(const Tensor& scores, const std::optional<Tensor>& keep);

}  // namespace attend::addressing
