// The backward pass of kernels/dot_product.h.
#include <cmath>

#include "kernels/dot_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/dot_product_backward.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/dot_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

constexpr std::int64_t most_block_keys = dot_product_block_keys;

// Of a block's rows of scores: one line of the cache more than its keys, so that the same key of all rows doesn't fall on the same few places of it.
template <class T>
constexpr std::int64_t row_stride = most_block_keys + 64 / sizeof(T);

template <class T>
struct GradientScratch {
  T *query, *context_gradient;        // [strip rows, width], of the last strip
  T *weight_gradients, *multipliers;  // [strip rows, row stride], [block keys]
  T* last_rows;                       // [strip rows, Dk]
  T *weights, *score_gradients;       // [block queries, row stride]
};

template <class T>
std::int64_t gradient_scratch_count(const DotProductSizes& sizes) {
  return strip_rows * (2 * sizes.key_width + sizes.value_width + row_stride<T>) + most_block_keys + 2 * dot_product_block_queries * row_stride<T>;
}

template <class T>
HWY_INLINE GradientScratch<T> gradient_scratch_of(const DotProductSizes& sizes, T* memory) {
  GradientScratch<T> scratch;
  scratch.query = memory;
  scratch.context_gradient = scratch.query + strip_rows * sizes.key_width;
  scratch.weight_gradients = scratch.context_gradient + strip_rows * sizes.value_width;
  scratch.multipliers = scratch.weight_gradients + strip_rows * row_stride<T>;
  scratch.last_rows = scratch.multipliers + most_block_keys;
  scratch.weights = scratch.last_rows + strip_rows * sizes.key_width;
  scratch.score_gradients = scratch.weights + dot_product_block_queries * row_stride<T>;
  return scratch;
}

// A row's weights from its scores, which come as finish_scores() leaves them.
template <class T>
HWY_INLINE void weights_again(std::int64_t keys, T log_sum, T* scores) {
  if (log_sum == -std::numeric_limits<T>::infinity()) return std::fill(scores, scores + keys, T(0));
  for_lanes<T>(keys, [&](auto d, std::int64_t j) { hn::StoreU(power_of_two(d, hn::Sub(hn::LoadU(d, scores + j), hn::Set(d, log_sum))), d, scores + j); });
}

// Of one row, keys that lie at the pointers: weights w become those that values are summed up by, dw = context_gradient · value becomes the gradient of the
// scores; that of the factors is written where it is wanted.
template <class T>
HWY_INLINE void score_gradients_with_multipliers(const DotProductGradients<T>& block, const QueryRow<T>& row, std::int64_t first, std::int64_t keys, T product,
                                                 T* w, T* dw, T* of_factors, T* multipliers) {
  const bool drops = block.form.dropout.probability > 0, renormalised = block.form.renormalised && row.factors != nullptr;
  if (drops) drop_keys(block.form.dropout, row, first, keys, multipliers);
  const T* const factors = row.factors == nullptr ? nullptr : row.factors + first;
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    const auto one = hn::Set(d, 1), weight = hn::LoadU(d, w + j), mean = hn::Set(d, product);
    const auto factor = factors == nullptr ? one : hn::LoadU(d, factors + j), kept = drops ? hn::LoadU(d, multipliers + j) : one;
    const auto given = hn::Mul(kept, hn::LoadU(d, dw + j));  // context_gradient · value of what isn't dropped
    if (of_factors != nullptr) hn::StoreU(hn::Mul(weight, renormalised ? hn::Sub(given, mean) : given), d, of_factors + j);
    const auto taken = renormalised ? hn::Mul(factor, mean) : mean;
    hn::StoreU(hn::Mul(weight, hn::NegMulAdd(one, taken, hn::Mul(factor, given))), d, dw + j);
    hn::StoreU(hn::Mul(weight, hn::Mul(factor, kept)), d, w + j);
  });
}

// The same for a row without factors, dropout, soft cap, and gradient of a bias, in one pass: scores at `w` become weights, `ds` the gradients with the scale.
template <class T>
HWY_INLINE void plain_gradients(std::int64_t keys, T log_sum, T product, T scale, const T* HWY_RESTRICT dw, T* HWY_RESTRICT w, T* HWY_RESTRICT ds) {
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    const auto weight = power_of_two(d, hn::Sub(hn::LoadU(d, w + j), hn::Set(d, log_sum)));
    hn::StoreU(weight, d, w + j);
    hn::StoreU(hn::Mul(hn::Mul(weight, hn::Sub(hn::LoadU(d, dw + j), hn::Set(d, product))), hn::Set(d, scale)), d, ds + j);
  });
}

// One row of a strip: from scores at `w` and context_gradient · value at `dw`, the weights and the gradients of the scores with the scale, both at their place.
template <class T>
HWY_INLINE void finish_row(const DotProductGradients<T>& block, const Sight& sight, std::int64_t row, T* w, T* dw, const GradientScratch<T>& scratch) {
  const std::int64_t keys = sight.end - sight.begin;
  const QueryRow<T>* const seen = block.rows == nullptr ? nullptr : block.rows + row;
  T* const ds = scratch.score_gradients + row * row_stride<T> + sight.begin - block.first_key;
  const T log_sum = block.log_sums[row], product = block.context_products[row], scale = static_cast<T>(block.form.scale);
  const bool capped = block.form.soft_cap > 0, multiplied = seen != nullptr && (seen->factors != nullptr || block.form.dropout.probability > 0);
  if (capped)  // its slope, of the score before it
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      const auto t = hyperbolic_tangent(d, hn::LoadU(d, w + j));
      hn::StoreU(hn::NegMulAdd(t, t, hn::Set(d, 1)), d, ds + j);
    });
  if (!sight.all || capped || (seen != nullptr && seen->bias != nullptr)) finish_scores(block.form, seen, sight, keys, w);
  if (!capped && !multiplied && block.bias_gradient == nullptr && log_sum != -std::numeric_limits<T>::infinity())
    return plain_gradients(keys, log_sum, product, scale, dw, w, ds);
  weights_again(keys, log_sum, w);
  const auto place = [&](T* pairs) { return pairs == nullptr ? nullptr : pairs + row * block.pair_stride + sight.begin; };
  if (multiplied)
    score_gradients_with_multipliers(block, *seen, sight.begin, keys, product, w, dw, place(block.factor_gradient), scratch.multipliers);
  else
    for_lanes<T>(keys, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, w + j), hn::Sub(hn::LoadU(d, dw + j), hn::Set(d, product))), d, dw + j); });
  if (T* const of_bias = place(block.bias_gradient)) std::copy(dw, dw + keys, of_bias);
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    const auto scaled = hn::Mul(hn::LoadU(d, dw + j), hn::Set(d, scale));
    hn::StoreU(capped ? hn::Mul(scaled, hn::LoadU(d, ds + j)) : scaled, d, ds + j);
  });
}

// Zeros where a row sees nothing of a block: in front of `begin` and from `end` on.
template <class T>
HWY_INLINE void clear_around(std::int64_t begin, std::int64_t end, std::int64_t keys, T* row) {
  std::fill(row, row + begin, T(0));
  std::fill(row + end, row + keys, T(0));
}

// Of a strip's rows: weights and gradients of the scores into their rows of the block.
template <class T>
HWY_INLINE Sight strip_gradients(const DotProductSizes& sizes, const DotProductGradients<T>& block, std::int64_t row, const GradientScratch<T>& scratch) {
  const std::int64_t panel = panel_keys<T>(), rows = std::min(strip_rows, block.queries - row);
  const Sight sight = sight_of(block.rows == nullptr ? nullptr : block.rows + row, rows, block.first_key, block.keys);
  const std::int64_t begin = sight.begin - block.first_key, end = std::max(begin, sight.end - block.first_key);
  const Strip<T> query = strip_at(row, block.queries, sizes.key_width, block.query, block.query_stride, scratch.query);
  const Strip<T> context_gradient =
      strip_at(row, block.queries, sizes.value_width, block.context_gradient, block.context_gradient_stride, scratch.context_gradient);
  T* const weights = scratch.weights + row * row_stride<T>;
  for (std::int64_t j = sight.begin; j < sight.end; j += panel) {
    const std::int64_t packed = j - block.first_packed, all_packed = sizes.keys - block.first_packed;
    score_panel<false, T>(query, sizes.key_width, block.key_panels, packed, all_packed, weights + j - block.first_key, row_stride<T>, nullptr);
    score_panel<false, T>(context_gradient, sizes.value_width, block.value_panels, packed, all_packed, scratch.weight_gradients + j - block.first_key,
                          row_stride<T>, nullptr);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t place = r * row_stride<T>;
    if (!sight.nothing()) finish_row(block, sight, row + r, weights + place + begin, scratch.weight_gradients + place + begin, scratch);
    clear_around(begin, end, block.keys, weights + place);
    clear_around(begin, end, block.keys, scratch.score_gradients + row * row_stride<T> + place);
    for (T* const pairs : {block.bias_gradient, block.factor_gradient})
      if (pairs != nullptr) clear_around(begin, end, block.keys, pairs + (row + r) * block.pair_stride + block.first_key);
  }
  return sight;
}

// Which rows of a block see anything of a panel.
struct RowRange {
  std::int64_t first = dot_product_block_queries, end = 0;
  bool operator==(const RowRange&) const = default;
};

// out_j += Σ_r factor_rj · row_r for each key: factors are a block's weights or gradients of scores, rows its context gradients or queries.
template <class T>
HWY_INLINE void add_to_keys(const T* factors, std::int64_t keys, const RowRange* seen_by, const T* rows, std::int64_t stride, T* out, std::int64_t width) {
  const std::int64_t panel = panel_keys<T>();
  std::int64_t end = 0;
  for (std::int64_t j = 0; j < keys; j = end) {
    const RowRange range = seen_by[j / panel];
    for (end = std::min(keys, j + panel); end < keys && seen_by[end / panel] == range;) end = std::min(keys, end + panel);
    if (range.first >= range.end) continue;
    const Terms<T> from = {rows + range.first * stride, stride};
    const auto of_key = [&](std::int64_t key) { return Factors<T>{factors + range.first * row_stride<T> + key, 1, row_stride<T>}; };
    const std::int64_t count = range.end - range.first;
    for (; j + strip_rows <= end; j += strip_rows) add_all_products<strip_rows>(of_key(j), count, from, out + j * width, width);
    for (; j + 2 <= end; j += 2) add_all_products<2>(of_key(j), count, from, out + j * width, width);
    for (; j < end; ++j) add_all_products<1>(of_key(j), count, from, out + j * width, width);
  }
}

// query_gradient += gradients of the scores · keys in sight of a strip.
template <class T>
HWY_INLINE void add_to_queries(const DotProductSizes& sizes, const DotProductGradients<T>& block, const Sight& sight, std::int64_t row, const GradientScratch<T>& scratch) {
  const std::int64_t width = sizes.key_width, rows = std::min(strip_rows, block.queries - row), keys = sight.end - sight.begin;
  const Factors<T> factors{scratch.score_gradients + row * row_stride<T> + sight.begin - block.first_key, row_stride<T>, 1};
  const Terms<T> block_keys = columns_of_block(block.key_columns, block.first_key - block.first_packed, sizes.keys - block.first_packed, width);
  const Terms<T> from = block_keys.from(sight.begin - block.first_key);
  T* const out = block.query_gradient + row * width;
  if (rows == strip_rows) return add_all_products<strip_rows>(factors, keys, from, out, width);
  // the last rows through a whole strip: its rows behind them are nobody's
  std::fill(scratch.last_rows, scratch.last_rows + strip_rows * width, T(0));
  add_all_products<strip_rows>(factors, keys, from, scratch.last_rows, width);
  for (std::int64_t i = 0; i < rows * width; ++i) out[i] += scratch.last_rows[i];
}

template <class T>
void backward_block(const DotProductSizes& sizes, const DotProductGradients<T>& block) {
  const GradientScratch<T> scratch = gradient_scratch_of<T>(sizes, block.scratch);
  const std::int64_t panel = panel_keys<T>();
  RowRange seen_by[most_block_keys];
  for (std::int64_t row = 0; row < block.queries; row += strip_rows) {
    const Sight sight = strip_gradients(sizes, block, row, scratch);
    for (std::int64_t j = sight.begin; j < sight.end; j += panel) {
      RowRange& range = seen_by[(j - block.first_key) / panel];
      range.first = std::min(range.first, row), range.end = std::min(block.queries, row + strip_rows);
    }
    if (!sight.nothing()) add_to_queries(sizes, block, sight, row, scratch);
  }
  add_to_keys(scratch.weights, block.keys, seen_by, block.context_gradient, block.context_gradient_stride,
              block.value_gradient + block.first_key * sizes.value_width, sizes.value_width);
  add_to_keys(scratch.score_gradients, block.keys, seen_by, block.query, block.query_stride, block.key_gradient + block.first_key * sizes.key_width,
              sizes.key_width);
}

template <class T>
HWY_INLINE void products_of_rows(std::int64_t rows, std::int64_t width, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* out) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  for (std::int64_t i = 0; i < rows; ++i, a += a_stride, b += b_stride) {
    auto sum = hn::Zero(d);
    std::int64_t c = 0;
    for (; c + lanes <= width; c += lanes) sum = hn::MulAdd(hn::LoadU(d, a + c), hn::LoadU(d, b + c), sum);
    T all = hn::GetLane(hn::SumOfLanes(d, sum));
    for (; c < width; ++c) all += a[c] * b[c];
    out[i] = all;
  }
}

void products_float(std::int64_t rows, std::int64_t width, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, float* out) {
  products_of_rows(rows, width, a, a_stride, b, b_stride, out);
}
void products_double(std::int64_t rows, std::int64_t width, const double* a, std::int64_t a_stride, const double* b, std::int64_t b_stride, double* out) {
  products_of_rows(rows, width, a, a_stride, b, b_stride, out);
}
std::int64_t gradient_scratch_float(const DotProductSizes& sizes) { return gradient_scratch_count<float>(sizes); }
std::int64_t gradient_scratch_double(const DotProductSizes& sizes) { return gradient_scratch_count<double>(sizes); }
void dot_backward_float(const DotProductSizes& sizes, const DotProductGradients<float>& block) { backward_block(sizes, block); }
void dot_backward_double(const DotProductSizes& sizes, const DotProductGradients<double>& block) { backward_block(sizes, block); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(gradient_scratch_float);
HWY_EXPORT(gradient_scratch_double);
HWY_EXPORT(dot_backward_float);
HWY_EXPORT(dot_backward_double);
HWY_EXPORT(products_float);
HWY_EXPORT(products_double);

template <class T>
std::int64_t dot_product_gradients_scratch_size(const DotProductSizes& sizes) {
  return sizeof(T) == 4 ? HWY_DYNAMIC_DISPATCH(gradient_scratch_float)(sizes) : HWY_DYNAMIC_DISPATCH(gradient_scratch_double)(sizes);
}
template std::int64_t dot_product_gradients_scratch_size<float>(const DotProductSizes&);
template std::int64_t dot_product_gradients_scratch_size<double>(const DotProductSizes&);

void row_products(std::int64_t rows, std::int64_t width, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, float* out) {
  HWY_DYNAMIC_DISPATCH(products_float)(rows, width, a, a_stride, b, b_stride, out);
}
void row_products(std::int64_t rows, std::int64_t width, const double* a, std::int64_t a_stride, const double* b, std::int64_t b_stride, double* out) {
  HWY_DYNAMIC_DISPATCH(products_double)(rows, width, a, a_stride, b, b_stride, out);
}
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<float>& block) { HWY_DYNAMIC_DISPATCH(dot_backward_float)(sizes, block); }
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<double>& block) { HWY_DYNAMIC_DISPATCH(dot_backward_double)(sizes, block); }

}  // namespace attend::kernels
#endif
