// Dot-product attention of a few queries on keys and values where they lie, as decoding with a key/value cache asks for it: each number is read once, so that memory
// sets the pace. The keys are cut into parts that go side by side; their results are merged in order, so that threads change nothing.
#pragma once

#include <cstdint>

#include "kernels/dot_product.h"

namespace attend::kernels {

constexpr std::int64_t dot_product_step_queries = 8;  // at most
constexpr std::int64_t dot_product_part_keys = 512;

// How keys and values are stored; they are computed with as T.
enum class Storage { same, bfloat16, float16 };

template <class T>
struct DotProductPart {
  std::int64_t queries = 0;           // 1 … dot_product_step_queries, of heads that share these keys
  const T* const* query = nullptr;    // [queries] rows [Dk]
  Storage storage = Storage::same;    // float16 and bfloat16: of T = float
  const void *key = nullptr, *value = nullptr;         // [Lk, Dk], [Lk, Dv], rows that many numbers apart
  std::int64_t key_stride = 0, value_stride = 0;
  std::int64_t first_key = 0, keys = 0;                // of this part: at most dot_product_part_keys
  DotProductForm form = {};
  const QueryRow<T>* rows = nullptr;                   // [queries]; null: all see all
  T *largest = nullptr, *sums = nullptr;               // [queries]
  T* contexts = nullptr;                               // [queries, Dv]
  T* scratch = nullptr;                                // of dot_product_part_scratch
};
constexpr std::int64_t dot_product_part_scratch = (dot_product_step_queries + 1) * dot_product_part_keys;

// What a part adds up: largest score, Σ 2^(s − largest) and Σ 2^(s − largest) · value, in units of log 2. Returns whether each score of a key in sight was finite:
// where not, or where a context comes out that isn't, keys, values or queries may hold NaN or infinity, whose rules the caller sees to.
bool dot_product_part(const DotProductSizes& sizes, const DotProductPart<float>& part);
bool dot_product_part(const DotProductSizes& sizes, const DotProductPart<double>& part);

// Context of one query from its parts, `stride` apart in largest and sums and stride · Dv in contexts; 0 where it saw nothing. Returns whether it is finite.
bool merge_parts(std::int64_t parts, std::int64_t stride, std::int64_t value_width, const float* largest, const float* sums, const float* contexts, float* context);
bool merge_parts(std::int64_t parts, std::int64_t stride, std::int64_t value_width, const double* largest, const double* sums, const double* contexts, double* context);

}  // namespace attend::kernels
