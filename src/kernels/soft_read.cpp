#include "kernels/soft_read.h"

#include <algorithm>
#include <limits>

#include "kernels/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/soft_read.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

template <class T>
using ReadVector = hn::CappedTag<T, 64 / sizeof(T)>;

// Rows of a strip, and vectors of them at a time: their sums stay in registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
constexpr std::int64_t read_strip = 4, read_vectors = 4;
#else
constexpr std::int64_t read_strip = 4, read_vectors = 2;
#endif

template <class T>
HWY_INLINE std::int64_t read_lanes() {
  return static_cast<std::int64_t>(hn::Lanes(ReadVector<T>()));
}

// --- products ------------------------------------------------------------------------------------------------------------------------

// out_s = Σ_t factor_st · row_t for s < sums: factor st is factors[s · sum_stride + t · term_stride].
template <class T>
struct Products {
  const T* factors;
  std::int64_t sum_stride, term_stride, terms;
  const T* rows;
  std::int64_t row_stride;
  T* out;
  std::int64_t out_stride;
};

template <std::int64_t sums, std::int64_t count, class D, class T>
HWY_INLINE void products_at(D d, const Products<T>& of, std::int64_t first, std::int64_t column) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[sums][count];
  for (auto& row : sum)
    for (auto& one : row) one = hn::Zero(d);
  for (std::int64_t t = 0; t < of.terms; ++t) {
    hn::Vec<D> row[count];
    for (std::int64_t v = 0; v < count; ++v) row[v] = hn::LoadU(d, of.rows + t * of.row_stride + column + v * lanes);
    for (std::int64_t s = 0; s < sums; ++s) {
      const auto factor = hn::Set(d, of.factors[(first + s) * of.sum_stride + t * of.term_stride]);
      for (std::int64_t v = 0; v < count; ++v) sum[s][v] = hn::MulAdd(factor, row[v], sum[s][v]);
    }
  }
  for (std::int64_t s = 0; s < sums; ++s)
    for (std::int64_t v = 0; v < count; ++v) hn::StoreU(sum[s][v], d, of.out + (first + s) * of.out_stride + column + v * lanes);
}

// The last vector of a row may begin within the one before it: what is written twice is the same.
template <std::int64_t sums, class T>
HWY_INLINE void products_of_strip(const Products<T>& of, std::int64_t first, std::int64_t width) {
  const ReadVector<T> d;
  const std::int64_t lanes = read_lanes<T>();
  std::int64_t c = 0;
  for (; c + read_vectors * lanes <= width; c += read_vectors * lanes) products_at<sums, read_vectors>(d, of, first, c);
  for (; c + lanes <= width; c += lanes) products_at<sums, 1>(d, of, first, c);
  if (c == width) return;
  if (width >= lanes) return products_at<sums, 1>(d, of, first, width - lanes);
  for (const hn::CappedTag<T, 1> lane; c < width; ++c) products_at<sums, 1>(lane, of, first, c);
}

template <class T>
HWY_INLINE void products(const Products<T>& of, std::int64_t sums, std::int64_t width) {
  std::int64_t s = 0;
  for (; s + read_strip <= sums; s += read_strip) products_of_strip<read_strip>(of, s, width);
  for (; s < sums; ++s) products_of_strip<1>(of, s, width);
}

// --- forward -------------------------------------------------------------------------------------------------------------------------

template <class T>
HWY_INLINE void cap_and_hide(const SoftReadRules<T>& rules, std::int64_t row, std::int64_t keys, T* scores, T* capped) {
  if (rules.soft_cap > 0) {
    const T cap = static_cast<T>(rules.soft_cap);
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      hn::StoreU(hn::Mul(hn::Set(d, cap), hyperbolic_tangent(d, hn::Div(hn::LoadU(d, scores + j), hn::Set(d, cap)))), d, scores + j);
    });
    if (capped != nullptr) std::copy_n(scores, keys, capped);
  }
  if (rules.bias != nullptr) {
    const T* bias = rules.bias + row * rules.bias_stride;
    for_lanes<T>(keys, [&](auto d, std::int64_t j) { hn::StoreU(hn::Add(hn::LoadU(d, scores + j), hn::LoadU(d, bias + j)), d, scores + j); });
  }
  if (rules.keep != nullptr) {
    const bool* keep = rules.keep + row * rules.keep_stride;
    for (std::int64_t j = 0; j < keys; ++j) scores[j] = keep[j] ? scores[j] : -std::numeric_limits<T>::infinity();
  }
}

// Scores of a padded row become the probabilities of its keys; −∞ stands for a key that isn't seen.
template <class T>
HWY_INLINE void softmax_of_row(std::int64_t keys, std::int64_t padded, T* row) {
  const ReadVector<T> d;
  const std::int64_t lanes = read_lanes<T>();
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  std::fill(row + keys, row + padded, hidden);
  const auto nothing = hn::Set(d, hidden);
  auto most = nothing, sum = hn::Zero(d);
  for (std::int64_t j = 0; j < padded; j += lanes) most = hn::Max(hn::LoadU(d, row + j), most);
  const T largest = hn::GetLane(hn::MaxOfLanes(d, most));
  if (largest == hidden && std::count(row, row + padded, hidden) == padded) return std::fill(row, row + padded, T(0));  // else one is NaN
  for (std::int64_t j = 0; j < padded; j += lanes) {
    const auto score = hn::LoadU(d, row + j);
    const auto power = hn::IfThenZeroElse(hn::Eq(score, nothing), bounded_exp(d, hn::Sub(score, hn::Set(d, largest))));
    sum = hn::Add(sum, power);
    hn::StoreU(power, d, row + j);
  }
  const auto scale = hn::Set(d, 1 / hn::GetLane(hn::SumOfLanes(d, sum)));
  for (std::int64_t j = 0; j < padded; j += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, row + j), scale), d, row + j);
}

template <class T, class F>
HWY_INLINE T sum_over(std::int64_t count, const F& at) {
  const ReadVector<T> vector;
  const std::int64_t lanes = read_lanes<T>();
  auto sum = hn::Zero(vector);
  std::int64_t j = 0;
  for (; j + lanes <= count; j += lanes) sum = hn::Add(sum, at(vector, j));
  T all = hn::GetLane(hn::SumOfLanes(vector, sum));
  for (const hn::CappedTag<T, 1> lane; j < count; ++j) all += hn::GetLane(at(lane, j));
  return all;
}

template <class T>
HWY_INLINE void multiply_rows(std::int64_t count, const T* by, T* row) {
  for_lanes<T>(count, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, row + j), hn::LoadU(d, by + j)), d, row + j); });
}
template <class T>
HWY_INLINE void divide_row(std::int64_t count, T by, T* row) {
  for_lanes<T>(count, [&](auto d, std::int64_t j) { hn::StoreU(hn::Div(hn::LoadU(d, row + j), hn::Set(d, by)), d, row + j); });
}

// Probabilities become weights, in place. Returns what they were divided by; 0: by nothing.
template <class T>
HWY_INLINE T apply_factors(const SoftReadRules<T>& rules, std::int64_t row, std::int64_t keys, T* weights) {
  if (rules.factors != nullptr) multiply_rows(keys, rules.factors + row * rules.factors_stride, weights);
  if (!rules.renormalised) return 0;
  const T sum = sum_over<T>(keys, [&](auto d, std::int64_t j) { return hn::LoadU(d, weights + j); });
  if (sum != 0) divide_row(keys, sum, weights);
  return sum;
}

template <class T>
HWY_INLINE void dropout_row(const SoftReadRules<T>& rules, std::int64_t row, std::int64_t keys, T* multipliers) {
  dropout_multipliers(rules.seed, rules.dropout, rules.batch, rules.head, rules.first_row + static_cast<std::uint32_t>(row), rules.first_column, keys, multipliers);
}

template <class T>
void read_block(const SoftReadSizes& sizes, const SoftRead<T>& block) {
  const std::int64_t stride = soft_read_stride(sizes.keys), keys = block.keys;
  for (std::int64_t i = 0; i < block.queries; ++i) {
    T* const row = block.scores + i * stride;
    cap_and_hide(block.rules, i, keys, row, block.capped == nullptr ? nullptr : block.capped + i * sizes.keys);
    softmax_of_row(keys, soft_read_stride(keys), row);
    std::fill(row + soft_read_stride(keys), row + stride, T(0));
    std::copy_n(row, sizes.keys, block.probabilities + i * sizes.keys);
    apply_factors(block.rules, i, keys, row);
    if (block.weights != nullptr) std::copy_n(row, sizes.keys, block.weights + i * sizes.keys);
    if (block.rules.dropout > 0) {
      dropout_row(block.rules, i, keys, block.scratch);
      multiply_rows(keys, block.scratch, row);
    }
  }
  products(Products<T>{block.scores, stride, 1, keys, block.value, block.value_stride, block.context, block.context_stride}, block.queries, sizes.values);
}

// --- backward ------------------------------------------------------------------------------------------------------------------------

// Products of context gradients and values: out_sj = Σ_c x_sc y_jc, for a tile of rows.
template <std::int64_t rows, std::int64_t columns, class T>
HWY_INLINE void dot_tile(std::int64_t width, const T* x, std::int64_t x_stride, const T* y, std::int64_t y_stride, T* out, std::int64_t out_stride) {
  const ReadVector<T> d;
  const std::int64_t lanes = read_lanes<T>();
  hn::Vec<ReadVector<T>> sum[rows][columns];
  for (auto& row : sum)
    for (auto& one : row) one = hn::Zero(d);
  const auto add = [&](std::int64_t c, const auto& kept) {
    hn::Vec<ReadVector<T>> of_y[columns];
    for (std::int64_t v = 0; v < columns; ++v) of_y[v] = kept(hn::LoadU(d, y + v * y_stride + c));
    for (std::int64_t s = 0; s < rows; ++s) {
      const auto of_x = hn::LoadU(d, x + s * x_stride + c);
      for (std::int64_t v = 0; v < columns; ++v) sum[s][v] = hn::MulAdd(of_x, of_y[v], sum[s][v]);
    }
  };
  std::int64_t c = 0;
  for (; c + lanes <= width; c += lanes) add(c, [](auto y_part) { return y_part; });
  if (c < width && width >= lanes) {  // the last vector once more, without what was summed up before
    const auto before = hn::FirstN(d, static_cast<std::size_t>(lanes - (width - c)));
    add(width - lanes, [&](auto y_part) { return hn::IfThenZeroElse(before, y_part); });
    c = width;
  }
  for (std::int64_t s = 0; s < rows; ++s)
    for (std::int64_t v = 0; v < columns; ++v) {
      T all = hn::GetLane(hn::SumOfLanes(d, sum[s][v]));
      for (std::int64_t rest = c; rest < width; ++rest) all += x[s * x_stride + rest] * y[v * y_stride + rest];
      out[s * out_stride + v] = all;
    }
}

template <std::int64_t rows, class T>
HWY_INLINE void dot_rows(const SoftReadSizes& sizes, const SoftReadBackward<T>& block, std::int64_t first) {
  const T* const x = block.context_gradient + first * block.context_gradient_stride;
  T* const out = block.scores_gradient + first * sizes.keys;
  std::int64_t j = 0;
  for (; j + 4 <= block.keys; j += 4)
    dot_tile<rows, 4>(sizes.values, x, block.context_gradient_stride, block.value + j * block.value_stride, block.value_stride, out + j, sizes.keys);
  for (; j < block.keys; ++j)
    dot_tile<rows, 1>(sizes.values, x, block.context_gradient_stride, block.value + j * block.value_stride, block.value_stride, out + j, sizes.keys);
}

// What comes back through softmax: ds_j = p_j (g_j − Σ p g), in place.
template <class T>
HWY_INLINE void through_softmax(std::int64_t keys, const T* p, T* gradient) {
  const T mean = sum_over<T>(keys, [&](auto d, std::int64_t j) { return hn::Mul(hn::LoadU(d, p + j), hn::LoadU(d, gradient + j)); });
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    hn::StoreU(hn::Mul(hn::LoadU(d, p + j), hn::Sub(hn::LoadU(d, gradient + j), hn::Set(d, mean))), d, gradient + j);
  });
}

// … and through the division by the sum: (g_j − Σ w g) / sum.
template <class T>
HWY_INLINE void through_division(std::int64_t keys, const T* weights, T by, T* gradient) {
  const T mean = sum_over<T>(keys, [&](auto d, std::int64_t j) { return hn::Mul(hn::LoadU(d, weights + j), hn::LoadU(d, gradient + j)); });
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    hn::StoreU(hn::Div(hn::Sub(hn::LoadU(d, gradient + j), hn::Set(d, mean)), hn::Set(d, by)), d, gradient + j);
  });
}

// The slope of the soft cap: 1 − (capped / cap)².
template <class T>
HWY_INLINE void through_cap(std::int64_t keys, const T* capped, double soft_cap, T* gradient) {
  const T scale = static_cast<T>(1 / soft_cap);
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    const auto tangent = hn::Mul(hn::LoadU(d, capped + j), hn::Set(d, scale));
    hn::StoreU(hn::Mul(hn::LoadU(d, gradient + j), hn::NegMulAdd(tangent, tangent, hn::Set(d, 1))), d, gradient + j);
  });
}

// From the gradient of what a row was read with, in its place, to that of its scores.
template <class T>
HWY_INLINE void backward_row(const SoftReadSizes& sizes, const SoftReadBackward<T>& block, std::int64_t i) {
  const std::int64_t keys = block.keys, at = i * sizes.keys;
  const SoftReadRules<T>& rules = block.rules;
  const T* const p = block.probabilities + at;
  T* const gradient = block.scores_gradient + at;
  T* const weights = block.scratch;
  std::copy_n(p, keys, weights);
  const T divided_by = apply_factors(rules, i, keys, weights);
  if (rules.dropout > 0) {
    T* const multipliers = block.scratch + sizes.keys;
    dropout_row(rules, i, keys, multipliers);
    multiply_rows(keys, multipliers, gradient);
    if (block.used != nullptr)
      for_lanes<T>(keys, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, weights + j), hn::LoadU(d, multipliers + j)), d, block.used + at + j); });
  } else if (block.used != nullptr) {
    std::copy_n(weights, keys, block.used + at);
  }
  if (block.weights_gradient != nullptr)
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      hn::StoreU(hn::Add(hn::LoadU(d, gradient + j), hn::LoadU(d, block.weights_gradient + at + j)), d, gradient + j);
    });
  if (divided_by != 0) through_division(keys, weights, divided_by, gradient);
  if (block.factors_gradient != nullptr)
    for_lanes<T>(keys, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, gradient + j), hn::LoadU(d, p + j)), d, block.factors_gradient + at + j); });
  if (rules.factors != nullptr) multiply_rows(keys, rules.factors + i * rules.factors_stride, gradient);
  through_softmax(keys, p, gradient);
  if (block.bias_gradient != nullptr) std::copy_n(gradient, keys, block.bias_gradient + at);
  if (rules.soft_cap > 0) through_cap(keys, block.capped + at, rules.soft_cap, gradient);
}

template <class T>
void read_backward_block(const SoftReadSizes& sizes, const SoftReadBackward<T>& block) {
  for (T* of_all : {block.scores_gradient, block.bias_gradient, block.factors_gradient, block.used})
    if (of_all != nullptr)
      for (std::int64_t i = 0; i < block.queries; ++i) std::fill(of_all + i * sizes.keys + block.keys, of_all + (i + 1) * sizes.keys, T(0));
  std::int64_t i = 0;
  if (block.context_gradient != nullptr) {
    for (; i + read_strip <= block.queries; i += read_strip) dot_rows<read_strip>(sizes, block, i);
    for (; i < block.queries; ++i) dot_rows<1>(sizes, block, i);
  } else {
    for (; i < block.queries; ++i) std::fill_n(block.scores_gradient + i * sizes.keys, block.keys, T(0));
  }
  for (i = 0; i < block.queries; ++i) backward_row(sizes, block, i);
}

template <class T>
void value_gradient_rows(const SoftReadSizes& sizes, const SoftReadValues<T>& block) {
  products(Products<T>{block.used + block.first_key, 1, sizes.keys, block.queries, block.context_gradient, block.context_gradient_stride,
                       block.value_gradient + block.first_key * sizes.values, sizes.values},
           block.count, sizes.values);
}

void soft_read_float(const SoftReadSizes& sizes, const SoftRead<float>& block) { read_block(sizes, block); }
void soft_read_double(const SoftReadSizes& sizes, const SoftRead<double>& block) { read_block(sizes, block); }
void soft_read_backward_float(const SoftReadSizes& sizes, const SoftReadBackward<float>& block) { read_backward_block(sizes, block); }
void soft_read_backward_double(const SoftReadSizes& sizes, const SoftReadBackward<double>& block) { read_backward_block(sizes, block); }
void value_gradient_float(const SoftReadSizes& sizes, const SoftReadValues<float>& block) { value_gradient_rows(sizes, block); }
void value_gradient_double(const SoftReadSizes& sizes, const SoftReadValues<double>& block) { value_gradient_rows(sizes, block); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(soft_read_float);
HWY_EXPORT(soft_read_double);
HWY_EXPORT(soft_read_backward_float);
HWY_EXPORT(soft_read_backward_double);
HWY_EXPORT(value_gradient_float);
HWY_EXPORT(value_gradient_double);

std::int64_t soft_read_scratch_size(const SoftReadSizes& sizes) { return 2 * sizes.keys; }
void soft_read(const SoftReadSizes& sizes, const SoftRead<float>& block) { HWY_DYNAMIC_DISPATCH(soft_read_float)(sizes, block); }
void soft_read(const SoftReadSizes& sizes, const SoftRead<double>& block) { HWY_DYNAMIC_DISPATCH(soft_read_double)(sizes, block); }
void soft_read_backward(const SoftReadSizes& sizes, const SoftReadBackward<float>& block) { HWY_DYNAMIC_DISPATCH(soft_read_backward_float)(sizes, block); }
void soft_read_backward(const SoftReadSizes& sizes, const SoftReadBackward<double>& block) { HWY_DYNAMIC_DISPATCH(soft_read_backward_double)(sizes, block); }
void soft_read_value_gradient(const SoftReadSizes& sizes, const SoftReadValues<float>& block) { HWY_DYNAMIC_DISPATCH(value_gradient_float)(sizes, block); }
void soft_read_value_gradient(const SoftReadSizes& sizes, const SoftReadValues<double>& block) { HWY_DYNAMIC_DISPATCH(value_gradient_double)(sizes, block); }

}  // namespace attend::kernels
#endif
