#include "attend/addressing/normalizers/uniform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "attend/base/error.h"
#include "tests/addressing/normalizers/rows.h"
#include "tests/reference/normalizers.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(Uniform, SharesAmongVisibleKeysAlike) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const Tensor scores = peaky_scores({2, 3, 4, 5}).to(type), keep = some_hidden(2, 4, 5);
    const auto row = [](const auto& seen, auto, auto, auto) { return reference::uniform_row(seen); };
    EXPECT_EQ(weight_difference(masked_uniform(scores, {}), weights_by_rows(scores, {}, row)), "");
    EXPECT_EQ(weight_difference(masked_uniform(scores, keep), weights_by_rows(scores, keep, row)), "");
    EXPECT_TRUE(masked_uniform(scores, keep).select(2, 1).equal(at::zeros({2, 3, 5}, type))) << "a row without a visible key";
  }
}

TEST(Uniform, MinusInfinityHidesAndNoOtherNumberMatters) {
  const Tensor scores = at::tensor({1e300, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}, at::kDouble);
  EXPECT_TRUE(masked_uniform(scores.view({1, 1, 1, 3}), {}).flatten().equal(at::tensor({0.5, 0.5, 0.0}, at::kDouble)));
}

TEST(Uniform, HasNoGradient) { EXPECT_FALSE(masked_uniform(peaky_scores({1, 1, 2, 3}).set_requires_grad(true), {}).requires_grad()); }

TEST(Uniform, SizesMayBeZero) {
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {1, 1, 0, 3}, {1, 2, 3, 0}})
    EXPECT_EQ(masked_uniform(at::zeros(sizes), {}).sizes(), at::IntArrayRef(sizes));
}

TEST(Uniform, RefusesWhatDoesntFit) {
  EXPECT_THAT([] { masked_uniform(Tensor(), {}); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::masked_uniform: expected scores [B, H, Lq, Lk], got an undefined tensor")));
}

}  // namespace
}  // namespace attend::addressing
