#include "attend/addressing/scores/general.h"

#include "attend/addressing/scores/dot.h"
#include "attend/core/shapes.h"

namespace attend::addressing {

Tensor general_score(const Tensor& query, const Tensor& key, const Tensor& weight) {
  constexpr auto where = "attend::addressing::general_score";
  check_shape(where, "query", query, {{"B"}, {"H"}, {"Lq"}, {"Dq"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"H", query.size(1)}, {"Lk"}, {"Dk"}});
  check_shape(where, "weight", weight, {{"Dq", query.size(3)}, {"Dk", key.size(3)}});
  // the query is projected, not the keys: there are fewer of them in a decoding step
  return dot_score(at::matmul(query, weight), key, 1.0, where);                                  // [B, H, Lq, Lk]
}

}  // namespace attend::addressing
