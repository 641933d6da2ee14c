#include "kernels/dot_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/dot_product.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

template <class T>
using Vectors = hn::ScalableTag<T>;

// Query rows of a strip, vectors of keys of a panel, and vectors of values at a time: with 6 rows by 4 (or 2) vectors all sums and what they
// are made from stay in the 32 (or 16) registers.
constexpr std::int64_t strip_rows = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
constexpr std::int64_t panel_vectors = 4;
#else
constexpr std::int64_t panel_vectors = 2;
#endif
constexpr std::int64_t block_panels = 4;  // of keys: a strip's scores fit into the first cache, the block's keys and values into the second

template <class T>
HWY_INLINE std::int64_t lanes_of() {
  return static_cast<std::int64_t>(hn::Lanes(Vectors<T>()));
}
template <class T>
HWY_INLINE std::int64_t panel_keys() {
  return panel_vectors * lanes_of<T>();
}
HWY_INLINE std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

// 2^t for t ≤ 0 (NaN stays NaN): t = n + f with a polynomial for 2^f, |f| ≤ ½, that is right to 5e-9.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr, class V>
HWY_INLINE V power_of_two(D d, V t) {
  const V bounded = hn::IfThenElse(hn::Lt(t, hn::Set(d, -126.0f)), hn::Set(d, -126.0f), t);
  const V n = hn::Round(bounded), f = hn::Sub(bounded, n);
  V p = hn::Set(d, 1.5453162938e-4f);
  p = hn::MulAdd(p, f, hn::Set(d, 1.3390863647e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.6180825573e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.5503571142e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.4022650761e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.9314718803e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const hn::RebindToSigned<D> whole;
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(whole, n));
  return hn::IfThenElse(hn::Eq(t, t), hn::BitCast(d, hn::Add(hn::BitCast(whole, p), exponent)), t);
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr, class V>
HWY_INLINE V power_of_two(D d, V t) {
  return bounded_exp(d, hn::Mul(t, hn::Set(d, 0.69314718055994530942)));
}

template <class T>
std::int64_t packed_keys_count(const DotProductSizes& sizes) {
  return rounded_up(sizes.keys, panel_keys<T>()) * sizes.key_width;
}
template <class T>
std::int64_t padded_value_width(const DotProductSizes& sizes) {
  return rounded_up(sizes.value_width, lanes_of<T>());
}

// [panel][Dk][keys of a panel]; 0 behind the last key.
template <class T>
void pack_panels(const DotProductSizes& sizes, const T* key, std::int64_t stride, T* packed) {
  const std::int64_t panel = panel_keys<T>(), width = sizes.key_width;
  for (std::int64_t first = 0; first < sizes.keys; first += panel, packed += panel * width) {
    const std::int64_t count = std::min(panel, sizes.keys - first);
    if (count < panel) std::fill(packed, packed + panel * width, T(0));
    for (std::int64_t j = 0; j < count; ++j) {
      const T* row = key + (first + j) * stride;
      for (std::int64_t c = 0; c < width; ++c) packed[c * panel + j] = row[c];
    }
  }
}

// Scores of a strip's rows with the keys of one panel.
template <class T>
HWY_INLINE void score_panel(const T* query, std::int64_t width, const T* panel, T* scores, std::int64_t stride) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  hn::Vec<Vectors<T>> sums[strip_rows][panel_vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  for (std::int64_t c = 0; c < width; ++c, panel += panel_vectors * lanes) {
    hn::Vec<Vectors<T>> keys[panel_vectors];
    for (std::int64_t v = 0; v < panel_vectors; ++v) keys[v] = hn::LoadU(d, panel + v * lanes);
    for (std::int64_t r = 0; r < strip_rows; ++r) {
      const auto q = hn::Set(d, query[r * width + c]);
      for (std::int64_t v = 0; v < panel_vectors; ++v) sums[r][v] = hn::MulAdd(q, keys[v], sums[r][v]);
    }
  }
  for (std::int64_t r = 0; r < strip_rows; ++r)
    for (std::int64_t v = 0; v < panel_vectors; ++v) hn::StoreU(sums[r][v], d, scores + r * stride + v * lanes);
}

// context += weights · values, for a strip's rows and `count` vectors of the values' width.
template <std::int64_t count, class T>
HWY_INLINE void add_values(const T* weights, std::int64_t weight_stride, std::int64_t keys, const T* value, std::int64_t value_stride, T* context,
                           std::int64_t context_stride) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  hn::Vec<Vectors<T>> sums[strip_rows][count];
  for (std::int64_t r = 0; r < strip_rows; ++r)
    for (std::int64_t v = 0; v < count; ++v) sums[r][v] = hn::LoadU(d, context + r * context_stride + v * lanes);
  for (std::int64_t j = 0; j < keys; ++j) {
    hn::Vec<Vectors<T>> values[count];
    for (std::int64_t v = 0; v < count; ++v) values[v] = hn::LoadU(d, value + j * value_stride + v * lanes);
    for (std::int64_t r = 0; r < strip_rows; ++r) {
      const auto w = hn::Set(d, weights[r * weight_stride + j]);
      for (std::int64_t v = 0; v < count; ++v) sums[r][v] = hn::MulAdd(w, values[v], sums[r][v]);
    }
  }
  for (std::int64_t r = 0; r < strip_rows; ++r)
    for (std::int64_t v = 0; v < count; ++v) hn::StoreU(sums[r][v], d, context + r * context_stride + v * lanes);
}

template <class T>
HWY_INLINE void add_all_values(const T* weights, std::int64_t weight_stride, std::int64_t keys, const T* value, std::int64_t value_stride, T* context,
                               std::int64_t width) {
  const std::int64_t lanes = lanes_of<T>();
  std::int64_t c = 0;
  for (; c + panel_vectors * lanes <= width; c += panel_vectors * lanes)
    add_values<panel_vectors>(weights, weight_stride, keys, value + c, value_stride, context + c, width);
  for (; c < width; c += lanes) add_values<1>(weights, weight_stride, keys, value + c, value_stride, context + c, width);
}

// What the queries of a block have summed up so far, in units of log 2.
template <class T>
struct Running {
  T* largest;  // [rows]: −∞ where nothing was seen
  T* sum;      // [rows]: Σ 2^(s − largest)
  T* context;  // [rows, width]
  std::int64_t width;
};

// One row's scores of a block of keys become weights relative to its new largest score; sum and context so far are corrected.
template <class T>
HWY_INLINE void weigh_row(T* scores, std::int64_t padded_keys, std::int64_t row, const Running<T>& running) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const T before = running.largest[row];
  auto largest_of = hn::Set(d, before);
  for (std::int64_t j = 0; j < padded_keys; j += lanes) largest_of = hn::Max(largest_of, hn::LoadU(d, scores + j));
  const T largest = hn::GetLane(hn::MaxOfLanes(d, largest_of));
  if (largest == nothing) {
    std::fill(scores, scores + padded_keys, T(0));
    return;
  }
  const auto shift = hn::Set(d, largest), lowest = hn::Set(d, nothing);
  auto sum = hn::Zero(d);
  for (std::int64_t j = 0; j < padded_keys; j += lanes) {
    const auto score = hn::LoadU(d, scores + j);
    const auto weight = hn::IfThenZeroElse(hn::Eq(score, lowest), power_of_two(d, hn::Sub(score, shift)));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + j);
  }
  T kept = running.sum[row];
  if (largest != before) {
    const T correction = before == nothing ? T(0) : std::exp2(before - largest);
    kept *= correction;
    T* const context = running.context + row * running.width;
    for (std::int64_t c = 0; c < running.width; c += lanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, context + c), hn::Set(d, correction)), d, context + c);
    running.largest[row] = largest;
  }
  running.sum[row] = kept + hn::GetLane(hn::SumOfLanes(d, sum));
}

// Which of a block's keys its queries may see.
enum class Sight { none, some, all };

template <class T>
HWY_INLINE Sight sight_of(const DotProductBlock<T>& block, std::int64_t first_row, std::int64_t rows, std::int64_t first_key, std::int64_t keys) {
  if (block.keep == nullptr) return Sight::all;
  bool any = false, all = true;
  const std::int64_t different = block.keep_stride == 0 ? 1 : rows;
  for (std::int64_t r = 0; r < different; ++r) {
    const bool* row = block.keep + (first_row + r) * block.keep_stride + first_key;
    any = any || std::memchr(row, 1, static_cast<std::size_t>(keys)) != nullptr;
    all = all && std::memchr(row, 0, static_cast<std::size_t>(keys)) == nullptr;
    if (any && !all) return Sight::some;
  }
  return any ? Sight::all : Sight::none;
}

// Soft cap, bias and mask on one row's scores, which come in units of `soft_cap` where there is one, else of log 2.
template <class T>
HWY_INLINE void finish_scores(const DotProductBlock<T>& block, Sight sight, std::int64_t row, std::int64_t first_key, std::int64_t keys, T* scores) {
  constexpr double log2_e = 1.4426950408889634074;
  if (block.soft_cap > 0)
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      const auto cap = hn::Set(d, static_cast<T>(block.soft_cap * log2_e));
      hn::StoreU(hn::Mul(cap, hyperbolic_tangent(d, hn::LoadU(d, scores + j))), d, scores + j);
    });
  if (block.bias != nullptr) {
    const T* bias = block.bias + row * block.bias_stride + first_key;
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, bias + j), hn::Set(d, static_cast<T>(log2_e)), hn::LoadU(d, scores + j)), d, scores + j);
    });
  }
  if (sight == Sight::some) {
    const bool* keep = block.keep + row * block.keep_stride + first_key;
    for (std::int64_t j = 0; j < keys; ++j) scores[j] = keep[j] ? scores[j] : -std::numeric_limits<T>::infinity();
  }
}

template <class T>
struct Scratch {
  T *query, *scores;
  Running<T> running;
};

template <class T>
std::int64_t scratch_count(const DotProductSizes& sizes) {
  return dot_product_block_queries * (sizes.key_width + padded_value_width<T>(sizes) + 2) + strip_rows * block_panels * panel_keys<T>();
}

template <class T>
HWY_INLINE Scratch<T> scratch_of(const DotProductSizes& sizes, T* memory) {
  constexpr std::int64_t rows = dot_product_block_queries;
  const std::int64_t width = padded_value_width<T>(sizes);
  T* const context = memory + strip_rows * block_panels * panel_keys<T>();
  T* const query = context + rows * width;
  T* const largest = query + rows * sizes.key_width;
  return {query, memory, {largest, largest + rows, context, width}};
}

// Scaled copies of the block's queries, 0 behind the last one; nothing is seen yet.
template <class T>
HWY_INLINE void begin(const DotProductSizes& sizes, const DotProductBlock<T>& block, const Scratch<T>& scratch, std::int64_t padded_rows) {
  constexpr double log2_e = 1.4426950408889634074;
  const T scale = static_cast<T>(block.soft_cap > 0 ? block.scale / block.soft_cap : block.scale * log2_e);
  for (std::int64_t r = 0; r < padded_rows; ++r)
    for (std::int64_t c = 0; c < sizes.key_width; ++c)
      scratch.query[r * sizes.key_width + c] = r < block.queries ? block.query[r * block.query_stride + c] * scale : T(0);
  const Running<T>& running = scratch.running;
  std::fill(running.largest, running.largest + padded_rows, -std::numeric_limits<T>::infinity());
  std::fill(running.sum, running.sum + padded_rows, T(0));
  std::fill(running.context, running.context + padded_rows * running.width, T(0));
}

template <class T>
void forward_block(const DotProductSizes& sizes, const DotProductBlock<T>& block) {
  const Scratch<T> scratch = scratch_of<T>(sizes, block.scratch);
  const Running<T>& running = scratch.running;
  const std::int64_t panel = panel_keys<T>(), most_keys = block_panels * panel, padded_rows = rounded_up(block.queries, strip_rows);
  begin(sizes, block, scratch, padded_rows);
  const bool plain = block.soft_cap == 0 && block.bias == nullptr;
  for (std::int64_t first_key = 0; first_key < sizes.keys; first_key += most_keys) {
    const std::int64_t keys = std::min(most_keys, sizes.keys - first_key), padded_keys = rounded_up(keys, panel);
    for (std::int64_t row = 0; row < block.queries; row += strip_rows) {
      const std::int64_t rows = std::min(strip_rows, block.queries - row);
      const Sight sight = sight_of(block, row, rows, first_key, keys);
      if (sight == Sight::none) continue;
      for (std::int64_t j = 0; j < keys; j += panel)
        score_panel(scratch.query + row * sizes.key_width, sizes.key_width, block.packed_keys + (first_key + j) * sizes.key_width, scratch.scores + j,
                    most_keys);
      for (std::int64_t r = 0; r < strip_rows; ++r) {
        T* const scores = scratch.scores + r * most_keys;
        if (r < rows && (!plain || sight == Sight::some)) finish_scores(block, sight, row + r, first_key, keys, scores);
        std::fill(scores + keys, scores + padded_keys, -std::numeric_limits<T>::infinity());
        weigh_row(scores, padded_keys, row + r, running);
      }
      add_all_values(scratch.scores, most_keys, keys, block.value + first_key * block.value_stride, block.value_stride,
                     running.context + row * running.width, running.width);
    }
  }
  for (std::int64_t r = 0; r < block.queries; ++r) {
    const T scale = running.sum[r] == 0 ? T(0) : 1 / running.sum[r];
    for (std::int64_t c = 0; c < sizes.value_width; ++c) block.context[r * block.context_stride + c] = running.context[r * running.width + c] * scale;
  }
}

std::int64_t packed_keys_float(const DotProductSizes& sizes) { return packed_keys_count<float>(sizes); }
std::int64_t packed_keys_double(const DotProductSizes& sizes) { return packed_keys_count<double>(sizes); }
std::int64_t value_width_float(const DotProductSizes& sizes) { return padded_value_width<float>(sizes); }
std::int64_t value_width_double(const DotProductSizes& sizes) { return padded_value_width<double>(sizes); }
std::int64_t scratch_float(const DotProductSizes& sizes) { return scratch_count<float>(sizes); }
std::int64_t scratch_double(const DotProductSizes& sizes) { return scratch_count<double>(sizes); }
void pack_float(const DotProductSizes& sizes, const float* key, std::int64_t stride, float* packed) { pack_panels(sizes, key, stride, packed); }
void pack_double(const DotProductSizes& sizes, const double* key, std::int64_t stride, double* packed) { pack_panels(sizes, key, stride, packed); }
void dot_forward_float(const DotProductSizes& sizes, const DotProductBlock<float>& block) { forward_block(sizes, block); }
void dot_forward_double(const DotProductSizes& sizes, const DotProductBlock<double>& block) { forward_block(sizes, block); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(packed_keys_float);
HWY_EXPORT(packed_keys_double);
HWY_EXPORT(value_width_float);
HWY_EXPORT(value_width_double);
HWY_EXPORT(scratch_float);
HWY_EXPORT(scratch_double);
HWY_EXPORT(pack_float);
HWY_EXPORT(pack_double);
HWY_EXPORT(dot_forward_float);
HWY_EXPORT(dot_forward_double);

namespace {
template <class T>
std::int64_t packed_value_width(const DotProductSizes& sizes) {
  if constexpr (sizeof(T) == 4) return HWY_DYNAMIC_DISPATCH(value_width_float)(sizes);
  else return HWY_DYNAMIC_DISPATCH(value_width_double)(sizes);
}
}  // namespace

template <>
std::int64_t packed_keys_size<float>(const DotProductSizes& sizes) { return HWY_DYNAMIC_DISPATCH(packed_keys_float)(sizes); }
template <>
std::int64_t packed_keys_size<double>(const DotProductSizes& sizes) { return HWY_DYNAMIC_DISPATCH(packed_keys_double)(sizes); }
template <>
std::int64_t dot_product_scratch_size<float>(const DotProductSizes& sizes) { return HWY_DYNAMIC_DISPATCH(scratch_float)(sizes); }
template <>
std::int64_t dot_product_scratch_size<double>(const DotProductSizes& sizes) { return HWY_DYNAMIC_DISPATCH(scratch_double)(sizes); }

template <class T>
std::int64_t packed_values_size(const DotProductSizes& sizes) {
  return sizes.keys * packed_value_width<T>(sizes);
}
template std::int64_t packed_values_size<float>(const DotProductSizes&);
template std::int64_t packed_values_size<double>(const DotProductSizes&);

template <class T>
bool packed_values_needed(const DotProductSizes& sizes) {
  return packed_value_width<T>(sizes) != sizes.value_width;
}
template bool packed_values_needed<float>(const DotProductSizes&);
template bool packed_values_needed<double>(const DotProductSizes&);

template <class T>
void pack_values(const DotProductSizes& sizes, const T* value, std::int64_t stride, T* packed) {
  const std::int64_t width = packed_value_width<T>(sizes);
  for (std::int64_t j = 0; j < sizes.keys; ++j) {
    std::copy(value + j * stride, value + j * stride + sizes.value_width, packed + j * width);
    std::fill(packed + j * width + sizes.value_width, packed + (j + 1) * width, T(0));
  }
}
template void pack_values<float>(const DotProductSizes&, const float*, std::int64_t, float*);
template void pack_values<double>(const DotProductSizes&, const double*, std::int64_t, double*);

void pack_keys(const DotProductSizes& sizes, const float* key, std::int64_t stride, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_float)(sizes, key, stride, packed);
}
void pack_keys(const DotProductSizes& sizes, const double* key, std::int64_t stride, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_double)(sizes, key, stride, packed);
}
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<float>& block) { HWY_DYNAMIC_DISPATCH(dot_forward_float)(sizes, block); }
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<double>& block) { HWY_DYNAMIC_DISPATCH(dot_forward_double)(sizes, block); }

}  // namespace attend::kernels
#endif
