#include "attend/core/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Path, HasANameForEachOfItsValues) {
  EXPECT_EQ(name_of(Path::automatic), "automatic");
  EXPECT_EQ(name_of(Path::fused), "fused");
  EXPECT_EQ(name_of(Path::composed), "composed");
  EXPECT_THAT(names_of<Path>(), testing::ElementsAre("automatic", "fused", "composed"));
}

TEST(AttentionResult, HasNoWeightsUnlessTheyAreFilledIn) {
  const AttentionResult result{at::zeros({1, 1, 2, 3}), {}};
  EXPECT_TRUE(result.context.defined());
  EXPECT_FALSE(result.weights.defined());
}

TEST(AttentionResult, BindsAsContextAndWeights) {
  const AttentionResult result{at::zeros({1}), at::ones({2})};
  const auto [context, weights] = result;
  EXPECT_TRUE(context.is_same(result.context));
  EXPECT_TRUE(weights.is_same(result.weights));
  EXPECT_FALSE(result.log_probability.defined());
  EXPECT_FALSE(result.entropy.defined());
}

}  // namespace
}  // namespace attend
