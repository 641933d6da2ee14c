#include "attend/addressing/scores/dot.h"

#include "attend/core/shapes.h"

namespace attend::addressing {

Tensor repeat_heads(const Tensor& tensor, std::int64_t query_heads, const char* where) {
  const std::int64_t heads = tensor.size(1);
  check_grouped_heads(where, query_heads, heads);
  return heads == query_heads ? tensor : tensor.repeat_interleave(query_heads / heads, 1);
}

Tensor dot_score(const Tensor& query, const Tensor& key, double scale, const char* where) {
  check_shape(where, "query", query, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"Hkv"}, {"Lk"}, {"Dk", query.size(3)}});
  const Tensor scaled = scale == 1.0 ? query : query * scale;                                    // [B, Hq, Lq, Dk]
  return at::matmul(scaled, repeat_heads(key, query.size(1), where).transpose(2, 3));                   // [B, Hq, Lq, Lk]
}

}  // namespace attend::addressing
