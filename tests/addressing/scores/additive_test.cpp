#include "attend/addressing/scores/additive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(AdditiveScore, IsTheWeightedSumOfTheTangents) {
  const Tensor query = at::tensor({0.5, -1.0}, at::kDouble).view({1, 1, 1, 2}), weight = at::tensor({2.0, -3.0}, at::kDouble);
  const Tensor key = at::tensor({0.0, 1.0, 0.25, 40.0}, at::kDouble).view({1, 1, 2, 2});
  const Tensor scores = additive_score(query, key, weight);
  EXPECT_EQ(scores.sizes(), at::IntArrayRef({1, 1, 1, 2}));
  EXPECT_EQ(reference::difference("scores", reference::numbers(scores), {2 * std::tanh(0.5), 2 * std::tanh(0.75) - 3},
                                  reference::tolerance(reference::Type::float64, 2)),
            "");
}

TEST(AdditiveScore, PairsEachQueryWithEachKeyOfItsHead) {
  const Tensor query = at::randn({2, 3, 4, 5}, at::kDouble), key = at::randn({2, 3, 6, 5}, at::kDouble),
               weight = at::randn({5}, at::kDouble);
  const Tensor scores = additive_score(query, key, weight);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 6; ++j)
          EXPECT_NEAR(scores[b][h][i][j].item<double>(), weight.dot((query[b][h][i] + key[b][h][j]).tanh()).item<double>(), 1e-13);
}

TEST(AdditiveScore, HasTheGradientOfItsFormula) {
  const Tensor query = at::randn({1, 2, 2, 3}, at::kDouble).set_requires_grad(true),
               weight = at::randn({3}, at::kDouble).set_requires_grad(true);
  const Tensor key = at::randn({1, 2, 4, 3}, at::kDouble).set_requires_grad(true), cotangent = at::randn({1, 2, 2, 4}, at::kDouble);
  EXPECT_EQ(reference::gradient_difference([&] { return (additive_score(query, key, weight) * cotangent).sum(); }, {query, key, weight}),
            "");
}

TEST(AdditiveScore, RefusesShapesThatDontFit) {
  const Tensor query = at::zeros({2, 3, 4, 5}), key = at::zeros({2, 3, 6, 5}), weight = at::zeros({5});
  EXPECT_THAT([&] { additive_score(query[0], key, weight); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::additive_score: expected query [B, H, Lq, A], got [3, 4, 5]")));
  EXPECT_THAT(
      [&] {
        additive_score(query, at::zeros({2, 1, 6, 5}), weight);
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("attend::addressing::additive_score: expected key [B, H, Lk, A] with B = 2, H = 3, A = 5, got [2, 1, 6, 5]")));
  EXPECT_THAT(
      [&] {
        additive_score(query, key, at::zeros({1, 5}));
      },
      ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::additive_score: expected weight [A] with A = 5, got [1, 5]")));
}

}  // namespace
}  // namespace attend::addressing
