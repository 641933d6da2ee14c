// What the fused reads of all scores share: how they reach rows of tensors, and what they drop. Private.
#pragma once

#include <cstdint>
#include <type_traits>

#include "attend/addressing/dropout.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// Of weights, before the weighted sum (semantics, rule 16).
struct DropoutDraw {
  double probability = 0;  // 0: nothing is dropped
  std::int64_t seed = 0;
  DropoutOrigin origin = {};
};

// A tensor [B, H, L, D or Lk] whose last dimension lies closely: where its rows begin.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;

  Rows() = default;
  explicit Rows(const Tensor& tensor) : data(tensor.data_ptr<std::remove_const_t<T>>()), batch(tensor.stride(0)), head(tensor.stride(1)), row(tensor.stride(2)) {}
  T* at(std::int64_t b, std::int64_t h, std::int64_t i) const { return data == nullptr ? nullptr : data + b * batch + h * head + i * row; }
};

// The span of keys of each query, of Mask::Spans: int64 [B or 1, Lq, 2], closely.
struct SpanRows {
  const std::int64_t* data = nullptr;  // null: all keys
  std::int64_t batch = 0;

  SpanRows() = default;
  explicit SpanRows(const Tensor& spans) : data(spans.data_ptr<std::int64_t>()), batch(spans.size(0) == 1 ? 0 : spans.size(1) * 2) {}
  const std::int64_t* at(std::int64_t b, std::int64_t i) const { return data + b * batch + i * 2; }
};

// Which keys spans let through: bool [B or 1, 1, Lq, Lk].
inline Tensor keep_of_spans(const Tensor& spans, std::int64_t keys) {
  const Tensor key = at::arange(keys, spans.options());                                           // [Lk]
  return ((key >= spans.select(2, 0).unsqueeze(2)) & (key < spans.select(2, 1).unsqueeze(2))).unsqueeze(1);
}

inline Tensor with_close_rows(const Tensor& tensor) { return tensor.stride(3) == 1 || tensor.size(3) < 2 ? tensor : tensor.contiguous(); }

// A mask, bias or factors as [B, Hq, Lq, Lk]: broadcast without a copy, but for one that is the same for all keys.
inline Tensor expanded(const Tensor& mask, const Tensor& query, std::int64_t keys) {
  Tensor wide = mask;
  if (mask.size(3) != keys || mask.stride(3) != 1) wide = mask.expand({mask.size(0), mask.size(1), mask.size(2), keys}).contiguous();
  return wide.expand({query.size(0), query.size(1), query.size(2), keys});
}

}  // namespace attend::addressing
