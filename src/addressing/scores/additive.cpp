#include "attend/addressing/scores/additive.h"

#include "attend/core/shapes.h"

namespace attend::addressing {

Tensor additive_score(const Tensor& query, const Tensor& key, const Tensor& weight) {
  constexpr auto where = "attend::addressing::additive_score";
  check_shape(where, "query", query, {{"B"}, {"H"}, {"Lq"}, {"A"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"H", query.size(1)}, {"Lk"}, {"A", query.size(3)}});
  check_shape(where, "weight", weight, {{"A", query.size(3)}});
  const Tensor hidden = (query.unsqueeze(3) + key.unsqueeze(2)).tanh();                          // [B, H, Lq, Lk, A]
  return at::matmul(hidden, weight);                                                             // [B, H, Lq, Lk]
}

}  // namespace attend::addressing
