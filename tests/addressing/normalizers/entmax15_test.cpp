#include "attend/addressing/normalizers/entmax15.h"

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

Tensor entmax15_rows(const Tensor& scores, const std::optional<Tensor>& keep) {
  return weights_by_rows(scores, keep, [](const auto& row, auto, auto, auto) { return reference::entmax_row(row, 1.5); });
}

TEST(Entmax15, IsTheSquareOfWhatExceedsTheThreshold) {
  // by hand: with s / 2 = 0.8 and 0.6 the threshold is 0, and what lies below it is out; two that tie share
  const Tensor scores = at::tensor({1.6, 1.2, -0.1, 3.0, 3.0, 0.0}, at::kDouble).view({1, 1, 2, 3});
  EXPECT_EQ(weight_difference(entmax15(scores, {}), at::tensor({0.64, 0.36, 0.0, 0.5, 0.5, 0.0}, at::kDouble).view({1, 1, 2, 3})), "");
}

TEST(Entmax15, EqualsBisectionForAnyNumberOfKeysAndSpread) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16})
    for (const std::int64_t Lk : {1, 2, 7, 64, 300})
      for (const double spread : {0.01, 0.5, 3.0}) {
        const Tensor scores = peaky_scores({2, 3, 4, Lk}, spread).to(type), keep = some_hidden(2, 4, Lk);
        EXPECT_EQ(weight_difference(entmax15(scores, {}), entmax15_rows(scores, {})), "") << type << " " << Lk << " " << spread;
        EXPECT_EQ(weight_difference(entmax15(scores, keep), entmax15_rows(scores, keep)), "") << type << " " << Lk << " " << spread;
        EXPECT_EQ(entmax15(scores, keep).scalar_type(), type);
      }
}

TEST(Entmax15, IsNotDisturbedByTheSizeOfScores) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor scores = at::tensor({1e300, 1e300, -1e300, -infinity, 1e4, 1e4, -1e5, 0.0}, at::kDouble).view({1, 1, 2, 4});
  EXPECT_EQ(weight_difference(entmax15(scores, {}), at::tensor({0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0}, at::kDouble).view({1, 1, 2, 4})), "");
}

TEST(Entmax15, ARowWithoutAVisibleKeyIsZeroAndNaNStaysInItsRow) {
  Tensor scores = peaky_scores({2, 3, 4, 5});
  scores[0][0][3].fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor weights = entmax15(scores, some_hidden(2, 4, 5));
  EXPECT_TRUE(weights.select(2, 1).equal(at::zeros({2, 3, 5}, at::kDouble)));
  EXPECT_TRUE(weights[0][0][3].isnan().all().item<bool>());
  EXPECT_EQ(weights.isnan().sum().item<int>(), 5);
}

TEST(Entmax15, HasTheDerivativesOfItsFormula) {
  const Tensor scores = peaky_scores({2, 2, 3, 5}, 0.7).set_requires_grad(true), keep = some_hidden(2, 3, 5);
  EXPECT_EQ(derivative_difference([](const Tensor& s) { return entmax15(s, {}); }, scores), "");
  EXPECT_EQ(derivative_difference([&](const Tensor& s) { return entmax15(s, keep); }, scores), "");
  const Tensor gradient = torch::autograd::grad({(entmax15(scores, keep) * peaky_scores({2, 2, 3, 5}, 1, 9)).sum()}, {scores})[0];
  EXPECT_TRUE(gradient.select(2, 1).equal(at::zeros({2, 2, 5}, at::kDouble))) << "of a row without a visible key";
}

TEST(Entmax15, MemoryLayoutAndEmptySizesDontMatter) {
  const Tensor scores = peaky_scores({2, 3, 4, 5});
  EXPECT_TRUE(entmax15(scores.transpose(2, 3).contiguous().transpose(2, 3), {}).equal(entmax15(scores, {})));
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {1, 1, 0, 3}, {1, 2, 3, 0}})
    EXPECT_EQ(entmax15(at::zeros(sizes), {}).sizes(), at::IntArrayRef(sizes));
}

TEST(Entmax15, RefusesWhatDoesntFit) {
  EXPECT_THAT([] { entmax15(at::zeros({2, 3}), {}); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::entmax15: expected scores [B, H, Lq, Lk], got [2, 3]")));
}

}  // namespace
}  // namespace attend::addressing
