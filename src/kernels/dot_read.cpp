#include "kernels/dot_read.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/dot_read.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

// a·b, with two chains that hide the additions' latency.
template <class T>
HWY_INLINE T inner_product(std::int64_t size, const T* a, const T* b) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto first = hn::Zero(d), second = hn::Zero(d);
  std::int64_t j = 0;
  for (; j + 2 * lanes <= size; j += 2 * lanes) {
    first = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), first);
    second = hn::MulAdd(hn::LoadU(d, a + j + lanes), hn::LoadU(d, b + j + lanes), second);
  }
  for (; j + lanes <= size; j += lanes) first = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), first);
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  for (; j < size; ++j) sum += a[j] * b[j];
  return sum;
}

// out (+)= Σ_t factors[t · factor_stride] · rows_t: four vectors of it stay in registers while the rows pass.
template <bool added, class T>
HWY_INLINE void sum_of_rows(std::int64_t terms, const T* factors, std::int64_t factor_stride, const T* rows, std::int64_t row_stride, std::int64_t width,
                            T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto before = [&](auto tag, std::int64_t c) {
    if constexpr (added) return hn::LoadU(tag, out + c);
    return hn::Zero(tag);
  };
  std::int64_t c = 0;
  for (; c + 4 * lanes <= width; c += 4 * lanes) {
    auto s0 = before(d, c), s1 = before(d, c + lanes), s2 = before(d, c + 2 * lanes), s3 = before(d, c + 3 * lanes);
    for (std::int64_t t = 0; t < terms; ++t) {
      const T* row = rows + t * row_stride + c;
      const auto factor = hn::Set(d, factors[t * factor_stride]);
      s0 = hn::MulAdd(factor, hn::LoadU(d, row), s0);
      s1 = hn::MulAdd(factor, hn::LoadU(d, row + lanes), s1);
      s2 = hn::MulAdd(factor, hn::LoadU(d, row + 2 * lanes), s2);
      s3 = hn::MulAdd(factor, hn::LoadU(d, row + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, out + c);
    hn::StoreU(s1, d, out + c + lanes);
    hn::StoreU(s2, d, out + c + 2 * lanes);
    hn::StoreU(s3, d, out + c + 3 * lanes);
  }
  for_lanes<T>(width - c, [&](auto tag, std::int64_t i) {
    auto sum = before(tag, c + i);
    for (std::int64_t t = 0; t < terms; ++t)
      sum = hn::MulAdd(hn::Set(tag, factors[t * factor_stride]), hn::LoadU(tag, rows + t * row_stride + c + i), sum);
    hn::StoreU(sum, tag, out + c + i);
  });
}

template <class T>
void dot_read_forward_row(const DotReadSizes& sizes, const DotReadForward<T>& row) {
  T largest = 0;
  for (std::int64_t j = 0; j < sizes.keys; ++j) {
    const T score = row.scale * inner_product(sizes.width, row.query, row.key + j * sizes.width);
    row.weights[j] = score;
    if (j == 0 || score > largest || score != score) largest = score;
  }
  T sum = 0;
  for_lanes<T>(sizes.keys, [&](auto d, std::int64_t j) {
    const auto weight = bounded_exp(d, hn::Sub(hn::LoadU(d, row.weights + j), hn::Set(d, largest)));
    hn::StoreU(weight, d, row.weights + j);
    sum += hn::GetLane(hn::SumOfLanes(d, weight));
  });
  const T scale = 1 / sum;
  for (std::int64_t j = 0; j < sizes.keys; ++j) row.weights[j] *= scale;
  sum_of_rows<false>(sizes.keys, row.weights, 1, row.value, sizes.values, sizes.values, row.context);
}

template <class T>
void dot_read_backward_row(const DotReadSizes& sizes, const DotReadBackward<T>& row) {
  T mean = 0;
  for (std::int64_t j = 0; j < sizes.keys; ++j) {
    row.score_gradient[j] = inner_product(sizes.values, row.value + j * sizes.values, row.context_gradient);  // at first the weights'
    mean += row.weights[j] * row.score_gradient[j];
  }
  for (std::int64_t j = 0; j < sizes.keys; ++j) row.score_gradient[j] = row.scale * row.weights[j] * (row.score_gradient[j] - mean);
  sum_of_rows<true>(sizes.keys, row.score_gradient, 1, row.key, sizes.width, sizes.width, row.query_gradient);
}

template <class T>
void add_rows_of(const AddedRows<T>& rows) {
  for (std::int64_t j = 0; j < rows.sums; ++j)
    sum_of_rows<true>(rows.terms, rows.factors + j, rows.factor_stride, rows.rows, rows.row_stride, rows.width, rows.out + j * rows.width);
}

void dot_read_forward_float(const DotReadSizes& sizes, const DotReadForward<float>& row) { dot_read_forward_row(sizes, row); }
void dot_read_forward_double(const DotReadSizes& sizes, const DotReadForward<double>& row) { dot_read_forward_row(sizes, row); }
void dot_read_backward_float(const DotReadSizes& sizes, const DotReadBackward<float>& row) { dot_read_backward_row(sizes, row); }
void dot_read_backward_double(const DotReadSizes& sizes, const DotReadBackward<double>& row) { dot_read_backward_row(sizes, row); }
void add_rows_float(const AddedRows<float>& rows) { add_rows_of(rows); }
void add_rows_double(const AddedRows<double>& rows) { add_rows_of(rows); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(dot_read_forward_float);
HWY_EXPORT(dot_read_forward_double);
HWY_EXPORT(dot_read_backward_float);
HWY_EXPORT(dot_read_backward_double);
HWY_EXPORT(add_rows_float);
HWY_EXPORT(add_rows_double);

void dot_read_forward(const DotReadSizes& sizes, const DotReadForward<float>& row) { HWY_DYNAMIC_DISPATCH(dot_read_forward_float)(sizes, row); }
void dot_read_forward(const DotReadSizes& sizes, const DotReadForward<double>& row) { HWY_DYNAMIC_DISPATCH(dot_read_forward_double)(sizes, row); }
void dot_read_backward(const DotReadSizes& sizes, const DotReadBackward<float>& row) { HWY_DYNAMIC_DISPATCH(dot_read_backward_float)(sizes, row); }
void dot_read_backward(const DotReadSizes& sizes, const DotReadBackward<double>& row) { HWY_DYNAMIC_DISPATCH(dot_read_backward_double)(sizes, row); }
void add_rows(const AddedRows<float>& rows) { HWY_DYNAMIC_DISPATCH(add_rows_float)(rows); }
void add_rows(const AddedRows<double>& rows) { HWY_DYNAMIC_DISPATCH(add_rows_double)(rows); }

}  // namespace attend::kernels
#endif
