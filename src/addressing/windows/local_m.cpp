#include "attend/addressing/windows/local_m.h"

#include <cmath>

#include "attend/core/shapes.h"

namespace attend::addressing {

WindowTensors local_m_window(std::int64_t queries, std::int64_t keys, const LocalMOptions& options, const Tensor& like) {
  constexpr auto where = "attend::addressing::local_m_window";
  if (queries < 0 || keys < 0)
    throw InvalidArgument(format("{}: expected queries ≥ 0 and keys ≥ 0, got {} and {}", where, queries, keys));
  if (options.half_width < 0) throw InvalidArgument(format("{}: expected half_width ≥ 0, got {}", where, options.half_width));
  if (options.first_query < 0) throw InvalidArgument(format("{}: expected first_query ≥ 0, got {}", where, options.first_query));
  if (!(options.length_ratio > 0 && std::isfinite(options.length_ratio)))
    throw InvalidArgument(format("{}: expected a finite length_ratio > 0, got {}", where, options.length_ratio));
  const auto numbers = like.options().dtype(at::kDouble).requires_grad(false);
  const Tensor query = at::arange(queries, numbers) + static_cast<double>(options.first_query);   // [Lq]
  const Tensor centre = (query * options.length_ratio).unsqueeze(1);                             // [Lq, 1]
  const Tensor distance = (at::arange(keys, numbers) - centre).abs();                            // [Lq, Lk]
  return {(distance <= static_cast<double>(options.half_width)).unsqueeze(0).unsqueeze(0), {}};  // [1, 1, Lq, Lk]
}

}  // namespace attend::addressing
