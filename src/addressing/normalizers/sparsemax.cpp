#include "attend/addressing/normalizers/sparsemax.h"

#include "addressing/normalizers/entmax_family.h"

namespace attend::addressing {
namespace {

// Martins 2016 algorithm 1. The largest score becomes 0, so that sums over the support, whose scores lie within 1 of it, are exact enough.
Tensor solve_sparsemax(const Tensor& scores, double) {
  const Tensor z = scores - scores.amax(-1, true);                                               // [B, H, Lq, Lk], ≤ 0
  const Tensor sorted = std::get<0>(z.sort(-1, /*descending=*/true));
  const Tensor rank = at::arange(1, z.size(-1) + 1, z.options());                                // [Lk]
  const Tensor size = (1 + rank * sorted > sorted.cumsum(-1)).sum(-1, true).clamp_min(1);        // k(z) [B, H, Lq, 1]
  const Tensor support = z >= sorted.gather(-1, size - 1);
  const Tensor tau = (z.masked_fill(support.logical_not(), 0.0).sum(-1, true) - 1) / support.sum(-1, true);
  return (z - tau).clamp_min(0.0);
}

}  // namespace

Tensor sparsemax(const Tensor& scores, const std::optional<Tensor>& keep) {
  return entmax_weights("attend::addressing::sparsemax", scores, keep, 2.0, solve_sparsemax);
}

}  // namespace attend::addressing
