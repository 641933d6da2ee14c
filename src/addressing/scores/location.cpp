#include "attend/addressing/scores/location.h"

#include "attend/core/shapes.h"

namespace attend::addressing {

Tensor location_score(const Tensor& query, std::int64_t keys, const Tensor& weight) {
  constexpr auto where = "attend::addressing::location_score";
  check_shape(where, "query", query, {{"B"}, {"H"}, {"Lq"}, {"Dq"}});
  check_shape(where, "weight", weight, {{"P"}, {"Dq", query.size(3)}});
  if (keys < 0 || keys > weight.size(0))
    throw InvalidArgument(format("{}: expected at most P = {} keys, one for each row of weight, got Lk = {}; make it with more positions",
                                 where, weight.size(0), keys));
  return at::matmul(query, weight.narrow(0, 0, keys).t());                                       // [B, H, Lq, Lk]
}

}  // namespace attend::addressing
