// α-entmax over the keys that a query may attend to: from softmax (α → 1) over 1.5-entmax to sparsemax (α = 2) and beyond.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// w_j = max((α − 1) s_j − τ, 0)^(1 / (α − 1)) for visible j, with τ so that the weights sum to 1 (Peters 2019 equation 6), found by bisection in
// float64 down to its last bit (algorithm 1). 0 at hidden keys; a row without a visible key is 0 everywhere, with gradient 0.
//   scores  [B, H, Lq, Lk]   minus infinity hides as well; a visible NaN makes its row NaN
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
//   alpha   above 1. Near 1 the power 1 / (α − 1) multiplies the rounding of the scores: softmax itself is masked_softmax().
//   →       [B, H, Lq, Lk]
// float64 and float32; half types are computed in float32. Gradients of every order by proposition 2: with u_j = w_j^(2 − α) on the support and
// 0 elsewhere, ∂w/∂s = diag(u) − u uᵀ / Σu. Between 1.5 and 2 second derivatives grow without bound towards the edge of the support.
// Where α is 1.5 or 2, entmax15() and sparsemax() give the same faster.
// InvalidArgument where the shapes don't fit or alpha is out of range; NotSupported for scores that aren't floating-point.
ATTEND_API Tensor entmax(const Tensor& scores, const std::optional<Tensor>& keep, double alpha);

}  // namespace attend::addressing
