#include "attend/addressing/normalizers/entmax15.h"

#include "addressing/normalizers/entmax_family.h"

namespace attend::addressing {
namespace {

// τ of the k largest scores alone: Σ (z − τ)² = 1, by their mean and their squared distances from it.
Tensor threshold_of(const Tensor& mean, const Tensor& squares, const Tensor& count) {
  return mean - ((1 - squares) / count).clamp_min(0.0).sqrt();
}

// Peters 2019 algorithm 2. The largest becomes 0, so that the support lies in (−1, 0]; what lies below can't be in it, whatever it is.
Tensor solve_entmax15(const Tensor& scores, double) {
  const Tensor z = ((scores - scores.amax(-1, true)) / 2).clamp_min(-2.0);                       // [B, H, Lq, Lk]
  const Tensor sorted = std::get<0>(z.sort(-1, /*descending=*/true));
  const Tensor rank = at::arange(1, z.size(-1) + 1, z.options());                                // [Lk]
  const Tensor means = sorted.cumsum(-1) / rank, squares = sorted.square().cumsum(-1) - rank * means.square();
  const Tensor size = (threshold_of(means, squares, rank) <= sorted).sum(-1, true).clamp_min(1); // [B, H, Lq, 1]
  // once more over the support alone, the squares of differences instead of the difference of squares
  const Tensor outside = z < sorted.gather(-1, size - 1), count = outside.logical_not().sum(-1, true);
  const Tensor mean = z.masked_fill(outside, 0.0).sum(-1, true) / count;
  const Tensor spread = (z - mean).square().masked_fill(outside, 0.0).sum(-1, true);
  return (z - threshold_of(mean, spread, count)).clamp_min(0.0).square();
}

}  // namespace

Tensor entmax15(const Tensor& scores, const std::optional<Tensor>& keep) {
  return entmax_weights("attend::addressing::entmax15", scores, keep, 1.5, solve_entmax15);
}

}  // namespace attend::addressing
