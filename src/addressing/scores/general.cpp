#include "attend/addressing/scores/general.h"

#include "attend/addressing/scores/dot.h"
#include "attend/core/shapes.h"

namespace attend::addressing {

namespace {

// What is compared: the query is projected, not the keys, since there are fewer of them in a decoding step.
Tensor projected_query(const char* where, const Tensor& query, const Tensor& key, const Tensor& weight) {
  check_shape(where, "query", query, {{"B"}, {"H"}, {"Lq"}, {"Dq"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"H", query.size(1)}, {"Lk"}, {"Dk"}});
  check_shape(where, "weight", weight, {{"Dq", query.size(3)}, {"Dk", key.size(3)}});
  return at::matmul(query, weight);                                                              // [B, H, Lq, Dk]
}

}  // namespace

Tensor general_score(const Tensor& query, const Tensor& key, const Tensor& weight) {
  constexpr auto where = "attend::addressing::general_score";
  return dot_score(projected_query(where, query, key, weight), key, 1.0, where);                 // [B, H, Lq, Lk]
}

DotForm general_form(const Tensor& weight) {
  return {1.0, [weight](const Tensor& query, const Tensor& key) {
            return std::pair(projected_query("attend::addressing::general_form", query, key, weight.to(query.scalar_type())), key);
          }};
}

}  // namespace attend::addressing
