// Highway.
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <array>

namespace {

TEST(Dependencies, HighwayAddsAndKnowsTheMachine) {
  namespace simd = hwy::HWY_NAMESPACE;
  const simd::CappedTag<float, 4> four;
  std::array<float, 4> sums{};
  simd::StoreU(simd::Add(simd::Set(four, 1.5f), simd::Set(four, 2.0f)), four, sums.data());
  EXPECT_EQ(sums[0], 3.5f);
  EXPECT_NE(hwy::SupportedTargets(), 0);  // from the library, not from the header
}

}  // namespace
