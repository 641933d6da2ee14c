#include "addressing/fused_step.h"

#include <algorithm>
#include <atomic>

#include "addressing/dot_product_input.h"
#include "core/fused_operation.h"
#include "kernels/dot_product_step.h"

namespace attend::addressing {
namespace {

constexpr std::int64_t part_keys = kernels::dot_product_part_keys;
static_assert(most_step_queries == kernels::dot_product_step_queries);

kernels::Storage storage_of(const Tensor& keys) {
  if (keys.scalar_type() == at::kBFloat16) return kernels::Storage::bfloat16;
  return keys.scalar_type() == at::kHalf ? kernels::Storage::float16 : kernels::Storage::same;
}

// Rows of numbers of any type: where they begin.
struct StoredRows {
  const char* data;
  std::int64_t batch, head, row, size;
  explicit StoredRows(const Tensor& tensor)
      : data(static_cast<const char*>(tensor.data_ptr())), batch(tensor.stride(0)), head(tensor.stride(1)), row(tensor.stride(2)), size(tensor.element_size()) {}
  const void* at(std::int64_t b, std::int64_t h) const { return data + (b * batch + h * head) * size; }
};

// What the parts of all key heads add up: [B · Hkv, parts, queries of a group (, Dv)].
template <class T>
struct Parts {
  std::int64_t count, queries, width;
  Tensor largest, sums, contexts;
  Parts(const DotProductInput& input, std::int64_t of_head)
      : count((input.keys() + part_keys - 1) / part_keys), queries(of_head), width(input.value.size(3)) {
    const std::int64_t heads = input.batch() * input.key_heads();
    largest = at::empty({heads, count, queries}, input.query.options());
    sums = at::empty_like(largest);
    contexts = at::empty({heads, count, queries, width}, input.query.options());
  }
  T* largest_of(std::int64_t head, std::int64_t part) { return largest.data_ptr<T>() + (head * count + part) * queries; }
  T* sums_of(std::int64_t head, std::int64_t part) { return sums.data_ptr<T>() + (head * count + part) * queries; }
  T* contexts_of(std::int64_t head, std::int64_t part) { return contexts.data_ptr<T>() + (head * count + part) * queries * width; }
};

template <class T>
std::optional<Tensor> step(const DotProductInput& input) {
  const std::int64_t group = input.group(), Lq = input.queries(), heads = input.batch() * input.key_heads();
  Parts<T> parts(input, group * Lq);
  const kernels::DotProductSizes sizes{input.keys(), input.key.size(3), input.value.size(3)};
  const Rows<const T> query(input.query);
  const StoredRows key(input.key), value(input.value);
  const SeenRows<T> seen(input);
  const kernels::DotProductForm form = form_of(input.options);
  std::atomic<bool> finite = true;
  in_parallel(heads * parts.count, [&](std::int64_t task) {
    const std::int64_t head = task / parts.count, p = task % parts.count, b = head / input.key_heads(), key_head = head % input.key_heads();
    const T* queries[most_step_queries];
    kernels::QueryRow<T> rows[most_step_queries];
    for (std::int64_t q = 0; q < parts.queries; ++q) {
      queries[q] = query.at(b, key_head * group + q / Lq, q % Lq);
      if (!seen.everything()) rows[q] = seen.row(b, key_head * group + q / Lq, q % Lq);
    }
    kernels::DotProductPart<T> part;
    part.queries = parts.queries, part.query = queries;
    part.storage = storage_of(input.key);
    part.key = key.at(b, key_head), part.key_stride = key.row, part.value = value.at(b, key_head), part.value_stride = value.row;
    part.first_key = p * part_keys, part.keys = std::min(part_keys, sizes.keys - part.first_key);
    part.form = form;
    part.rows = seen.everything() ? nullptr : rows;
    part.largest = parts.largest_of(head, p), part.sums = parts.sums_of(head, p), part.contexts = parts.contexts_of(head, p);
    part.scratch = thread_scratch<T>(kernels::dot_product_part_scratch);
    if (!kernels::dot_product_part(sizes, part)) finite = false;
  }, 4 * std::min(part_keys, sizes.keys) * (sizes.key_width + sizes.value_width) * parts.queries);
  Tensor context = at::empty({input.batch(), input.heads(), Lq, sizes.value_width}, input.query.options());
  for_rows(heads * parts.queries, parts.count * sizes.value_width, [&](std::int64_t row) {
    const std::int64_t head = row / parts.queries, q = row % parts.queries;  // rows of a head's group lie one after another in the context too
    if (!kernels::merge_parts(parts.count, parts.queries, sizes.value_width, parts.largest_of(head, 0) + q, parts.sums_of(head, 0) + q,
                              parts.contexts_of(head, 0) + q * sizes.value_width, context.data_ptr<T>() + row * sizes.value_width))
      finite = false;
  });
  return finite ? std::optional(context) : std::nullopt;
}

}  // namespace

bool is_step(const Tensor& query, const Tensor& key) { return query.size(2) * (query.size(1) / std::max<std::int64_t>(1, key.size(1))) <= most_step_queries; }

std::optional<Tensor> fused_step(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Spans& seen, const std::optional<Tensor>& factors,
                                 const FusedDotProductOptions& options) {
  if (query.size(0) * query.size(1) * query.size(2) * key.size(2) * value.size(3) == 0)
    return at::zeros({query.size(0), query.size(1), query.size(2), value.size(3)}, query.options());
  const DotProductInput input = dot_product_input(query, key, value, seen, factors, options);
  return query.scalar_type() == at::kDouble ? step<double>(input) : step<float>(input);
}

}  // namespace attend::addressing
