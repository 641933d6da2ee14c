// Activations on vectors, for each SIMD target: include it after <hwy/foreach_target.h>, as Highway's own -inl headers.
#if defined(ATTEND_KERNELS_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_ACTIVATIONS_INL_H_
#undef ATTEND_KERNELS_ACTIVATIONS_INL_H_
#else
#define ATTEND_KERNELS_ACTIVATIONS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x as far as it fits: beyond it σ and tanh are 0 and ±1 to the last bit. Highway's makes 0 of NaN; here it stays NaN, so that a training
// that has gone wrong is noticed.
template <class D, class V>
HWY_INLINE V bounded_exp(D d, V x) {
  const auto limit = hn::Set(d, static_cast<hn::TFromD<D>>(sizeof(hn::TFromD<D>) == 4 ? 80 : 700));
  const V bounded = hn::Max(hn::Min(x, limit), hn::Neg(limit));
  return hn::IfThenElse(hn::Eq(x, x), hn::Exp(d, bounded), x);
}

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1);
  return hn::Div(one, hn::Add(one, bounded_exp(d, hn::Neg(x))));
}

// 1 − 2 / (1 + e^{2x})
template <class D, class V>
HWY_INLINE V hyperbolic_tangent(D d, V x) {
  const V one = hn::Set(d, 1), two = hn::Set(d, 2);
  return hn::Sub(one, hn::Div(two, hn::Add(one, bounded_exp(d, hn::Add(x, x)))));
}

// Calls `at(d, j)` for whole vectors, then for single lanes.
template <class T, class F>
HWY_INLINE void for_lanes(std::int64_t size, const F& at) {
  const hn::ScalableTag<T> vector;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(vector));
  std::int64_t j = 0;
  for (; j + lanes <= size; j += lanes) at(vector, j);
  for (const hn::CappedTag<T, 1> lane; j < size; ++j) at(lane, j);
}

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
