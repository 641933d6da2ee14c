#include "attend/addressing/scores/dot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(DotScore, IsTheScaledProductOfEachPair) {
  const Tensor query = at::tensor({1.0, 2.0, 0.0, -1.0}).view({1, 1, 2, 2}),
               key = at::tensor({3.0, 4.0, 5.0, 6.0, 0.5, 0.0}).view({1, 1, 3, 2});
  EXPECT_TRUE(dot_score(query, key).equal(at::tensor({11.0, 17.0, 0.5, -4.0, -6.0, 0.0}).view({1, 1, 2, 3})));
  EXPECT_TRUE(dot_score(query, key, -2).equal(at::tensor({-22.0, -34.0, -1.0, 8.0, 12.0, 0.0}).view({1, 1, 2, 3})));
}

TEST(DotScore, AQueryHeadReadsTheKeyHeadOfItsGroup) {
  const Tensor query = at::randn({2, 6, 3, 4}, at::kDouble), key = at::randn({2, 2, 5, 4}, at::kDouble);
  const Tensor scores = dot_score(query, key);
  for (std::int64_t h = 0; h < 6; ++h)
    EXPECT_TRUE(at::allclose(scores.select(1, h), at::matmul(query.select(1, h), key.select(1, h / 3).transpose(1, 2)), 1e-13, 1e-13));
}

TEST(DotScore, HasTheGradientOfItsFormula) {
  const Tensor query = at::randn({1, 2, 2, 3}, at::kDouble).set_requires_grad(true);
  const Tensor key = at::randn({1, 1, 3, 3}, at::kDouble).set_requires_grad(true), cotangent = at::randn({1, 2, 2, 3}, at::kDouble);
  EXPECT_EQ(reference::gradient_difference([&] { return (dot_score(query, key, 0.7) * cotangent).sum(); }, {query, key}), "");
}

TEST(DotScore, SizesMayBeZero) {
  EXPECT_EQ(dot_score(at::zeros({0, 2, 3, 4}), at::zeros({0, 2, 5, 4})).sizes(), at::IntArrayRef({0, 2, 3, 5}));
  EXPECT_EQ(dot_score(at::zeros({1, 2, 3, 4}), at::zeros({1, 1, 0, 4})).sizes(), at::IntArrayRef({1, 2, 3, 0}));
}

TEST(DotScore, RefusesShapesThatDontFit) {
  const Tensor query = at::zeros({2, 6, 3, 4});
  EXPECT_THAT([&] { dot_score(query.squeeze(0)[0], query); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::dot_score: expected query [B, Hq, Lq, Dk], got [6, 3, 4]")));
  EXPECT_THAT(
      [&] {
        dot_score(query, at::zeros({2, 6, 5, 3}));
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("attend::addressing::dot_score: expected key [B, Hkv, Lk, Dk] with B = 2, Dk = 4, got [2, 6, 5, 3]")));
  EXPECT_THAT(
      [&] {
        dot_score(query, at::zeros({2, 4, 5, 4}), 1, "mine");
      },
      ThrowsMessage<InvalidArgument>(StrEq("mine: expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 4")));
  EXPECT_THAT(
      [&] {
        dot_score(query, at::zeros({2, 0, 5, 4}));
      },
      ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::dot_score: expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 0")));
}

TEST(RepeatHeads, HeadHIsTheGivenHeadHDividedByTheGroup) {
  const Tensor given = at::arange(2, at::kDouble).view({1, 2, 1, 1});
  EXPECT_TRUE(repeat_heads(given, 6).flatten().equal(at::tensor({0.0, 0.0, 0.0, 1.0, 1.0, 1.0})));
  EXPECT_TRUE(repeat_heads(given, 2).is_same(given)) << "nothing to repeat: no copy";
  EXPECT_THAT([&] { repeat_heads(given, 5); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("attend::addressing::repeat_heads: expected Hq to be a multiple of Hkv, got Hq = 5 and Hkv = 2")));
}

}  // namespace
}  // namespace attend::addressing
