#include "attend/addressing/normalizers/softmax.h"

#include <limits>

namespace attend::addressing {

Tensor masked_softmax(const Tensor& scores, const std::optional<Tensor>& keep) {
  if (!keep) return scores.softmax(-1);
  const Tensor hidden = keep->logical_not();
  const Tensor empty = hidden.expand_as(scores).all(-1, /*keepdim=*/true);                       // [B, H, Lq, 1]
  // Rows without a visible key get finite scores first and weights 0 afterwards: a softmax over nothing but −∞ would be NaN, and its
  // gradient too.
  return scores.masked_fill(hidden, -std::numeric_limits<double>::infinity())
      .masked_fill(empty, 0.0)
      .softmax(-1)
      .masked_fill(empty, 0.0);                                                                  // [B, H, Lq, Lk]
}

}  // namespace attend::addressing
