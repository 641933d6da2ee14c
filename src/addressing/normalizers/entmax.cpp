#include "attend/addressing/normalizers/entmax.h"

#include <cmath>

#include "addressing/normalizers/entmax_family.h"
#include "attend/core/shapes.h"

namespace attend::addressing {
namespace {

constexpr auto entmax_name = "attend::addressing::entmax";
constexpr int halvings = 54;  // of an interval that is no wider than 1: down to the last bit of a double

// Peters 2019 algorithm 1. With the largest at 0, τ lies from −1, where it alone weighs 1, to −Lk^(1 − α), where none weighs more than 1 / Lk.
Tensor solve_entmax(const Tensor& scores, double alpha) {
  const double power = 1 / (alpha - 1);
  const Tensor wide = scores.to(at::kDouble), z = (wide - wide.amax(-1, true)) * (alpha - 1);    // [B, H, Lq, Lk], ≤ 0
  const auto weights_at = [&](const Tensor& tau) { return (z - tau).clamp_min(0.0).pow(power); };
  Tensor tau = at::full_like(z.narrow(-1, 0, 1), -1.0);                                          // [B, H, Lq, 1]; the sum there is ≥ 1
  double width = 1 - std::pow(static_cast<double>(z.size(-1)), 1 - alpha);
  for (int i = 0; i < halvings; ++i) {
    width /= 2;
    const Tensor middle = tau + width;
    tau = at::where(weights_at(middle).sum(-1, true) >= 1, middle, tau);
  }
  const Tensor weights = weights_at(tau);
  return (weights / weights.sum(-1, true)).to(scores.scalar_type());
}

}  // namespace

Tensor entmax(const Tensor& scores, const std::optional<Tensor>& keep, double alpha) {
  if (!(alpha > 1 && std::isfinite(alpha)))
    throw InvalidArgument(format("{}: expected alpha above 1, got {}; what alpha = 1 stands for is softmax", entmax_name, alpha));
  return entmax_weights(entmax_name, scores, keep, alpha, solve_entmax);
}

}  // namespace attend::addressing
