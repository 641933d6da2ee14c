#include "attend/addressing/additive.h"

#include "attend/core/shapes.h"

namespace attend::addressing {

AttentionResult additive(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& weight, const Mask& mask,
                         const ReadOptions& options) {
  constexpr auto where = "attend::addressing::additive";
  check_shape(where, "query", query, {{"B"}, {"H"}, {"Lq"}, {"A"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"H", query.size(1)}, {"Lk"}, {"A", query.size(3)}});
  check_shape(where, "weight", weight, {{"A", query.size(3)}});
  check_floating(where, "query", query);
  check_matches(where, "weight", weight, "query", query);
  return read(where, query, key, value, AdditiveForm{weight}, mask, options);
}

}  // namespace attend::addressing
