#include "attend/addressing/dropout.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/reference/philox.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

constexpr std::int64_t any_seed = 0x7edcba9876543210;

Tensor double_multipliers(at::IntArrayRef sizes, double probability, const DropoutOrigin& origin = {}) {
  return dropout_multipliers(sizes, probability, any_seed, at::zeros({}, at::kDouble), origin);
}

TEST(DropoutMultipliers, AreDecidedByTheWordOfTheirPlace) {
  for (const double probability : {0.1, 0.5, 0.9}) {
    const Tensor multipliers = double_multipliers({2, 3, 4, 11}, probability);
    std::vector<double> wanted;
    for (int b = 0; b < 2; ++b)
      for (int h = 0; h < 3; ++h)
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 11; ++j)
            wanted.push_back(reference::is_dropped(any_seed, probability, b, h, i, j) ? 0 : 1 / (1 - probability));
    EXPECT_EQ(reference::numbers(multipliers), wanted);
  }
}

TEST(DropoutMultipliers, DropNothingOrEverythingAtTheEnds) {
  EXPECT_TRUE(double_multipliers({1, 2, 3, 5}, 0).equal(at::ones({1, 2, 3, 5}, at::kDouble)));
  EXPECT_TRUE(double_multipliers({1, 2, 3, 5}, 1).equal(at::zeros({1, 2, 3, 5}, at::kDouble)));
}

TEST(DropoutMultipliers, OfAPartAreThoseOfTheWhole) {
  const Tensor whole = double_multipliers({3, 4, 5, 13}, 0.4);
  const Tensor part = double_multipliers({2, 2, 3, 6}, 0.4, {.batch = 1, .head = 2, .query = 2, .key = 5});
  EXPECT_TRUE(part.equal(whole.slice(0, 1, 3).slice(1, 2, 4).slice(2, 2, 5).slice(3, 5, 11)));
}

TEST(DropoutMultipliers, AreTheSameForAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Tensor one = double_multipliers({2, 8, 64, 65}, 0.3);
  at::set_num_threads(3);
  const Tensor three = double_multipliers({2, 8, 64, 65}, 0.3);
  at::set_num_threads(before);
  EXPECT_TRUE(one.equal(three));
}

TEST(DropoutMultipliers, HaveTheTypeOfTheWeightsAndNoGradient) {
  const Tensor in_double = double_multipliers({1, 1, 4, 9}, 0.5);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const Tensor multipliers = dropout_multipliers({1, 1, 4, 9}, 0.5, any_seed, at::zeros({}, type).set_requires_grad(true));
    EXPECT_EQ(multipliers.scalar_type(), type);
    EXPECT_FALSE(multipliers.requires_grad());
    EXPECT_TRUE(multipliers.to(at::kDouble).equal(in_double)) << "0 and 2 are exact in each type";
  }
}

TEST(DropoutMultipliers, SizesMayBeZero) {
  for (const std::vector<std::int64_t>& sizes :
       std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {1, 0, 2, 3}, {1, 1, 0, 3}, {1, 1, 2, 0}})
    EXPECT_EQ(double_multipliers(sizes, 0.5).sizes(), at::IntArrayRef(sizes));
}

TEST(DropoutMultipliers, RefuseWhatDoesntFit) {
  constexpr auto probability = "attend::addressing::dropout_multipliers: expected a probability from 0 to 1, got ";
  EXPECT_THAT([] { double_multipliers({1, 1, 1, 1}, 1.5); }, ThrowsMessage<InvalidArgument>(StrEq(std::string(probability) + "1.5")));
  EXPECT_THAT([] { double_multipliers({1, 1, 1, 1}, -0.5); }, ThrowsMessage<InvalidArgument>(StrEq(std::string(probability) + "-0.5")));
  EXPECT_THAT(
      [] {
        double_multipliers({1, 1, 1, 1}, std::nan(""));
      },
      ThrowsMessage<InvalidArgument>(StrEq(std::string(probability) + "nan")));
  EXPECT_THAT(
      [] {
        double_multipliers({2, 3}, 0.5);
      },
      ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::dropout_multipliers: expected sizes [B, H, Lq, Lk], got [2, 3]")));
  EXPECT_THAT(
      [] {
        dropout_multipliers({1, 1, 1, 1}, 0.5, any_seed, at::zeros({}, at::kLong));
      },
      ThrowsMessage<NotSupported>(
          StrEq("attend::addressing::dropout_multipliers: expected like of a floating-point type, got Long; convert it first")));
}

TEST(DropoutSeed, FollowsTheStateOfItsGenerator) {
  at::Generator generator = at::detail::createCPUGenerator(5), same = at::detail::createCPUGenerator(5);
  const std::int64_t first = draw_dropout_seed(generator), second = draw_dropout_seed(generator);
  EXPECT_NE(first, second) << "each call draws anew";
  EXPECT_EQ(draw_dropout_seed(same), first);
  EXPECT_EQ(draw_dropout_seed(same), second);
}

TEST(DropoutSeed, ComesFromTheDefaultGeneratorWhereNoneIsGiven) {
  at::manual_seed(11);
  const std::int64_t first = draw_dropout_seed({});
  EXPECT_NE(draw_dropout_seed({}), first);
  at::manual_seed(11);
  EXPECT_EQ(draw_dropout_seed({}), first);
}

TEST(DropoutSeed, FillsAll64Bits) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  std::uint64_t seen = 0, always = ~std::uint64_t{0};
  for (int i = 0; i < 200; ++i) {
    const auto seed = static_cast<std::uint64_t>(draw_dropout_seed(generator));
    seen |= seed;
    always &= seed;
  }
  EXPECT_EQ(seen, ~std::uint64_t{0});
  EXPECT_EQ(always, 0u);
}

}  // namespace
}  // namespace attend::addressing
