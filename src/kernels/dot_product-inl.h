// What the dot-product kernels share, for each SIMD target: include it after <hwy/foreach_target.h>, as Highway's own -inl headers.
#if defined(ATTEND_KERNELS_DOT_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_DOT_PRODUCT_INL_H_
#undef ATTEND_KERNELS_DOT_PRODUCT_INL_H_
#else
#define ATTEND_KERNELS_DOT_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/activations-inl.h"
#include "kernels/dot_product.h"
#include "kernels/philox.h"
#include "kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

// Query rows of a strip, and vectors of keys of a panel and of values at a time.
constexpr std::int64_t strip_rows = tile_rows, panel_vectors = tile_vectors;
constexpr double log2_e = 1.4426950408889634074;

template <class T>
HWY_INLINE std::int64_t panel_keys() {
  return tile_width<T>();
}
HWY_INLINE std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

// The larger of the two, NaN where x is.
template <class D, class V>
HWY_INLINE V at_least(D d, hn::TFromD<D> least, V x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(hn::Set(d, least), x);  // of a NaN, x86 gives back the second operand
#else
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, least)), hn::Set(d, least), x);
#endif
}

// 2^t for t ≤ 0, exactly 1 for 0 and 0 for −∞ (NaN stays NaN). t = n + f with a polynomial for 2^f, |f| ≤ ½, of relative error 1.1e-7, a unit
// in the last place; below 2^−126.5 what comes out is 0.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr, class V>
HWY_INLINE V power_of_two(D d, V t) {
  const V bounded = at_least(d, -127.0f, t), shift = hn::Set(d, whole_numbers), rounded = hn::Add(bounded, shift);
  const V f = hn::Sub(bounded, hn::Sub(rounded, shift));
  V p = hn::Set(d, 1.3264727124e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 9.6715126448e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.5507337435e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.4022242085e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.9314697760e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  return times_power_of_two(d, p, rounded);
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr, class V>
HWY_INLINE V power_of_two(D d, V t) {
  const V power = bounded_exp(d, hn::Mul(t, hn::Set(d, 0.69314718055994530942)));
  return hn::IfThenZeroElse(hn::Eq(t, hn::Set(d, -std::numeric_limits<double>::infinity())), power);
}

// The rows of a strip where they lie, or copies with zeros behind the last.
template <class T>
struct Strip {
  const T* rows;
  std::int64_t stride;
};

// Rows of a strip against `count` vectors of a panel's keys. Where asked for, `largest` [strip_rows][lanes] takes up the scores.
template <std::int64_t count, bool with_largest, class T>
HWY_INLINE void score_vectors(const Strip<T>& strip, std::int64_t width, const T* HWY_RESTRICT panel, T* HWY_RESTRICT scores, std::int64_t stride,
                              T* HWY_RESTRICT largest) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  RegisterTile<strip_rows, count, T> tile;
  tile.clear();
  tile.add(Factors<T>{strip.rows, strip.stride, 1}, width, panel, count * lanes);
  tile.store(scores, stride);
  if constexpr (with_largest)
    for (std::int64_t r = 0; r < strip_rows; ++r) {
      auto most = hn::LoadU(d, largest + r * lanes);
      for (std::int64_t v = 0; v < count; ++v) most = hn::Max(most, tile.sums[r][v]);
      hn::StoreU(most, d, largest + r * lanes);
    }
}

// The same for the panel that begins at key `first` of `keys` in all: the last one may be narrower.
template <bool with_largest, class T>
HWY_INLINE void score_panel(const Strip<T>& strip, std::int64_t width, const T* panels, std::int64_t first, std::int64_t keys, T* scores, std::int64_t stride,
                            T* largest) {
  const T* const panel = panels + first * width;
  const std::int64_t vectors = (keys - first + lanes_of<T>() - 1) / lanes_of<T>();
  if (vectors >= panel_vectors) return score_vectors<panel_vectors, with_largest>(strip, width, panel, scores, stride, largest);
  if constexpr (panel_vectors > 2) {
    if (vectors == 3) return score_vectors<3, with_largest>(strip, width, panel, scores, stride, largest);
    if (vectors == 2) return score_vectors<2, with_largest>(strip, width, panel, scores, stride, largest);
  }
  score_vectors<1, with_largest>(strip, width, panel, scores, stride, largest);
}

constexpr std::int64_t prefetched_rows = 8;  // before they are read: rows lie apart, each on a line of its own

// Rows as sums of them are made: where they lie, or in columns that are as wide as a tile, of each column all rows one after another. From columns a tile
// reads straight on; from wide rows it takes a line here and there, which fall on few places of the first cache.
template <class T>
struct Terms {
  const T* rows;
  std::int64_t stride;           // from row to row: in columns their width
  std::int64_t column_rows = 0;  // how many rows a column has; 0: rows where they lie

  // Where the first row's numbers from c on are: as many as a tile takes of what is left of them.
  const T* at(std::int64_t c) const { return column_rows == 0 ? rows + c : rows + c / stride * stride * column_rows + c % stride; }
  Terms from(std::int64_t row) const { return {rows + row * stride, stride, column_rows}; }
};

template <class T>
HWY_INLINE std::int64_t column_width(std::int64_t width) {
  return std::min(panel_vectors * lanes_of<T>(), rounded_up(width, lanes_of<T>()));
}
template <class T>
HWY_INLINE std::int64_t wide_columns(std::int64_t width) {
  return rounded_up(width, std::max<std::int64_t>(1, column_width<T>(width)));
}

// Block of dot_product_block_keys rows that begins at row `first`, of `count` rows in all.
template <class T>
HWY_INLINE Terms<T> columns_of_block(const T* columns, std::int64_t first, std::int64_t count, std::int64_t width) {
  return {columns + first * wide_columns<T>(width), column_width<T>(width), std::min(dot_product_block_keys, count - first)};
}

// out_s += Σ_t factor_st · row_t, for `count` vectors of the rows' width; sums lie `out_stride` apart.
template <std::int64_t strip, std::int64_t count, class T>
HWY_INLINE void add_products(const Factors<T>& factors, std::int64_t terms, const T* HWY_RESTRICT rows, std::int64_t row_stride, T* HWY_RESTRICT out,
                             std::int64_t out_stride) {
  RegisterTile<strip, count, T> tile;
  tile.load(out, out_stride);
  for (std::int64_t s = 0; s < strip; ++s)
    for (std::int64_t v = 0; v < count; ++v) hwy::Prefetch(out + (s + strip) * out_stride + v * lanes_of<T>());  // the next strip's
  tile.template add<prefetched_rows>(factors, terms, rows, row_stride);
  tile.store(out, out_stride);
}

// The same for the rows' whole width, which the sums have too.
template <std::int64_t strip, class T>
HWY_INLINE void add_all_products(const Factors<T>& factors, std::int64_t count, const Terms<T>& terms, T* out, std::int64_t width) {
  const std::int64_t lanes = lanes_of<T>();
  std::int64_t c = 0;
  for (; c + panel_vectors * lanes <= width; c += panel_vectors * lanes)
    add_products<strip, panel_vectors>(factors, count, terms.at(c), terms.stride, out + c, width);
  for (; c < width; c += lanes) add_products<strip, 1>(factors, count, terms.at(c), terms.stride, out + c, width);
}

// The strip that begins at `row`, of `count` rows in all: what lies behind the last one is copied to `copy` [strip_rows, width].
template <class T>
HWY_INLINE Strip<T> strip_at(std::int64_t row, std::int64_t count, std::int64_t width, const T* from, std::int64_t stride, T* copy) {
  const std::int64_t rows = std::min(strip_rows, count - row);
  from += row * stride;
  if (rows == strip_rows) return {from, stride};
  for (std::int64_t r = 0; r < rows; ++r) std::copy(from + r * stride, from + r * stride + width, copy + r * width);
  std::fill(copy + rows * width, copy + strip_rows * width, T(0));
  return {copy, width};
}

// Keys begin … end − 1 of a block: whole panels, but for the last of all. `all`: whether each row of a strip sees each of them.
struct Sight {
  std::int64_t begin = 0, end = 0;
  bool all = true;
  bool nothing() const { return begin >= end; }
};

template <class T>
HWY_INLINE Sight sight_of(const QueryRow<T>* rows, std::int64_t count, std::int64_t first_key, std::int64_t keys) {
  Sight sight{first_key, first_key + keys, true};
  if (rows == nullptr) return sight;
  std::int64_t first = sight.end, end = first_key, latest_first = first_key, least_end = sight.end;
  for (std::int64_t r = 0; r < count; ++r) {
    first = std::min(first, rows[r].first_key), end = std::max(end, rows[r].end_key);
    latest_first = std::max(latest_first, rows[r].first_key), least_end = std::min(least_end, rows[r].end_key);
  }
  const std::int64_t panel = panel_keys<T>();
  if (first > first_key) sight.begin = std::min(sight.end, first_key + (first - first_key) / panel * panel);
  if (end < sight.end) sight.end = std::min(sight.end, first_key + rounded_up(std::max<std::int64_t>(0, end - first_key), panel));
  if (sight.nothing()) return sight;
  sight.all = latest_first <= sight.begin && least_end >= sight.end;
  bool any = false;
  const bool* last = nullptr;
  for (std::int64_t r = 0; r < count; ++r) {
    const bool* const keep = rows[r].keep;
    if (keep == nullptr) return sight;
    if (keep == last) continue;
    last = keep;
    const auto size = static_cast<std::size_t>(sight.end - sight.begin);
    any = any || std::memchr(keep + sight.begin, 1, size) != nullptr;
    sight.all = sight.all && std::memchr(keep + sight.begin, 0, size) == nullptr;
    if (any && !sight.all) return sight;
  }
  if (!any) sight.end = sight.begin;
  return sight;
}

// Soft cap, bias and mask on a row's scores of keys begin … end − 1, which lie at `scores`; −∞ behind them up to `padded`.
template <class T>
HWY_INLINE void finish_scores(const DotProductForm& form, const QueryRow<T>* row, const Sight& sight, std::int64_t padded, T* scores) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const std::int64_t keys = sight.end - sight.begin;
  if (form.soft_cap > 0)
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      const auto cap = hn::Set(d, static_cast<T>(form.soft_cap * log2_e));
      hn::StoreU(hn::Mul(cap, hyperbolic_tangent(d, hn::LoadU(d, scores + j))), d, scores + j);
    });
  if (row != nullptr && row->bias != nullptr) {
    const T* const bias = row->bias + sight.begin;
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, bias + j), hn::Set(d, static_cast<T>(log2_e)), hn::LoadU(d, scores + j)), d, scores + j);
    });
  }
  if (!sight.all) {
    if (row->first_key > sight.begin) std::fill(scores, scores + std::min(row->first_key, sight.end) - sight.begin, nothing);
    if (row->end_key < sight.end) std::fill(scores + std::max(row->end_key, sight.begin) - sight.begin, scores + keys, nothing);
    if (row->keep != nullptr) {
      const bool* const keep = row->keep + sight.begin;
      for (std::int64_t j = 0; j < keys; ++j) scores[j] = keep[j] ? scores[j] : nothing;
    }
  }
  std::fill(scores + keys, scores + padded, nothing);
}

// Dropout's multipliers of a row's keys begin … begin + keys − 1.
template <class T>
HWY_INLINE void drop_keys(const WeightDropout& dropout, const QueryRow<T>& row, std::int64_t begin, std::int64_t keys, T* multipliers) {
  dropout_multipliers(dropout.seed, dropout.probability, row.batch, row.head, row.row, dropout.first_key + begin, keys, multipliers);
}

template <class T>
HWY_INLINE void multiply(std::int64_t count, const T* by, T* numbers) {
  for_lanes<T>(count, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, numbers + j), hn::LoadU(d, by + j)), d, numbers + j); });
}

// The largest of numbers among which are NaN may be anything.
template <class T>
HWY_INLINE bool any_nan(std::int64_t count, const T* numbers) {
  return std::any_of(numbers, numbers + count, [](T number) { return number != number; });
}

// A row's scores become weights relative to its largest score; their sum comes back.
template <class T>
HWY_INLINE T weigh(T* HWY_RESTRICT scores, std::int64_t padded, T largest) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  const auto shift = hn::Set(d, largest);
  auto sum = hn::Zero(d);
  for (std::int64_t j = 0; j < padded; j += lanes) {
    const auto weight = power_of_two(d, hn::Sub(hn::LoadU(d, scores + j), shift));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// The window's factors and dropout on a row's weights, whose sum is `sum`; the sum that they are to be divided by comes back.
template <class T>
HWY_INLINE T multiply_weights(const DotProductForm& form, const QueryRow<T>& row, const Sight& sight, T sum, T* weights, T* multipliers) {
  const Vectors<T> d;
  const std::int64_t keys = sight.end - sight.begin;
  if (row.factors != nullptr) {
    multiply(keys, row.factors + sight.begin, weights);
    if (form.renormalised) {
      auto all = hn::Zero(d);
      for (std::int64_t j = 0; j < keys; j += lanes_of<T>()) all = hn::Add(all, hn::LoadU(d, weights + j));  // zeros behind the last
      sum = hn::GetLane(hn::SumOfLanes(d, all));
    }
  }
  if (form.dropout.probability > 0) {
    drop_keys(form.dropout, row, sight.begin, keys, multipliers);
    multiply(keys, multipliers, weights);
  }
  return sum;
}

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
