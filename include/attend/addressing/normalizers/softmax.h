// Softmax over the keys that a query may attend to.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// w_j = exp(s_j) / Σ_{visible i} exp(s_i) for visible j, 0 elsewhere; a row without a visible key is 0 everywhere, with gradient 0.
//   scores  [B, H, Lq, Lk]
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
// Finite gradients of every order, also for rows that are hidden whole.
ATTEND_API Tensor masked_softmax(const Tensor& scores, const std::optional<Tensor>& keep);

}  // namespace attend::addressing
