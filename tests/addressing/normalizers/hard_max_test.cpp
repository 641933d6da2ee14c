#include "attend/addressing/normalizers/hard_max.h"

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

Tensor hard_max_rows(const Tensor& scores, const std::optional<Tensor>& keep) {
  return weights_by_rows(scores, keep, [](const auto& seen, auto, auto, auto) { return reference::hard_max_row(seen); });
}

TEST(HardMax, TakesTheBestVisibleKeyAlone) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const Tensor scores = peaky_scores({2, 3, 4, 9}).to(type), keep = some_hidden(2, 4, 9);
    EXPECT_TRUE(hard_max(scores, {}).to(at::kDouble).equal(hard_max_rows(scores, {})));
    EXPECT_TRUE(hard_max(scores, keep).to(at::kDouble).equal(hard_max_rows(scores, keep)));
    EXPECT_TRUE(hard_max(scores, keep).select(2, 1).equal(at::zeros({2, 3, 9}, type))) << "a row without a visible key";
  }
}

TEST(HardMax, OfSeveralThatTieTheFirst) {
  for (const std::int64_t Lk : {2, 7, 8, 33, 1000}) {
    const Tensor scores = (peaky_scores({2, 3, 4, Lk}, 1.0).round());  // many tie
    EXPECT_TRUE(hard_max(scores, {}).equal(hard_max_rows(scores, {}))) << Lk;
    EXPECT_TRUE(hard_max(scores.to(at::kFloat), {}).to(at::kDouble).equal(hard_max_rows(scores, {}))) << Lk;
    const Tensor same = at::zeros({1, 1, 2, Lk}), first = hard_max(same, {}).select(-1, 0);
    EXPECT_TRUE(first.equal(at::ones({1, 1, 2}))) << Lk;
    EXPECT_TRUE(hard_max(scores.transpose(2, 3).contiguous().transpose(2, 3), {}).equal(hard_max_rows(scores, {}))) << Lk << ", not contiguous";
  }
}

TEST(HardMax, NaNStaysInItsRow) {
  Tensor scores = peaky_scores({1, 1, 3, 4});
  scores[0][0][1][2] = scores[0][0][2][2] = std::numeric_limits<double>::quiet_NaN();
  Tensor keep = at::ones({1, 1, 3, 4}, at::kBool);
  keep[0][0][2][2] = false;
  const Tensor weights = hard_max(scores, keep);
  EXPECT_TRUE(weights[0][0][1].isnan().all().item<bool>());
  EXPECT_EQ(weights[0][0][0].sum().item<double>(), 1);
  EXPECT_EQ(weights[0][0][2].sum().item<double>(), 1) << "a hidden NaN isn't seen";
}

TEST(HardMax, HasNoGradient) { EXPECT_FALSE(hard_max(peaky_scores({1, 1, 2, 3}).set_requires_grad(true), {}).requires_grad()); }

TEST(HardMax, SizesMayBeZero) {
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {1, 1, 0, 3}, {1, 2, 3, 0}})
    EXPECT_EQ(hard_max(at::zeros(sizes), {}).sizes(), at::IntArrayRef(sizes));
}

TEST(HardMax, RefusesWhatDoesntFit) {
  EXPECT_THAT([] { hard_max(at::zeros({2, 3}), {}); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::hard_max: expected scores [B, H, Lq, Lk], got [2, 3]")));
}

}  // namespace
}  // namespace attend::addressing
