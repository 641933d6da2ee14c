#include "attend/addressing/scores/general.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/reference/attention.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(GeneralScore, IsTheBilinearFormOfEachPair) {
  // q = (1, 2), W = [[1, 0, 2], [0, 3, 1]]: qᵀW = (1, 6, 4)
  const Tensor query = at::tensor({1.0, 2.0}).view({1, 1, 1, 2}), weight = at::tensor({1.0, 0.0, 2.0, 0.0, 3.0, 1.0}).view({2, 3});
  const Tensor key = at::tensor({1.0, 1.0, 1.0, 2.0, -1.0, 0.5}).view({1, 1, 2, 3});
  EXPECT_TRUE(general_score(query, key, weight).equal(at::tensor({11.0, -2.0}).view({1, 1, 1, 2})));
}

TEST(GeneralScore, EqualsTheLoopWithOneWeightForAllHeads) {
  const Tensor query = at::randn({2, 3, 4, 5}, at::kDouble), key = at::randn({2, 3, 6, 7}, at::kDouble),
               weight = at::randn({5, 7}, at::kDouble);
  const reference::PairScore pair = reference::general(reference::numbers(weight), 5, 7);
  std::vector<double> wanted;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 6; ++j) wanted.push_back(pair(query[b][h][i].data_ptr<double>(), key[b][h][j].data_ptr<double>()));
  EXPECT_EQ(reference::difference("scores", reference::numbers(general_score(query, key, weight)), wanted,
                                  reference::tolerance(reference::Type::float64, 5 * 7)),
            "");
}

TEST(GeneralScore, HasTheGradientOfItsFormula) {
  const Tensor query = at::randn({1, 2, 2, 3}, at::kDouble).set_requires_grad(true),
               weight = at::randn({3, 4}, at::kDouble).set_requires_grad(true);
  const Tensor key = at::randn({1, 2, 3, 4}, at::kDouble).set_requires_grad(true), cotangent = at::randn({1, 2, 2, 3}, at::kDouble);
  EXPECT_EQ(reference::gradient_difference([&] { return (general_score(query, key, weight) * cotangent).sum(); }, {query, key, weight}),
            "");
}

TEST(GeneralScore, RefusesShapesThatDontFit) {
  const Tensor query = at::zeros({2, 3, 4, 5}), key = at::zeros({2, 3, 6, 7});
  EXPECT_THAT(
      [&] {
        general_score(query[0], key, at::zeros({5, 7}));
      },
      ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::general_score: expected query [B, H, Lq, Dq], got [3, 4, 5]")));
  EXPECT_THAT(
      [&] {
        general_score(query, at::zeros({2, 1, 6, 7}), at::zeros({5, 7}));
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("attend::addressing::general_score: expected key [B, H, Lk, Dk] with B = 2, H = 3, got [2, 1, 6, 7]")));
  EXPECT_THAT(
      [&] {
        general_score(query, key, at::zeros({7, 5}));
      },
      ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::general_score: expected weight [Dq, Dk] with Dq = 5, Dk = 7, got [7, 5]")));
}

}  // namespace
}  // namespace attend::addressing
