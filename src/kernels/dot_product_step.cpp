#include "kernels/dot_product_step.h"

#include <hwy/cache_control.h>

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/dot_product_step.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/dot_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

// Numbers as they are stored, as vectors of T.
template <class T>
struct SameStorage {
  using Number = T;
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* from) {
    return hn::LoadU(d, from);
  }
};
struct BrainStorage {
  using Number = std::uint16_t;
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* from) {
    const hn::Rebind<std::uint16_t, D> stored;
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(stored, from))));
  }
};
struct HalfStorage {
  using Number = std::uint16_t;
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* from) {
    const hn::Rebind<std::uint16_t, D> stored;
    const hn::Rebind<hwy::float16_t, D> half;
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(stored, from)));
  }
};

// What lies that many bytes further on is asked for: rows come from memory, and the processor doesn't look that far.
constexpr std::int64_t bytes_ahead = 8192;
template <class N>
HWY_INLINE void ask_ahead(const N* row, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(N);
  for (std::int64_t i = 0; i < count; i += line) hwy::Prefetch(row + bytes_ahead / static_cast<std::int64_t>(sizeof(N)) + i);
}

// The sums of as many vectors as 16 bytes hold numbers, side by side, in fewer steps than one by one.
template <class T>
HWY_INLINE void sums_of_lanes(const hn::Vec<Vectors<T>>* vectors, T* HWY_RESTRICT out) {
  const Vectors<T> d;
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t k = 0; k < 16 / sizeof(T); ++k) out[k] = hn::GetLane(vectors[k]);
  (void)d;
#else
  const hn::FixedTag<T, 16 / sizeof(T)> block;
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  auto sums = hn::Add(hn::InterleaveLower(d, vectors[0], vectors[1]), hn::InterleaveUpper(d, vectors[0], vectors[1]));
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<double, Vectors<T>> pairs;
    const auto first = hn::BitCast(pairs, sums);
    const auto second = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, vectors[2], vectors[3]), hn::InterleaveUpper(d, vectors[2], vectors[3])));
    sums = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, first, second)), hn::BitCast(d, hn::InterleaveUpper(pairs, first, second)));
  }
  hn::Store(sums, d, lanes);  // each 16 bytes have a part of every sum
  auto all = hn::Load(block, lanes);
  for (std::size_t i = hn::Lanes(block); i < hn::Lanes(d); i += hn::Lanes(block)) all = hn::Add(all, hn::Load(block, lanes + i));
  hn::StoreU(all, block, out);
#endif
}

// Products of a query with `count` keys: 1, or as many as 16 bytes hold numbers.
template <class S, std::int64_t count, class T>
HWY_INLINE void score_keys(const T* HWY_RESTRICT query, const typename S::Number* HWY_RESTRICT key, std::int64_t stride, std::int64_t width, T scale, T* scores) {
  const Vectors<T> d;
  const hn::CappedTag<T, 1> one;
  const std::int64_t lanes = lanes_of<T>();
  hn::Vec<Vectors<T>> sums[count];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + lanes <= width; c += lanes) {
    const auto q = hn::LoadU(d, query + c);
    for (std::int64_t k = 0; k < count; ++k) sums[k] = hn::MulAdd(q, S::load(d, key + k * stride + c), sums[k]);
  }
  if constexpr (count == 1)
    scores[0] = hn::GetLane(hn::SumOfLanes(d, sums[0]));
  else
    sums_of_lanes<T>(sums, scores);
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t rest = c; rest < width; ++rest) scores[k] += query[rest] * hn::GetLane(S::load(one, key + k * stride + rest));
    scores[k] *= scale;
  }
}

template <class S, class T>
HWY_INLINE void score_part(const DotProductSizes& sizes, const DotProductPart<T>& part, const Sight& sight, T* scores) {
  const auto* const key = static_cast<const typename S::Number*>(part.key);
  const T scale = static_cast<T>(part.form.soft_cap > 0 ? part.form.scale / part.form.soft_cap : part.form.scale * log2_e);
  constexpr std::int64_t at_once = 16 / sizeof(T);
  for (std::int64_t j = sight.begin; j < sight.end;) {
    const bool several = j + at_once <= sight.end;
    if (several)
      for (std::int64_t k = 0; k < at_once; ++k) ask_ahead(key + (j + k) * part.key_stride, sizes.key_width);
    for (std::int64_t q = 0; q < part.queries; ++q) {
      T* const out = scores + q * dot_product_part_keys + j - sight.begin;
      if (several)
        score_keys<S, at_once>(part.query[q], key + j * part.key_stride, part.key_stride, sizes.key_width, scale, out);
      else
        score_keys<S, 1>(part.query[q], key + j * part.key_stride, part.key_stride, sizes.key_width, scale, out);
    }
    j += several ? at_once : 1;
  }
}

// context_q += Σ_j weight_qj · value_j for `queries` of them and `count` vectors.
template <class S, std::int64_t queries, std::int64_t count, class D, class T>
HWY_INLINE void add_values(D d, const T* HWY_RESTRICT weights, std::int64_t keys, const typename S::Number* HWY_RESTRICT value, std::int64_t stride, T* HWY_RESTRICT contexts,
                           std::int64_t width) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[queries][count];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  for (std::int64_t j = 0; j < keys; ++j, value += stride) {
    hn::Vec<D> row[count];
    ask_ahead(value, count * lanes);
    for (std::int64_t v = 0; v < count; ++v) row[v] = S::load(d, value + v * lanes);
    for (std::int64_t q = 0; q < queries; ++q) {
      const auto weight = hn::Set(d, weights[q * dot_product_part_keys + j]);
      for (std::int64_t v = 0; v < count; ++v) sums[q][v] = hn::MulAdd(weight, row[v], sums[q][v]);
    }
  }
  for (std::int64_t q = 0; q < queries; ++q)
    for (std::int64_t v = 0; v < count; ++v) hn::StoreU(sums[q][v], d, contexts + q * width + v * lanes);
}

template <class S, std::int64_t queries, class T>
HWY_INLINE void add_all_values(const T* weights, std::int64_t keys, const typename S::Number* value, std::int64_t stride, T* contexts, std::int64_t width) {
  constexpr std::int64_t at_once = 4;
  const Vectors<T> d;
  const hn::CappedTag<T, 1> one;
  const std::int64_t lanes = lanes_of<T>();
  std::int64_t c = 0;
  for (; c + at_once * lanes <= width; c += at_once * lanes) add_values<S, queries, at_once>(d, weights, keys, value + c, stride, contexts + c, width);
  for (; c + lanes <= width; c += lanes) add_values<S, queries, 1>(d, weights, keys, value + c, stride, contexts + c, width);
  for (; c < width; ++c) add_values<S, queries, 1>(one, weights, keys, value + c, stride, contexts + c, width);
}

// Whether the scores of the keys that a row sees are finite.
template <class T>
HWY_INLINE bool seen_are_finite(const QueryRow<T>* row, const Sight& sight, const T* scores) {
  const std::int64_t first = row == nullptr ? sight.begin : std::max(sight.begin, row->first_key), end = row == nullptr ? sight.end : std::min(sight.end, row->end_key);
  if (row == nullptr || row->keep == nullptr) {
    const Vectors<T> d;
    const std::int64_t lanes = lanes_of<T>();
    auto sums = hn::Zero(d);
    std::int64_t j = first;
    for (; j + lanes <= end; j += lanes) sums = hn::MulAdd(hn::LoadU(d, scores + j - sight.begin), hn::Zero(d), sums);
    T rest = 0;
    for (; j < end; ++j) rest += 0 * scores[j - sight.begin];
    return rest == 0 && hn::AllTrue(d, hn::Eq(sums, hn::Zero(d)));
  }
  T sum = 0;
  for (std::int64_t j = first; j < end; ++j)
    if (row->keep[j]) sum += 0 * scores[j - sight.begin];
  return sum == 0;
}

template <class S, class T>
bool part_of(const DotProductSizes& sizes, const DotProductPart<T>& part) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  std::fill(part.largest, part.largest + part.queries, -std::numeric_limits<T>::infinity());
  std::fill(part.sums, part.sums + part.queries, T(0));
  std::fill(part.contexts, part.contexts + part.queries * sizes.value_width, T(0));
  Sight sight = sight_of(part.rows, part.queries, part.first_key, part.keys);
  if (sight.nothing()) return true;
  if (part.rows != nullptr) {  // not whole panels here: what no query sees isn't read
    std::int64_t first = sight.end, end = sight.begin;
    for (std::int64_t q = 0; q < part.queries; ++q) first = std::min(first, part.rows[q].first_key), end = std::max(end, part.rows[q].end_key);
    sight.begin = std::max(sight.begin, first), sight.end = std::min(sight.end, end);
    if (sight.nothing()) return true;
  }
  const std::int64_t keys = sight.end - sight.begin, padded = rounded_up(keys, lanes);
  T* const multipliers = part.scratch + dot_product_step_queries * dot_product_part_keys;
  score_part<S>(sizes, part, sight, part.scratch);
  bool finite = true;
  for (std::int64_t q = 0; q < part.queries; ++q) {
    T* const scores = part.scratch + q * dot_product_part_keys;
    const QueryRow<T>* const row = part.rows == nullptr ? nullptr : part.rows + q;
    finite = finite && seen_are_finite(row, sight, scores);
    finish_scores(part.form, row, sight, padded, scores);
    auto most = hn::LoadU(d, scores);
    for (std::int64_t j = lanes; j < padded; j += lanes) most = hn::Max(most, hn::LoadU(d, scores + j));
    const T largest = hn::GetLane(hn::MaxOfLanes(d, most));
    if (largest == -std::numeric_limits<T>::infinity()) {
      std::fill(scores, scores + padded, T(0));
      continue;
    }
    part.largest[q] = largest;
    const T sum = weigh(scores, padded, largest);
    part.sums[q] = row == nullptr ? sum : multiply_weights(part.form, *row, sight, sum, scores, multipliers);
  }
  const auto* const value = static_cast<const typename S::Number*>(part.value) + sight.begin * part.value_stride;
  std::int64_t q = 0;
  const auto add = [&](auto count) {
    add_all_values<S, decltype(count)::value>(part.scratch + q * dot_product_part_keys, keys, value, part.value_stride, part.contexts + q * sizes.value_width,
                                              sizes.value_width);
    q += decltype(count)::value;
  };
  while (q + 4 <= part.queries) add(std::integral_constant<std::int64_t, 4>());
  while (q < part.queries) add(std::integral_constant<std::int64_t, 1>());
  return finite;
}

// T sets the pace of a few numbers only.
template <class T>
bool merge(std::int64_t parts, std::int64_t stride, std::int64_t width, const T* largest, const T* sums, const T* contexts, T* context) {
  T most = -std::numeric_limits<T>::infinity(), sum = 0;
  for (std::int64_t p = 0; p < parts; ++p) most = std::max(most, largest[p * stride]);
  std::fill(context, context + width, T(0));
  if (most == -std::numeric_limits<T>::infinity()) return true;
  for (std::int64_t p = 0; p < parts; ++p) {
    if (largest[p * stride] == -std::numeric_limits<T>::infinity()) continue;
    const T share = std::exp2(largest[p * stride] - most);
    sum += share * sums[p * stride];
    const T* const row = contexts + p * stride * width;
    for_lanes<T>(width, [&](auto d, std::int64_t c) { hn::StoreU(hn::MulAdd(hn::Set(d, share), hn::LoadU(d, row + c), hn::LoadU(d, context + c)), d, context + c); });
  }
  const T scale = sum == 0 ? T(0) : 1 / sum;
  T finite = 0 * sum;
  for (std::int64_t c = 0; c < width; ++c) finite += 0 * (context[c] *= scale);
  return finite == 0;
}

bool part_float(const DotProductSizes& sizes, const DotProductPart<float>& part) {
  switch (part.storage) {
    case Storage::same: return part_of<SameStorage<float>>(sizes, part);
    case Storage::bfloat16: return part_of<BrainStorage>(sizes, part);
    case Storage::float16: return part_of<HalfStorage>(sizes, part);
  }
  return false;
}
bool part_double(const DotProductSizes& sizes, const DotProductPart<double>& part) { return part_of<SameStorage<double>>(sizes, part); }
bool merge_float(std::int64_t parts, std::int64_t stride, std::int64_t width, const float* largest, const float* sums, const float* contexts, float* context) {
  return merge(parts, stride, width, largest, sums, contexts, context);
}
bool merge_double(std::int64_t parts, std::int64_t stride, std::int64_t width, const double* largest, const double* sums, const double* contexts, double* context) {
  return merge(parts, stride, width, largest, sums, contexts, context);
}

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(part_float);
HWY_EXPORT(part_double);
HWY_EXPORT(merge_float);
HWY_EXPORT(merge_double);

bool dot_product_part(const DotProductSizes& sizes, const DotProductPart<float>& part) { return HWY_DYNAMIC_DISPATCH(part_float)(sizes, part); }
bool dot_product_part(const DotProductSizes& sizes, const DotProductPart<double>& part) { return HWY_DYNAMIC_DISPATCH(part_double)(sizes, part); }
bool merge_parts(std::int64_t parts, std::int64_t stride, std::int64_t value_width, const float* largest, const float* sums, const float* contexts, float* context) {
  return HWY_DYNAMIC_DISPATCH(merge_float)(parts, stride, value_width, largest, sums, contexts, context);
}
bool merge_parts(std::int64_t parts, std::int64_t stride, std::int64_t value_width, const double* largest, const double* sums, const double* contexts, double* context) {
  return HWY_DYNAMIC_DISPATCH(merge_double)(parts, stride, value_width, largest, sums, contexts, context);
}

}  // namespace attend::kernels
#endif
