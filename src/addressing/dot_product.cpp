#include "attend/addressing/dot_product.h"

#include <cmath>

#include "attend/core/shapes.h"

namespace attend::addressing {

AttentionResult dot_product(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                            const DotProductOptions& options) {
  constexpr auto where = "attend::addressing::dot_product";
  check_shape(where, "query", query, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"Hkv"}, {"Lk"}, {"Dk", query.size(3)}});
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(query.size(3), 1))));
  if (!std::isfinite(scale)) throw InvalidArgument(format("{}: expected a finite scale, got {}", where, scale));
  return read(where, query, key, value, DotForm{scale}, mask, options.read);
}

}  // namespace attend::addressing
