#include "kernels/finite.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/finite.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// 0 · x is 0 for finite x and NaN for others; sums of zeros stay 0.
template <class T>
HWY_INLINE bool are_finite(std::int64_t count, const T* HWY_RESTRICT numbers) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  auto a = zero, b = zero, c = zero, e = zero;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::MulAdd(hn::LoadU(d, numbers + i), zero, a);
    b = hn::MulAdd(hn::LoadU(d, numbers + i + lanes), zero, b);
    c = hn::MulAdd(hn::LoadU(d, numbers + i + 2 * lanes), zero, c);
    e = hn::MulAdd(hn::LoadU(d, numbers + i + 3 * lanes), zero, e);
  }
  T rest = 0;
  for (; i < count; ++i) rest += 0 * numbers[i];
  const auto all = hn::Add(hn::Add(a, b), hn::Add(c, e));
  return rest == 0 && hn::AllTrue(d, hn::Eq(all, zero));
}

bool finite_float(std::int64_t count, const float* numbers) { return are_finite(count, numbers); }
bool finite_double(std::int64_t count, const double* numbers) { return are_finite(count, numbers); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(finite_float);
HWY_EXPORT(finite_double);

bool all_finite(std::int64_t count, const float* numbers) { return HWY_DYNAMIC_DISPATCH(finite_float)(count, numbers); }
bool all_finite(std::int64_t count, const double* numbers) { return HWY_DYNAMIC_DISPATCH(finite_double)(count, numbers); }

}  // namespace attend::kernels
#endif
