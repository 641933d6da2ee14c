#include "attend/addressing/simd_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace attend::addressing {
namespace {

TEST(SimdTarget, IsOneOfHighwaysNames) {
  std::vector<std::string> names;
  for (int bit = 0; bit < 63; ++bit) names.push_back(hwy::TargetName(std::int64_t{1} << bit));
  std::erase(names, "Unknown");
  EXPECT_FALSE(simd_target().empty());
  EXPECT_THAT(names, testing::Contains(simd_target()));
}

TEST(SimdTarget, FollowsWhatDispatchMayTake) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_EQ(simd_target(), hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(simd_target(), hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()));
}

}  // namespace
}  // namespace attend::addressing
