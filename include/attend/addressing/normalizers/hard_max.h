// Hard attention: the key with the largest score, and no other.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// w = one-hot of arg max_j s_j over the visible keys; of several that tie, the one with the lowest index. A row without a visible key is 0.
//   scores  [B, H, Lq, Lk]   minus infinity hides as well; a visible NaN makes its row NaN
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
//   →       [B, H, Lq, Lk], without a gradient: nothing flows to the scores
// InvalidArgument where the shapes don't fit; NotSupported for scores that aren't floating-point.
ATTEND_API Tensor hard_max(const Tensor& scores, const std::optional<Tensor>& keep);

}  // namespace attend::addressing
