#include "kernels/dot_product.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/dot_product.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/dot_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

constexpr std::int64_t most_keys = dot_product_block_keys;

// to[c · stride + j] = scale · from[j · from_stride + c], four (or two) rows at a time through vectors of that many.
template <class T>
HWY_INLINE void transpose(std::int64_t rows, std::int64_t width, const T* HWY_RESTRICT from, std::int64_t from_stride, T scale, T* HWY_RESTRICT to, std::int64_t stride) {
  std::int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::int64_t size = 16 / sizeof(T);
  const hn::FixedTag<T, size> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto by = hn::Set(d, scale);
  const auto row_at = [&](const T* row) { return hn::Mul(by, hn::LoadU(d, row)); };
  for (; j + size <= rows; j += size) {
    std::int64_t c = 0;
    for (; c + size <= width; c += size) {
      const T* const row = from + j * from_stride + c;
      T* const out = to + c * stride + j;
      if constexpr (size == 2) {
        const auto a = row_at(row), b = row_at(row + from_stride);
        hn::StoreU(hn::InterleaveLower(d, a, b), d, out);
        hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + stride);
      } else {
        const auto a = row_at(row), b = row_at(row + from_stride), e = row_at(row + 2 * from_stride), f = row_at(row + 3 * from_stride);
        const auto lower = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)), upper = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
        const auto lower2 = hn::BitCast(pairs, hn::InterleaveLower(d, e, f)), upper2 = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, lower, lower2)), d, out);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, lower, lower2)), d, out + stride);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, upper, upper2)), d, out + 2 * stride);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, upper, upper2)), d, out + 3 * stride);
      }
    }
    for (; c < width; ++c)
      for (std::int64_t i = j; i < j + size; ++i) to[c * stride + i] = scale * from[i * from_stride + c];
  }
#endif
  for (; j < rows; ++j)
    for (std::int64_t c = 0; c < width; ++c) to[c * stride + j] = scale * from[j * from_stride + c];
}

// [panel][width][rows of a panel]: as many as panel_keys(), of the last one as many vectors as hold its rows, with 0 behind them.
template <class T>
void into_panels(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride, T scale, T* to) {
  const std::int64_t panel = panel_keys<T>();
  for (std::int64_t first = 0; first < rows; first += panel) {
    const std::int64_t count = std::min(panel, rows - first), wide = rounded_up(count, lanes_of<T>());
    if (count < wide) std::fill(to, to + wide * width, T(0));
    transpose(count, width, from + first * stride, stride, scale, to, wide);
    to += wide * width;
  }
}

// Blocks of rows, in each of them columns, in each of them its numbers of all rows of the block; zeros behind the last number of a row.
template <class T>
void into_columns(std::int64_t rows, std::int64_t width, const T* HWY_RESTRICT from, std::int64_t stride, T* HWY_RESTRICT to) {
  const std::int64_t column = column_width<T>(width);
  for (std::int64_t first = 0; first < rows; first += dot_product_block_keys) {
    const std::int64_t end = std::min(rows, first + dot_product_block_keys);
    for (std::int64_t c = 0; c < width; c += column) {
      const std::int64_t numbers = std::min(column, width - c);
      for (std::int64_t r = first; r < end; ++r, to += column) {
        std::copy(from + r * stride + c, from + r * stride + c + numbers, to);
        std::fill(to + numbers, to + column, T(0));
      }
    }
  }
}

// What the queries of a block have summed up so far, in units of log 2.
template <class T>
struct Running {
  T* largest;  // [rows]: −∞ where nothing was seen
  T* sum;      // [rows]: Σ 2^(s − largest)
  T* context;  // [rows, width]
  std::int64_t width;
};

template <class T>
struct Scratch {
  T* scores;       // [strip rows, block keys]
  T* largest;      // [strip rows, lanes]
  T* multipliers;  // [block keys]
  T* query;        // [strip rows, Dk], of the last strip
  Running<T> running;
};

template <class T>
std::int64_t scratch_count(const DotProductSizes& sizes) {
  const std::int64_t width = rounded_up(sizes.value_width, lanes_of<T>());
  return strip_rows * (most_keys + lanes_of<T>()) + most_keys + strip_rows * sizes.key_width + dot_product_block_queries * (width + 2);
}

template <class T>
HWY_INLINE Scratch<T> scratch_of(const DotProductSizes& sizes, T* memory) {
  constexpr std::int64_t rows = dot_product_block_queries;
  const std::int64_t width = rounded_up(sizes.value_width, lanes_of<T>());
  T* const largest_vectors = memory + strip_rows * most_keys;
  T* const multipliers = largest_vectors + strip_rows * lanes_of<T>();
  T* const context = multipliers + most_keys;
  T* const query = context + rows * width;
  T* const largest = query + strip_rows * sizes.key_width;
  return {memory, largest_vectors, multipliers, query, {largest, largest + rows, context, width}};
}

// Whether weights are taken relative to 1, and not to a row's largest score.
template <class T>
HWY_INLINE bool small_scores(const DotProductBlock<T>& block) {
  return block.score_bound <= static_cast<T>(dot_product_small_scores);
}

// Nothing is seen yet.
template <class T>
HWY_INLINE void begin(const DotProductBlock<T>& block, const Running<T>& running) {
  const std::int64_t padded_rows = rounded_up(block.queries, strip_rows);
  std::fill(running.largest, running.largest + padded_rows, small_scores(block) ? T(0) : -std::numeric_limits<T>::infinity());
  std::fill(running.sum, running.sum + padded_rows, T(0));
  std::fill(running.context, running.context + padded_rows * running.width, T(0));
}

// A strip's scores of the keys in sight, finished, and unless scores are small the largest of each row in each lane.
template <class T>
HWY_INLINE void score_strip(const DotProductSizes& sizes, const DotProductBlock<T>& block, const Sight& sight, std::int64_t row, const Scratch<T>& scratch) {
  const Vectors<T> d;
  const std::int64_t panel = panel_keys<T>(), lanes = lanes_of<T>(), stride = most_keys, keys = sight.end - sight.begin, padded = rounded_up(keys, lanes);
  const Strip<T> query = strip_at(row, block.queries, sizes.key_width, block.query, block.query_stride, scratch.query);
  std::fill(scratch.largest, scratch.largest + strip_rows * lanes, -std::numeric_limits<T>::infinity());
  const QueryRow<T>* const seen = block.rows == nullptr ? nullptr : block.rows + row;
  const bool as_they_are = block.form.soft_cap == 0 && (seen == nullptr || seen->bias == nullptr) && sight.all && keys == padded;
  const bool small = small_scores(block);
  if (as_they_are && !small) {
    for (std::int64_t j = sight.begin; j < sight.end; j += panel)
      score_panel<true>(query, sizes.key_width, block.key_panels, j, sizes.keys, scratch.scores + j - sight.begin, stride, scratch.largest);
    return;
  }
  for (std::int64_t j = sight.begin; j < sight.end; j += panel)
    score_panel<false>(query, sizes.key_width, block.key_panels, j, sizes.keys, scratch.scores + j - sight.begin, stride, scratch.largest);
  for (std::int64_t r = 0; r < strip_rows && !as_they_are; ++r) {
    T* const scores = scratch.scores + r * stride;
    if (row + r < block.queries) finish_scores(block.form, seen == nullptr ? nullptr : seen + r, sight, padded, scores);
    if (small) continue;
    auto largest = hn::LoadU(d, scratch.largest + r * lanes);
    for (std::int64_t j = 0; j < padded; j += lanes) largest = hn::Max(largest, hn::LoadU(d, scores + j));
    hn::StoreU(largest, d, scratch.largest + r * lanes);
  }
}

// The row's largest score so far: sum and context so far are corrected to it.
template <class T>
HWY_INLINE T raise_largest(T in_block, std::int64_t row, const Running<T>& running) {
  const Vectors<T> d;
  const T before = running.largest[row];
  if (in_block <= before) return before;  // NaN goes on
  const T correction = before == -std::numeric_limits<T>::infinity() ? T(0) : std::exp2(before - in_block);
  running.largest[row] = in_block;
  running.sum[row] *= correction;
  T* const context = running.context + row * running.width;
  for (std::int64_t c = 0; c < running.width; c += lanes_of<T>()) hn::StoreU(hn::Mul(hn::LoadU(d, context + c), hn::Set(d, correction)), d, context + c);
  return in_block;
}

template <class T>
HWY_INLINE void read_strip(const DotProductSizes& sizes, const DotProductBlock<T>& block, const Sight& sight, std::int64_t row, const Terms<T>& values,
                           const Scratch<T>& scratch) {
  const Vectors<T> d;
  const Running<T>& running = scratch.running;
  const std::int64_t keys = sight.end - sight.begin, padded = rounded_up(keys, lanes_of<T>());
  score_strip(sizes, block, sight, row, scratch);
  for (std::int64_t r = 0; r < strip_rows; ++r) {
    T* const scores = scratch.scores + r * most_keys;
    const T largest = small_scores(block) ? T(0) : raise_largest(hn::GetLane(hn::MaxOfLanes(d, hn::LoadU(d, scratch.largest + r * lanes_of<T>()))), row + r, running);
    if (largest == -std::numeric_limits<T>::infinity() && !any_nan(padded, scores)) {
      std::fill(scores, scores + padded, T(0));
      continue;
    }
    T sum = weigh(scores, padded, largest);
    if (block.rows != nullptr && row + r < block.queries)
      sum = multiply_weights(block.form, block.rows[row + r], sight, sum, scores, scratch.multipliers);
    running.sum[row + r] += sum;
  }
  add_all_products<strip_rows>(Factors<T>{scratch.scores, most_keys, 1}, keys, values, running.context + row * running.width, running.width);
}

// out_s = scale_s Σ_t factor_st · row_t, for `count` vectors of the rows' width.
template <std::int64_t count, class T>
HWY_INLINE void scaled_products(const T* HWY_RESTRICT factors, std::int64_t stride, std::int64_t terms, const T* HWY_RESTRICT rows, std::int64_t row_stride,
                                const T* scales, T* HWY_RESTRICT out, std::int64_t out_stride) {
  RegisterTile<strip_rows, count, T> tile;
  tile.clear();
  tile.template add<prefetched_rows>(Factors<T>{factors, stride, 1}, terms, rows, row_stride);
  for (std::int64_t s = 0; s < strip_rows; ++s)
    for (auto& sum : tile.sums[s]) sum = hn::Mul(sum, hn::Set(Vectors<T>(), scales[s]));
  tile.store(out, out_stride);
}

// A strip whose keys are all of one block: nothing is carried on from block to block.
template <class T>
HWY_INLINE void read_strip_at_once(const DotProductSizes& sizes, const DotProductBlock<T>& block, const Sight& sight, std::int64_t row, const Terms<T>& values,
                                   const Scratch<T>& scratch) {
  const Vectors<T> d;
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const std::int64_t keys = sight.end - sight.begin, lanes = lanes_of<T>(), padded = rounded_up(keys, lanes), rows = std::min(strip_rows, block.queries - row);
  score_strip(sizes, block, sight, row, scratch);
  T scales[strip_rows] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const scores = scratch.scores + r * most_keys;
    const T largest = small_scores(block) ? T(0) : hn::GetLane(hn::MaxOfLanes(d, hn::LoadU(d, scratch.largest + r * lanes)));
    if (block.log_sums != nullptr) block.log_sums[row + r] = nothing;
    if (largest == nothing && !any_nan(padded, scores)) {
      std::fill(scores, scores + padded, T(0));
      continue;
    }
    T sum = weigh(scores, padded, largest);
    if (block.rows != nullptr) sum = multiply_weights(block.form, block.rows[row + r], sight, sum, scores, scratch.multipliers);
    if (sum == 0) continue;
    scales[r] = 1 / sum;
    if (block.log_sums != nullptr) block.log_sums[row + r] = largest + std::log2(sum);
  }
  // into place where whole vectors of all rows fit
  const std::int64_t width = scratch.running.width;
  const bool fits = rows == strip_rows && width == sizes.value_width;
  T* const context = block.context + row * block.context_stride;
  T* const out = fits ? context : scratch.running.context;
  const std::int64_t stride = fits ? block.context_stride : width;
  std::int64_t c = 0;
  for (; c + panel_vectors * lanes <= width; c += panel_vectors * lanes)
    scaled_products<panel_vectors>(scratch.scores, most_keys, keys, values.at(c), values.stride, scales, out + c, stride);
  for (; c < width; c += lanes) scaled_products<1>(scratch.scores, most_keys, keys, values.at(c), values.stride, scales, out + c, stride);
  for (std::int64_t r = 0; r < rows && !fits; ++r) std::copy(out + r * width, out + r * width + sizes.value_width, context + r * block.context_stride);
}

// Values of the block of keys that begins at `first`.
template <class T>
HWY_INLINE Terms<T> values_of_block(const DotProductSizes& sizes, const DotProductBlock<T>& block, std::int64_t first) {
  if (block.value_columns != nullptr) return columns_of_block(block.value_columns, first, sizes.keys, sizes.value_width);
  return {block.value + first * block.value_stride, block.value_stride};
}

// All keys are of one block.
template <class T>
HWY_INLINE void forward_at_once(const DotProductSizes& sizes, const DotProductBlock<T>& block, const Scratch<T>& scratch) {
  const Terms<T> values = values_of_block(sizes, block, 0);
  for (std::int64_t row = 0; row < block.queries; row += strip_rows) {
    const std::int64_t rows = std::min(strip_rows, block.queries - row);
    const Sight sight = sight_of(block.rows == nullptr ? nullptr : block.rows + row, rows, 0, sizes.keys);
    if (!sight.nothing()) {
      read_strip_at_once(sizes, block, sight, row, values.from(sight.begin), scratch);
      continue;
    }
    for (std::int64_t r = row; r < row + rows; ++r) {
      std::fill(block.context + r * block.context_stride, block.context + r * block.context_stride + sizes.value_width, T(0));
      if (block.log_sums != nullptr) block.log_sums[r] = -std::numeric_limits<T>::infinity();
    }
  }
}

template <class T>
void forward_block(const DotProductSizes& sizes, const DotProductBlock<T>& block) {
  const Scratch<T> scratch = scratch_of<T>(sizes, block.scratch);
  if (sizes.keys <= most_keys) return forward_at_once(sizes, block, scratch);
  const Running<T>& running = scratch.running;
  begin(block, running);
  for (std::int64_t first_key = 0; first_key < sizes.keys; first_key += most_keys) {
    const std::int64_t keys = std::min(most_keys, sizes.keys - first_key);
    const Terms<T> values = values_of_block(sizes, block, first_key);
    for (std::int64_t row = 0; row < block.queries; row += strip_rows) {
      const Sight sight = sight_of(block.rows == nullptr ? nullptr : block.rows + row, std::min(strip_rows, block.queries - row), first_key, keys);
      if (!sight.nothing()) read_strip(sizes, block, sight, row, values.from(sight.begin - first_key), scratch);
    }
  }
  for (std::int64_t r = 0; r < block.queries; ++r) {
    const T scale = running.sum[r] == 0 ? T(0) : 1 / running.sum[r];
    for (std::int64_t c = 0; c < sizes.value_width; ++c) block.context[r * block.context_stride + c] = running.context[r * running.width + c] * scale;
    if (block.log_sums != nullptr) block.log_sums[r] = running.sum[r] == 0 ? -std::numeric_limits<T>::infinity() : running.largest[r] + std::log2(running.sum[r]);
  }
}

std::int64_t lanes_float() { return lanes_of<float>(); }
std::int64_t lanes_double() { return lanes_of<double>(); }
std::int64_t scratch_float(const DotProductSizes& sizes) { return scratch_count<float>(sizes); }
std::int64_t scratch_double(const DotProductSizes& sizes) { return scratch_count<double>(sizes); }
void panels_float(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float scale, float* to) {
  into_panels(rows, width, from, stride, scale, to);
}
void panels_double(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double scale, double* to) {
  into_panels(rows, width, from, stride, scale, to);
}
std::int64_t wide_columns_float(std::int64_t width) { return wide_columns<float>(width); }
std::int64_t wide_columns_double(std::int64_t width) { return wide_columns<double>(width); }
void columns_float(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float* to) { into_columns(rows, width, from, stride, to); }
void columns_double(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double* to) { into_columns(rows, width, from, stride, to); }
void dot_forward_float(const DotProductSizes& sizes, const DotProductBlock<float>& block) { forward_block(sizes, block); }
void dot_forward_double(const DotProductSizes& sizes, const DotProductBlock<double>& block) { forward_block(sizes, block); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(lanes_float);
HWY_EXPORT(lanes_double);
HWY_EXPORT(scratch_float);
HWY_EXPORT(scratch_double);
HWY_EXPORT(panels_float);
HWY_EXPORT(panels_double);
HWY_EXPORT(wide_columns_float);
HWY_EXPORT(wide_columns_double);
HWY_EXPORT(columns_float);
HWY_EXPORT(columns_double);
HWY_EXPORT(dot_forward_float);
HWY_EXPORT(dot_forward_double);

namespace {
template <class T>
constexpr bool is_float = sizeof(T) == 4;
std::int64_t in_whole_vectors(std::int64_t number, std::int64_t lanes) { return (number + lanes - 1) / lanes * lanes; }
}  // namespace

template <class T>
std::int64_t padded_width(std::int64_t width) {
  return in_whole_vectors(width, is_float<T> ? HWY_DYNAMIC_DISPATCH(lanes_float)() : HWY_DYNAMIC_DISPATCH(lanes_double)());
}

template <class T>
void pad_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride, T* to) {
  const std::int64_t padded = padded_width<T>(width);
  for (std::int64_t j = 0; j < rows; ++j, from += stride, to += padded) {
    std::copy(from, from + width, to);
    std::fill(to + width, to + padded, T(0));
  }
}

double key_panel_scale(const DotProductForm& form) { return form.soft_cap > 0 ? form.scale / form.soft_cap : form.scale * 1.4426950408889634074; }

template <class T>
std::int64_t panels_size(std::int64_t rows, std::int64_t width) {
  return padded_width<T>(rows) * width;
}

template <class T>
std::int64_t columns_size(std::int64_t rows, std::int64_t width) {
  return rows * (is_float<T> ? HWY_DYNAMIC_DISPATCH(wide_columns_float)(width) : HWY_DYNAMIC_DISPATCH(wide_columns_double)(width));
}

template <class T>
std::int64_t dot_product_scratch_size(const DotProductSizes& sizes) {
  return is_float<T> ? HWY_DYNAMIC_DISPATCH(scratch_float)(sizes) : HWY_DYNAMIC_DISPATCH(scratch_double)(sizes);
}

template std::int64_t padded_width<float>(std::int64_t);
template std::int64_t padded_width<double>(std::int64_t);
template void pad_rows<float>(std::int64_t, std::int64_t, const float*, std::int64_t, float*);
template void pad_rows<double>(std::int64_t, std::int64_t, const double*, std::int64_t, double*);
template std::int64_t panels_size<float>(std::int64_t, std::int64_t);
template std::int64_t panels_size<double>(std::int64_t, std::int64_t);
template std::int64_t columns_size<float>(std::int64_t, std::int64_t);
template std::int64_t columns_size<double>(std::int64_t, std::int64_t);
template std::int64_t dot_product_scratch_size<float>(const DotProductSizes&);
template std::int64_t dot_product_scratch_size<double>(const DotProductSizes&);

void pack_panels(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float scale, float* to) {
  HWY_DYNAMIC_DISPATCH(panels_float)(rows, width, from, stride, scale, to);
}
void pack_panels(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double scale, double* to) {
  HWY_DYNAMIC_DISPATCH(panels_double)(rows, width, from, stride, scale, to);
}
void pack_columns(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float* to) {
  HWY_DYNAMIC_DISPATCH(columns_float)(rows, width, from, stride, to);
}
void pack_columns(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double* to) {
  HWY_DYNAMIC_DISPATCH(columns_double)(rows, width, from, stride, to);
}
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<float>& block) { HWY_DYNAMIC_DISPATCH(dot_forward_float)(sizes, block); }
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<double>& block) { HWY_DYNAMIC_DISPATCH(dot_forward_double)(sizes, block); }

}  // namespace attend::kernels
#endif
