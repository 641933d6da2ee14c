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

template <class T>
HWY_INLINE T largest_square_of(std::int64_t rows, std::int64_t width, const T* HWY_RESTRICT from, std::int64_t stride) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  T most = 0, zeros = 0;  // 0 · x shows what isn't finite, as the larger of two may not
  for (std::int64_t i = 0; i < rows; ++i, from += stride) {
    auto a = hn::Zero(d), b = hn::Zero(d);
    std::int64_t c = 0;
    for (; c + 2 * lanes <= width; c += 2 * lanes) {
      const auto x = hn::LoadU(d, from + c), y = hn::LoadU(d, from + c + lanes);
      a = hn::MulAdd(x, x, a), b = hn::MulAdd(y, y, b);
    }
    for (; c + lanes <= width; c += lanes) {
      const auto x = hn::LoadU(d, from + c);
      a = hn::MulAdd(x, x, a);
    }
    T square = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
    for (; c < width; ++c) square += from[c] * from[c];
    most = square > most ? square : most, zeros += 0 * square;
  }
  return most + zeros;
}

float squares_float(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride) { return largest_square_of(rows, width, from, stride); }
double squares_double(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride) { return largest_square_of(rows, width, from, stride); }
bool finite_float(std::int64_t count, const float* numbers) { return are_finite(count, numbers); }
bool finite_double(std::int64_t count, const double* numbers) { return are_finite(count, numbers); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(finite_float);
HWY_EXPORT(finite_double);
HWY_EXPORT(squares_float);
HWY_EXPORT(squares_double);

bool all_finite(std::int64_t count, const float* numbers) { return HWY_DYNAMIC_DISPATCH(finite_float)(count, numbers); }
bool all_finite(std::int64_t count, const double* numbers) { return HWY_DYNAMIC_DISPATCH(finite_double)(count, numbers); }
float largest_square(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride) {
  return HWY_DYNAMIC_DISPATCH(squares_float)(rows, width, from, stride);
}
double largest_square(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride) {
  return HWY_DYNAMIC_DISPATCH(squares_double)(rows, width, from, stride);
}

}  // namespace attend::kernels
#endif
