// Of what kernels take exponentials with, on every target.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/activations_test.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/dot_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

// e^x, σ(x), tanh(x) and 2^x of `count` numbers, one after the other in `out`.
void take_activations(std::int64_t count, const float* x, float* out) {
  for_lanes<float>(count, [&](auto d, std::int64_t j) {
    const auto at = hn::LoadU(d, x + j);
    hn::StoreU(bounded_exp(d, at), d, out + j);
    hn::StoreU(sigmoid(d, at), d, out + count + j);
    hn::StoreU(hyperbolic_tangent(d, at), d, out + 2 * count + j);
    hn::StoreU(power_of_two(d, at), d, out + 3 * count + j);
  });
}

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "tests/kernels/targets.h"

namespace attend::kernels {

HWY_EXPORT(take_activations);

namespace {

struct Activations {
  std::vector<float> exponentials, sigmoids, tangents, powers;
};

Activations activations(const std::vector<float>& x) {
  const auto count = static_cast<std::ptrdiff_t>(x.size());
  std::vector<float> all(4 * x.size());
  HWY_DYNAMIC_DISPATCH(take_activations)(count, x.data(), all.data());
  const auto part = [&](std::ptrdiff_t i) { return std::vector<float>(all.begin() + i * count, all.begin() + (i + 1) * count); };
  return {part(0), part(1), part(2), part(3)};
}

constexpr double last_place = 1.0 / (1 << 23);

TEST(Activations, AreRightToTheLastPlaces) {
  std::vector<float> x;
  for (int i = -8000; i <= 8000; ++i) x.push_back(static_cast<float>(i) * 0.00999f);
  for_each_target([&] {
    const Activations got = activations(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double at = x[i], power = std::exp(at);
      ASSERT_NEAR(got.exponentials[i] / power, 1, 1.5 * last_place) << at;
      ASSERT_NEAR(got.sigmoids[i] * (1 + std::exp(-at)), 1, 3 * last_place) << at;
      ASSERT_NEAR(got.tangents[i], std::tanh(at), 1.5 * last_place) << at;
      if (at > 0) continue;
      ASSERT_NEAR(got.powers[i] / std::exp2(at), 1, 1.5 * last_place) << at;
    }
  });
}

TEST(Activations, AtTheEdges) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // as many as a vector has at most, so that vectors and single lanes see each
  const std::vector<float> kinds = {0, -infinity, infinity, nan, -1000, 1000};
  std::vector<float> x;
  for (int i = 0; i < 67; ++i) x.push_back(kinds[static_cast<std::size_t>(i) % kinds.size()]);
  for_each_target([&] {
    const Activations got = activations(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(got.exponentials[i]) && std::isnan(got.sigmoids[i]) && std::isnan(got.tangents[i]) && std::isnan(got.powers[i])) << i;
        continue;
      }
      EXPECT_EQ(got.tangents[i], x[i] == 0 ? 0 : x[i] > 0 ? 1 : -1) << i;
      EXPECT_NEAR(got.sigmoids[i], x[i] == 0 ? 0.5f : x[i] > 0 ? 1.0f : 0.0f, 1e-30) << i;
      EXPECT_TRUE(std::isfinite(got.exponentials[i])) << i;
      EXPECT_EQ(got.exponentials[i] == 1, x[i] == 0) << i;
      if (x[i] > 0) continue;
      EXPECT_EQ(got.powers[i], x[i] == 0 ? 1.0f : 0.0f) << i;
    }
  });
}

}  // namespace
}  // namespace attend::kernels
#endif
