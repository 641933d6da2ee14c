#include "kernels/maxout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/maxout.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void maxout_forward_row(std::int64_t size, const MaxoutForward<T>& row) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + lanes <= size; j += lanes) {
    hn::Vec<decltype(d)> first, second;
    hn::LoadInterleaved2(d, row.pairs + 2 * j, first, second);
    const auto takes_second = hn::And(hn::Eq(first, first), hn::Not(hn::Ge(first, second)));
    hn::StoreU(hn::IfThenElse(takes_second, second, first), d, row.largest + j);
    hn::StoreU(hn::IfThenElseZero(takes_second, hn::Set(d, 1)), d, row.second + j);
  }
  for (; j < size; ++j) {
    const T first = row.pairs[2 * j], second = row.pairs[2 * j + 1];
    const bool takes_second = first == first && !(first >= second);
    row.largest[j] = takes_second ? second : first;
    row.second[j] = takes_second ? 1 : 0;
  }
}

template <class T>
void maxout_backward_row(std::int64_t size, const MaxoutBackward<T>& row) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + lanes <= size; j += lanes) {
    const auto gradient = hn::LoadU(d, row.largest_gradient + j);
    const auto to_first = hn::Eq(hn::LoadU(d, row.second + j), hn::Zero(d));
    hn::StoreInterleaved2(hn::IfThenElseZero(to_first, gradient), hn::IfThenZeroElse(to_first, gradient), d, row.pairs_gradient + 2 * j);
  }
  for (; j < size; ++j) {
    const bool to_first = row.second[j] == 0;
    row.pairs_gradient[2 * j] = to_first ? row.largest_gradient[j] : 0;
    row.pairs_gradient[2 * j + 1] = to_first ? 0 : row.largest_gradient[j];
  }
}

void maxout_forward_float(std::int64_t size, const MaxoutForward<float>& row) { maxout_forward_row(size, row); }
void maxout_forward_double(std::int64_t size, const MaxoutForward<double>& row) { maxout_forward_row(size, row); }
void maxout_backward_float(std::int64_t size, const MaxoutBackward<float>& row) { maxout_backward_row(size, row); }
void maxout_backward_double(std::int64_t size, const MaxoutBackward<double>& row) { maxout_backward_row(size, row); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(maxout_forward_float);
HWY_EXPORT(maxout_forward_double);
HWY_EXPORT(maxout_backward_float);
HWY_EXPORT(maxout_backward_double);

void maxout_forward(std::int64_t size, const MaxoutForward<float>& row) { HWY_DYNAMIC_DISPATCH(maxout_forward_float)(size, row); }
void maxout_forward(std::int64_t size, const MaxoutForward<double>& row) { HWY_DYNAMIC_DISPATCH(maxout_forward_double)(size, row); }
void maxout_backward(std::int64_t size, const MaxoutBackward<float>& row) { HWY_DYNAMIC_DISPATCH(maxout_backward_float)(size, row); }
void maxout_backward(std::int64_t size, const MaxoutBackward<double>& row) { HWY_DYNAMIC_DISPATCH(maxout_backward_double)(size, row); }

}  // namespace attend::kernels
#endif
