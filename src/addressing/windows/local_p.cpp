#include "attend/addressing/windows/local_p.h"

#include "attend/core/shapes.h"

namespace attend::addressing {

Tensor local_p_centre(const Tensor& query, const Tensor& projection, const Tensor& energy, const Tensor& lengths) {
  constexpr auto where = "attend::addressing::local_p_centre";
  check_shape(where, "query", query, {{"B"}, {"H"}, {"Lq"}, {"Dq"}});
  check_shape(where, "projection", projection, {{"A"}, {"Dq", query.size(3)}});
  check_shape(where, "energy", energy, {{"A", projection.size(0)}});
  check_shape(where, "lengths", lengths, {{"B", query.size(0)}});
  check_floating(where, "query", query);
  check_matches(where, "projection", projection, "query", query);
  check_matches(where, "energy", energy, "query", query);
  const Tensor hidden = at::matmul(query, projection.t()).tanh();                                // [B, H, Lq, A]
  const Tensor share = at::matmul(hidden, energy).sigmoid();                                     // [B, H, Lq]
  return share * lengths.to(query.scalar_type()).view({-1, 1, 1});                               // [B, H, Lq]
}

WindowTensors local_p_window(const Tensor& centre, std::int64_t keys, std::int64_t half_width) {
  constexpr auto where = "attend::addressing::local_p_window";
  check_shape(where, "centre", centre, {{"B"}, {"H"}, {"Lq"}});
  check_floating(where, "centre", centre);
  if (keys < 0) throw InvalidArgument(format("{}: expected keys ≥ 0, got {}", where, keys));
  if (half_width < 1) throw InvalidArgument(format("{}: expected half_width ≥ 1, got {}", where, half_width));
  const auto W = static_cast<double>(half_width);
  const double sigma = W / 2;
  const Tensor distance = at::arange(keys, centre.options().requires_grad(false)) - centre.unsqueeze(-1);  // [B, H, Lq, Lk]
  // not "≤ W", so that NaN stays inside, where it is seen
  const Tensor keep = (distance.detach().abs() > W).logical_not();                               // [B, H, Lq, Lk]
  return {keep, (distance / sigma).square().mul(-0.5).exp()};
}

Tensor key_lengths(const Mask& mask, std::int64_t batch, std::int64_t keys, const Tensor& like) {
  Tensor lengths = at::full({batch}, keys, like.options().dtype(at::kLong).requires_grad(false));  // [B]
  for (const Mask::Part& part : mask.parts())
    if (part.kind == Mask::Part::Kind::lengths) lengths = at::minimum(lengths, part.tensor);
  return lengths;
}

}  // namespace attend::addressing
