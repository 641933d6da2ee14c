// What the fused dot-product reads take, as their kernels see it. Private.
#pragma once

#include <array>
#include <optional>

#include "addressing/fused_dot_product.h"
#include "addressing/fused_read.h"
#include "attend/core/libtorch.h"
#include "kernels/dot_product.h"

namespace attend::addressing {

constexpr std::int64_t block_queries = kernels::dot_product_block_queries, block_keys = kernels::dot_product_block_keys;

struct DotProductInput {
  Tensor query, key, value;    // rows close
  Tensor keep, bias, factors;  // expanded to [B, Hq, Lq, Lk], rows close; undefined where there is none
  Tensor spans;                // int64 [B or 1, Lq, 2]; undefined where all keys are seen
  FusedDotProductOptions options;

  std::int64_t batch() const { return query.size(0); }
  std::int64_t heads() const { return query.size(1); }
  std::int64_t key_heads() const { return key.size(1); }
  std::int64_t group() const { return query.size(1) / key.size(1); }
  std::int64_t queries() const { return query.size(2); }
  std::int64_t keys() const { return key.size(2); }
  std::int64_t query_blocks() const { return (queries() + block_queries - 1) / block_queries; }
  std::int64_t key_blocks() const { return (keys() + block_keys - 1) / block_keys; }
  bool wants_gradients() const {
    if (!at::GradMode::is_enabled()) return false;
    for (const Tensor* tensor : {&query, &key, &value, &bias, &factors})
      if (tensor->defined() && tensor->requires_grad()) return true;
    return false;
  }
};

inline DotProductInput dot_product_input(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Spans& seen, const std::optional<Tensor>& factors,
                                         const FusedDotProductOptions& options) {
  const auto of_pairs = [&](const std::optional<Tensor>& pairs) { return pairs ? expanded(*pairs, query, key.size(2)) : Tensor(); };
  return {with_close_rows(query), with_close_rows(key), with_close_rows(value), of_pairs(seen.rest.keep), of_pairs(seen.rest.bias),
          of_pairs(factors), seen.spans ? seen.spans->contiguous() : Tensor(), options};
}

inline kernels::DotProductForm form_of(const FusedDotProductOptions& options) {
  const DropoutDraw& draw = options.dropout;
  return {options.scale, options.soft_cap, options.renormalised, {draw.probability, static_cast<std::uint64_t>(draw.seed), draw.origin.key}};
}

// What queries see, row by row.
template <class T>
class SeenRows {
 public:
  explicit SeenRows(const DotProductInput& input) : origin_(input.options.dropout.origin) {
    if (input.keep.defined()) keep_ = Rows<const bool>(input.keep);
    if (input.bias.defined()) bias_ = Rows<const T>(input.bias);
    if (input.factors.defined()) factors_ = Rows<const T>(input.factors);
    if (input.spans.defined()) spans_ = SpanRows(input.spans);
    everything_ = keep_.data == nullptr && bias_.data == nullptr && factors_.data == nullptr && spans_.data == nullptr && input.options.dropout.probability == 0;
  }

  // Of `count` queries of one head, from `first` on, until this thread's next call: null where they see everything.
  const kernels::QueryRow<T>* rows(std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count) const {
    if (everything_) return nullptr;
    thread_local std::array<kernels::QueryRow<T>, block_queries> out;
    for (std::int64_t i = first; i < first + count; ++i) out[static_cast<std::size_t>(i - first)] = row(b, h, i);
    return out.data();
  }
  bool everything() const { return everything_; }

  kernels::QueryRow<T> row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    kernels::QueryRow<T> row;
    row.keep = keep_.at(b, h, i), row.bias = bias_.at(b, h, i), row.factors = factors_.at(b, h, i);
    if (spans_.data != nullptr) row.first_key = spans_.at(b, i)[0], row.end_key = spans_.at(b, i)[1];
    row.batch = static_cast<std::uint32_t>(origin_.batch + b), row.head = static_cast<std::uint32_t>(origin_.head + h);
    row.row = static_cast<std::uint32_t>(origin_.query + i);
    return row;
  }

 private:
  Rows<const bool> keep_;
  Rows<const T> bias_, factors_;
  SpanRows spans_;
  DropoutOrigin origin_;
  bool everything_ = true;
};

}  // namespace attend::addressing
