#include "attend/addressing/scores/cosine.h"

#include <cmath>

#include "attend/addressing/scores/dot.h"
#include "attend/core/shapes.h"

namespace attend::addressing {
namespace {

// x / |x|; 0 where x is 0.
Tensor direction(const Tensor& x) {
  if (x.size(-1) == 0) return x;
  // a positive factor changes no direction, so that the largest element may be taken for a constant
  const Tensor largest = x.detach().abs().amax(-1, /*keepdim=*/true);                            // [B, H, L, 1]
  const Tensor zero = largest == 0;
  const Tensor near_one = x / largest.masked_fill(zero, 1.0);                                    // [B, H, L, D]
  const Tensor squared = near_one.square().sum(-1, /*keepdim=*/true).masked_fill(zero, 1.0);     // [B, H, L, 1]
  return near_one * squared.rsqrt().masked_fill(zero, 0.0);                                      // [B, H, L, D]
}

}  // namespace

Tensor cosine_score(const Tensor& query, const Tensor& key, double scale, const char* where) {
  check_shape(where, "query", query, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"Hkv"}, {"Lk"}, {"Dk", query.size(3)}});
  if (!std::isfinite(scale)) throw InvalidArgument(format("{}: expected a finite scale, got {}", where, scale));
  return dot_score(direction(query), direction(key), scale, where);                              // [B, Hq, Lq, Lk]
}

DotForm cosine_form(double scale) {
  if (!std::isfinite(scale)) throw InvalidArgument(format("attend::addressing::cosine_form: expected a finite scale, got {}", scale));
  return {scale, [](const Tensor& query, const Tensor& key) { return std::pair(direction(query), direction(key)); }};
}

}  // namespace attend::addressing
