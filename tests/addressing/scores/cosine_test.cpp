#include "attend/addressing/scores/cosine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "tests/reference/attention.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(CosineScore, IsTheCosineOfTheAngle) {
  const Tensor query = at::tensor({3.0, 4.0, 0.0, -2.0}, at::kDouble).view({1, 1, 2, 2}),
               key = at::tensor({6.0, 8.0, -4.0, 3.0, 1.0, 0.0}, at::kDouble).view({1, 1, 3, 2});
  EXPECT_EQ(reference::difference("scores", reference::numbers(cosine_score(query, key)), {1, 0, 0.6, -0.8, -0.6, 0},
                                  reference::tolerance(reference::Type::float64, 2)),
            "");
  EXPECT_EQ(reference::difference("scores", reference::numbers(cosine_score(query, key, -5)), {-5, 0, -3, 4, 3, 0},
                                  reference::tolerance(reference::Type::float64, 2)),
            "");
}

TEST(CosineScore, EqualsTheLoopOverGroupedHeads) {
  const Tensor query = at::randn({2, 6, 4, 5}, at::kDouble), key = at::randn({2, 2, 3, 5}, at::kDouble);
  const reference::PairScore pair = reference::cosine(5, 7);
  std::vector<double> wanted;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 6; ++h)
      for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 3; ++j) wanted.push_back(pair(query[b][h][i].data_ptr<double>(), key[b][h / 3][j].data_ptr<double>()));
  EXPECT_EQ(reference::difference("scores", reference::numbers(cosine_score(query, key, 7)), wanted,
                                  reference::tolerance(reference::Type::float64, 5)),
            "");
}

TEST(CosineScore, AVectorOfZerosHasScoreAndGradientZero) {
  Tensor query = at::randn({1, 1, 2, 3}, at::kDouble), key = at::randn({1, 1, 3, 3}, at::kDouble);
  query[0][0][1].zero_();
  key[0][0][2].zero_();
  query.set_requires_grad(true), key.set_requires_grad(true);
  const Tensor scores = cosine_score(query, key, 4);
  EXPECT_TRUE(scores[0][0][1].equal(at::zeros({3}, at::kDouble)));
  EXPECT_TRUE(scores[0][0].select(1, 2).equal(at::zeros({2}, at::kDouble)));
  const std::vector<Tensor> first = torch::autograd::grad({scores.exp().sum()}, {query, key}, {}, true, /*create_graph=*/true);
  const std::vector<Tensor> second = torch::autograd::grad({first[0].square().sum() + first[1].square().sum()}, {query, key});
  for (const Tensor& gradient : {first[0], first[1], second[0], second[1]}) EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  EXPECT_TRUE(first[0][0][0][1].equal(at::zeros({3}, at::kDouble)));
  EXPECT_TRUE(first[1][0][0][2].equal(at::zeros({3}, at::kDouble)));
  EXPECT_GT(first[0][0][0][0].abs().sum().item<double>(), 0) << "of the other query";
}

TEST(CosineScore, HasTheGradientOfItsFormula) {
  const Tensor query = at::randn({1, 2, 2, 3}, at::kDouble).set_requires_grad(true);
  const Tensor key = at::randn({1, 1, 3, 3}, at::kDouble).set_requires_grad(true), cotangent = at::randn({1, 2, 2, 3}, at::kDouble);
  EXPECT_EQ(reference::gradient_difference([&] { return (cosine_score(query, key, 2.5) * cotangent).sum(); }, {query, key}), "");
}

TEST(CosineScore, LengthDoesntMatterHoweverFarItGoes) {
  const Tensor query = at::randn({1, 1, 2, 4}), key = at::randn({1, 1, 3, 4});
  const Tensor wanted = cosine_score(query, key);
  for (const double factor : {1e-30, 1e30})  // whose squares no float32 holds
    EXPECT_TRUE(at::allclose(cosine_score(query * factor, key), wanted, 1e-5, 1e-6)) << factor;
}

TEST(CosineScore, SizesMayBeZero) {
  EXPECT_EQ(cosine_score(at::zeros({0, 2, 3, 4}), at::zeros({0, 2, 5, 4})).sizes(), at::IntArrayRef({0, 2, 3, 5}));
  EXPECT_EQ(cosine_score(at::zeros({1, 2, 3, 4}), at::zeros({1, 1, 0, 4})).sizes(), at::IntArrayRef({1, 2, 3, 0}));
  EXPECT_TRUE(cosine_score(at::zeros({1, 2, 3, 0}), at::zeros({1, 1, 5, 0})).equal(at::zeros({1, 2, 3, 5})));
}

TEST(CosineScore, RefusesWhatDoesntFit) {
  const Tensor query = at::zeros({2, 6, 3, 4});
  EXPECT_THAT([&] { cosine_score(query[0], query); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::cosine_score: expected query [B, Hq, Lq, Dk], got [6, 3, 4]")));
  EXPECT_THAT(
      [&] {
        cosine_score(query, at::zeros({2, 6, 5, 3}));
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("attend::addressing::cosine_score: expected key [B, Hkv, Lk, Dk] with B = 2, Dk = 4, got [2, 6, 5, 3]")));
  EXPECT_THAT(
      [&] {
        cosine_score(query, at::zeros({2, 4, 5, 4}), 1, "mine");
      },
      ThrowsMessage<InvalidArgument>(StrEq("mine: expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 4")));
  EXPECT_THAT([&] { cosine_score(query, query, std::numeric_limits<double>::infinity()); },
              ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::cosine_score: expected a finite scale, got inf")));
}

}  // namespace
}  // namespace attend::addressing
