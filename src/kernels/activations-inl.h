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

// Numbers are next to each other there: what is added to it is rounded to a whole number, which then stands in the lowest bits.
constexpr float whole_numbers = 12582912;  // 1.5 · 2^23

// p · 2^n, where n was added to whole_numbers. Not by adding exponents: a product keeps NaN.
template <class D, class V>
HWY_INLINE V times_power_of_two(D d, V p, V rounded) {
  const hn::RebindToSigned<D> bits;
  return hn::Mul(p, hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(hn::BitCast(bits, rounded)), hn::Set(bits, 127 << 23))));
}

// e^x for |x| ≤ 87, right to the last bit but one; what NaN becomes is left open. x = n · log 2 + r with a polynomial for e^r, |r| ≤ ½ log 2 (relative
// error 2e-8); log 2 comes in two parts, of which the first times n is exact. Half as many instructions as Highway's.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr, class V>
HWY_INLINE V exponential(D d, V x) {
  const V shift = hn::Set(d, whole_numbers), rounded = hn::MulAdd(x, hn::Set(d, 1.44269504f), shift), n = hn::Sub(rounded, shift);
  const V r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x));
  V p = hn::MulAdd(hn::Set(d, 1.384365372e-3f), r, hn::Set(d, 8.374155499e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.166800156e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.666643173e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.999999404e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  return times_power_of_two(d, p, rounded);
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr, class V>
HWY_INLINE V exponential(D d, V x) {
  return hn::Exp(d, x);
}

// e^x as far as it fits: beyond it σ and tanh are 0 and ±1 to the last bit. NaN stays NaN, so that a training that has gone wrong is noticed.
template <class D, class V>
HWY_INLINE V bounded_exp(D d, V x) {
  const auto limit = hn::Set(d, static_cast<hn::TFromD<D>>(sizeof(hn::TFromD<D>) == 4 ? 80 : 700));
  const V bounded = hn::Max(hn::Min(x, limit), hn::Neg(limit));
  return hn::IfThenElse(hn::Eq(x, x), exponential(d, bounded), x);
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
