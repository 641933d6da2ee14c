#include "addressing/normalizers/visible.h"

#include <limits>

#include "attend/core/shapes.h"

namespace attend::addressing {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

void check_keep(const char* where, const Tensor& scores, const Tensor& keep) {
  bool fits = keep.defined() && keep.scalar_type() == at::kBool && keep.dim() <= scores.dim();
  for (std::int64_t d = 1; fits && d <= keep.dim(); ++d) fits = keep.size(-d) == 1 || keep.size(-d) == scores.size(-d);
  if (!fits)
    throw InvalidArgument(format("{}: expected keep, bool, that broadcasts to [B, H, Lq, Lk] = {}, got {}{}", where, shape_text(scores),
                                 keep.defined() ? std::string(at::toString(keep.scalar_type())) + " " : "", shape_text(keep)));
}

}  // namespace

Visible visible(const char* where, const Tensor& scores, const std::optional<Tensor>& keep) {
  check_shape(where, "scores", scores, {{"B"}, {"H"}, {"Lq"}, {"Lk"}});
  check_floating(where, "scores", scores);
  const bool half = scores.scalar_type() == at::kHalf || scores.scalar_type() == at::kBFloat16;
  const Tensor wide = half ? scores.to(at::kFloat) : scores;
  Tensor hidden = wide.detach() == minus_infinity;                                               // [B, H, Lq, Lk]
  if (keep) {
    check_keep(where, scores, *keep);
    hidden = hidden | keep->logical_not();
  }
  const Tensor empty = hidden.all(-1, /*keepdim=*/true);                                         // [B, H, Lq, 1]
  return {wide.masked_fill(hidden, minus_infinity).masked_fill(empty, 0.0), hidden, empty};
}

}  // namespace attend::addressing
