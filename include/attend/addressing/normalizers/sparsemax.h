// Sparsemax over the keys that a query may attend to: weights that are exactly 0 where a key is far behind.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// w = the point of the simplex nearest to the scores (Martins 2016 equation 2): w_j = max(s_j − τ, 0) for visible j, with τ so that the
// weights sum to 1; found by sorting (algorithm 1). 0 at hidden keys; a row without a visible key is 0 everywhere, with gradient 0.
//   scores  [B, H, Lq, Lk]   minus infinity hides as well; a visible NaN makes its row NaN
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
//   →       [B, H, Lq, Lk]
// float64 and float32; half types are computed in float32. Gradients of every order by proposition 2: on the support S, the cotangent less its
// mean over S; 0 elsewhere. InvalidArgument where the shapes don't fit; NotSupported for scores that aren't floating-point.
ATTEND_API Tensor sparsemax(const Tensor& scores, const std::optional<Tensor>& keep);

}  // namespace attend::addressing
