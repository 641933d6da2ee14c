#include "attend/addressing/normalizers/hard_max.h"

#include <limits>

#include "addressing/normalizers/visible.h"

namespace attend::addressing {

Tensor hard_max(const Tensor& scores, const std::optional<Tensor>& keep) {
  const Visible seen = visible("attend::addressing::hard_max", scores.defined() ? scores.detach() : scores, keep);
  if (scores.numel() == 0) return at::zeros_like(seen.scores).to(scores.scalar_type());
  const Tensor best = seen.scores.argmax(-1, /*keepdim=*/true);                                  // [B, H, Lq, 1]: the first of those that tie
  const Tensor one_hot = at::zeros_like(seen.scores).scatter_(-1, best, 1.0);                    // [B, H, Lq, Lk]
  return one_hot.masked_fill(seen.empty, 0.0)
      .masked_fill(seen.scores.isnan().any(-1, true), std::numeric_limits<double>::quiet_NaN())
      .to(scores.scalar_type());
}

}  // namespace attend::addressing
