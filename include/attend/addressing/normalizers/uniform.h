// Every key that a query may attend to alike: the baseline that compares nothing.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// w_j = 1 / n for the n visible keys of a row, 0 elsewhere; a row without a visible key is 0 everywhere.
//   scores  [B, H, Lq, Lk]   their sizes and type; minus infinity hides as well; no other number matters, and none has a gradient
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
//   →       [B, H, Lq, Lk]
// InvalidArgument where the shapes don't fit; NotSupported for scores that aren't floating-point.
ATTEND_API Tensor masked_uniform(const Tensor& scores, const std::optional<Tensor>& keep);

}  // namespace attend::addressing
