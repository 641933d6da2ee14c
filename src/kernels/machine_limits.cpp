#include "kernels/machine_limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/machine_limits.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;

// Twelve variables, not an array: compilers keep these in registers.
MultiplyAdds run_chains(std::int64_t rounds) {
  const Floats d;
  const auto half = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
  auto x0 = hn::Zero(d), x1 = hn::Set(d, 1.0f), x2 = hn::Set(d, 2.0f), x3 = hn::Set(d, 3.0f), x4 = hn::Set(d, 4.0f), x5 = hn::Set(d, 5.0f);
  auto x6 = hn::Set(d, 6.0f), x7 = hn::Set(d, 7.0f), x8 = hn::Set(d, 8.0f), x9 = hn::Set(d, 9.0f), x10 = hn::Set(d, 10.0f), x11 = hn::Set(d, 11.0f);
  for (std::int64_t i = 0; i < rounds; ++i) {
    x0 = hn::MulAdd(x0, half, one), x1 = hn::MulAdd(x1, half, one), x2 = hn::MulAdd(x2, half, one), x3 = hn::MulAdd(x3, half, one);
    x4 = hn::MulAdd(x4, half, one), x5 = hn::MulAdd(x5, half, one), x6 = hn::MulAdd(x6, half, one), x7 = hn::MulAdd(x7, half, one);
    x8 = hn::MulAdd(x8, half, one), x9 = hn::MulAdd(x9, half, one), x10 = hn::MulAdd(x10, half, one), x11 = hn::MulAdd(x11, half, one);
  }
  double sum = 0;
  for (const auto x : {x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11}) sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, x)));
  return {2.0 * static_cast<double>(multiply_add_chains_count * rounds) * static_cast<double>(hn::Lanes(d)), sum};
}

double sweep(std::int64_t count, const float* data) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, data + i)), s1 = hn::Add(s1, hn::LoadU(d, data + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, data + i + 2 * lanes)), s3 = hn::Add(s3, hn::LoadU(d, data + i + 3 * lanes));
  }
  double sum = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)))));
  for (; i < count; ++i) sum += static_cast<double>(data[i]);
  return sum;
}

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(run_chains);
HWY_EXPORT(sweep);

}  // namespace

MultiplyAdds multiply_add_chains(std::int64_t rounds) { return HWY_DYNAMIC_DISPATCH(run_chains)(rounds); }

double read_sweep(std::int64_t count, const float* data) { return HWY_DYNAMIC_DISPATCH(sweep)(count, data); }

}  // namespace attend::kernels
#endif
