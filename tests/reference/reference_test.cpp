// The references are tested by what is known without them: published vectors, hand-worked rows, NaN that must never pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reference/attention.h"
#include "tests/reference/normalizers.h"
#include "tests/reference/philox.h"
#include "tests/reference/tolerance.h"

namespace attend::reference {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

using Words = std::array<std::uint32_t, 4>;

// Known answers of the authors' Random123.
TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox4x32_10({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32_10({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
            (Words{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, DropsTheShareThatIsAskedFor) {
  int dropped = 0;
  for (int j = 0; j < 4000; ++j) dropped += is_dropped(17, 0.25, 0, 0, 0, j);
  EXPECT_NEAR(dropped, 1000, 150);
  EXPECT_FALSE(is_dropped(17, 0.0, 0, 0, 0, 0));
  EXPECT_TRUE(is_dropped(17, 1.0, 0, 0, 0, 0));
}

TEST(RowNormalizers, GiveHandWorkedRows) {
  const Tolerance near = tolerance(Type::float64, 3);
  EXPECT_EQ(difference("sparsemax", entmax_row({0.5, 0.3, -0.4}, 2), {0.6, 0.4, 0}, near), "");
  EXPECT_EQ(difference("1.5-entmax", entmax_row({1.6, 1.2, -0.1}, 1.5), {0.64, 0.36, 0}, near), "");
  EXPECT_EQ(difference("softmax", softmax_row({0, std::log(3.0)}), {0.25, 0.75}, near), "");
  EXPECT_EQ(hard_max_row({1, 3, 3, 2}), (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(uniform_row({5, -7}), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(drawn_place({0, std::log(3.0)}, 0.2), 0u);
  EXPECT_EQ(drawn_place({0, std::log(3.0)}, 0.3), 1u);
  EXPECT_NEAR(entropy_of({0, 0}), std::log(2.0), 1e-15);
}

// By the words that the authors publish for counter and key 0.
TEST(RowDraws, AreMadeOfTheWordsOfTheirPlace) {
  const RowDraw draw = row_draw(0, 0, 0, 0);
  EXPECT_EQ(draw.share, (static_cast<double>(0x6627e8d5u) * 2097152.0 + (0xe169c58du >> 11)) / 9007199254740992.0);
  EXPECT_EQ(draw.word, 0xbc57ac4cu);
}

TEST(Tolerance, NaNIsNearNothing) {
  const Tolerance wide{1e300, 1};
  EXPECT_FALSE(is_near(nan, nan, wide));
  EXPECT_FALSE(is_near(nan, 0, wide));
  EXPECT_FALSE(is_near(0, nan, wide));
  EXPECT_FALSE(is_near(infinity, 0, wide));
  EXPECT_FALSE(is_near(0, infinity, wide));
  EXPECT_FALSE(is_near(-infinity, infinity, wide));
  EXPECT_TRUE(is_near(infinity, infinity, wide));
  EXPECT_NE(difference("x", {nan}, {nan}, wide), "");
  EXPECT_NE(difference("x", {nan}, {1}, wide), "");
  EXPECT_NE(difference("x", {1}, {nan}, wide), "");
}

TEST(Tolerance, NaNMustStandExactlyWhereItIsWanted) {
  const Tolerance wide{1e300, 1};
  EXPECT_EQ(difference("x", {nan, 1}, {nan, 1}, wide, NaN::where_wanted), "");
  EXPECT_NE(difference("x", {nan, 1}, {1, nan}, wide, NaN::where_wanted), "");
  EXPECT_NE(difference("x", {nan}, {1}, wide, NaN::where_wanted), "");
  EXPECT_NE(difference("x", {1}, {nan}, wide, NaN::where_wanted), "");
}

TEST(Tolerance, FollowsTheTypeAndTheNumberOfKeys) {
  EXPECT_LT(tolerance(Type::float64, 8).relative, 1e-14);
  EXPECT_LT(tolerance(Type::float32, 8).relative, 6e-6);
  EXPECT_LT(tolerance(Type::float16, 8).relative, 5.0e-4);
  EXPECT_LT(tolerance(Type::bfloat16, 8).relative, 4.0e-3);
  EXPECT_GT(tolerance(Type::float32, 4096).relative, 2 * tolerance(Type::float32, 8).relative);
  EXPECT_EQ(difference("x", {1, 2, 5}, {1, 2, 3}, {0.5, 0}), "x[2]: got 5, wanted 3 (1 of 3 differ)");
  EXPECT_EQ(difference("x", {1}, {1, 2}, {0.5, 0}), "x: got 1 numbers, wanted 2");
}

// Two keys with scores ln 1 and ln 3: weights 1/4 and 3/4.
TEST(Attention, OneRowByHand) {
  const Sizes sizes{.Lk = 2, .Dv = 2};
  const Outcome outcome = attention(sizes, {1}, {0, std::log(3.0)}, {4, 8, 0, 4}, dot(1, 1.0));
  EXPECT_EQ(difference("weights", outcome.weights, {0.25, 0.75}, {1e-15, 0}), "");
  EXPECT_EQ(difference("context", outcome.context, {1, 5}, {1e-14, 0}), "");
}

std::vector<int> seen(const MaskPart& part, std::int64_t Lq, std::int64_t Lk) {
  const Sizes sizes{.Lq = Lq, .Lk = Lk};
  const std::vector<double> zeros(static_cast<std::size_t>(Lq + Lk), 0.0);
  std::vector<int> result;
  for (const double weight : attention(sizes, zeros, zeros, zeros, dot(1, 1.0), {part}).weights) result.push_back(weight > 0);
  return result;
}

TEST(Attention, MasksByHand) {
  using Kind = MaskPart::Kind;
  EXPECT_EQ(seen({.kind = Kind::keep, .shape = {1, 3}, .numbers = {1, 0, 1}}, 1, 3), (std::vector<int>{1, 0, 1}));
  EXPECT_EQ(seen({.kind = Kind::drop, .shape = {1, 3}, .numbers = {1, 0, 1}}, 1, 3), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(seen({.kind = Kind::lengths, .shape = {1}, .numbers = {2}}, 1, 3), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(seen({.kind = Kind::causal}, 2, 3), (std::vector<int>{1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(seen({.kind = Kind::causal, .upper_left = true}, 2, 3), (std::vector<int>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(seen({.kind = Kind::causal}, 3, 2), (std::vector<int>{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(seen({.kind = Kind::band, .left = 1, .right = 0, .upper_left = true}, 2, 3), (std::vector<int>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(seen({.kind = Kind::bias, .shape = {1, 1, 1, 3}, .numbers = {0, -infinity, -1}}, 1, 3), (std::vector<int>{1, 0, 1}));
}

TEST(Attention, EmptyRowsAreZeroAndNaNIsSeenOnlyWhereItMayBe) {
  const Sizes sizes{.Lq = 3, .Lk = 2};
  const MaskPart mask{.kind = MaskPart::Kind::keep, .shape = {3, 2}, .numbers = {0, 0, 1, 0, 1, 1}};
  const Outcome outcome = attention(sizes, {nan, 1, 1}, {1, nan}, {5, nan}, dot(1, 1.0), {mask});
  EXPECT_EQ(difference("context", outcome.context, {0, 5, nan}, {0, 0}, NaN::where_wanted), "");
  EXPECT_EQ(difference("weights", outcome.weights, {0, 0, 1, 0, nan, nan}, {0, 0}, NaN::where_wanted), "");
  const Outcome value_only = attention(sizes, {nan, 1, 1}, {1, 1}, {5, infinity}, dot(1, 1.0), {mask});
  EXPECT_EQ(difference("weights", value_only.weights, {0, 0, 1, 0, 0.5, 0.5}, {0, 0}), "");
  EXPECT_EQ(difference("context", value_only.context, {0, 5, nan}, {0, 0}, NaN::where_wanted), "");
}

TEST(Attention, GroupedHeadsReadTheirOwnGroup) {
  const Sizes sizes{.Hq = 4, .Hkv = 2};
  EXPECT_EQ(attention(sizes, {1, 1, 1, 1}, {0, 0}, {10, 20}, dot(1, 1.0)).context, (std::vector<double>{10, 10, 20, 20}));
}

TEST(Attention, SoftCapComesBeforeTheBias) {
  const Sizes sizes{.Lk = 2};
  const MaskPart bias{.kind = MaskPart::Kind::bias, .shape = {1, 2}, .numbers = {0, 5}};
  const double capped = 2 * std::tanh(3.0 / 2), other = std::exp(5.0);
  EXPECT_EQ(difference("weights", attention(sizes, {3}, {1, 0}, {0, 0}, dot(1, 1.0), {bias}, {.soft_cap = 2}).weights,
                       {std::exp(capped) / (std::exp(capped) + other), other / (std::exp(capped) + other)}, {1e-15, 0}),
            "");
}

TEST(Attention, DropoutComesAfterTheWeights) {
  const Sizes sizes{.Lk = 8};
  std::vector<double> ones(8, 1.0);
  const Outcome outcome = attention(sizes, {1}, ones, ones, dot(1, 1.0), {}, {.dropout = 0.5, .seed = 3});
  double kept = 0;
  for (int j = 0; j < 8; ++j) kept += !is_dropped(3, 0.5, 0, 0, 0, j);
  EXPECT_EQ(difference("context", outcome.context, {kept * 2 / 8}, {1e-15, 0}), "");
  EXPECT_EQ(difference("weights", outcome.weights, std::vector<double>(8, 0.125), {1e-15, 0}), "");
}

// A query at place 1 of 3 keys whose scores are ln 1, ln 2, ln 5; values 1, 10, 100.
Outcome windowed(const LocalWindow& window, const std::vector<MaskPart>& mask = {}) {
  const Sizes sizes{.Lk = 3};
  return attention(sizes, {1}, {0, std::log(2.0), std::log(5.0)}, {1, 10, 100}, dot(1, 1.0), mask, {.window = window, .first_query = 1});
}

TEST(LocalWindow, ByHand) {
  const Tolerance near{1e-13, 0};
  EXPECT_EQ(difference("weights", windowed(local_m(1, 1)).weights, {0.125, 0.25, 0.625}, near), "");
  EXPECT_EQ(difference("weights", windowed(local_m(0, 2)).weights, {0, 0, 1}, near), "");
  EXPECT_EQ(difference("weights", windowed(local_m(1, 5)).weights, {0, 0, 0}, near), "") << "past the last key";
  EXPECT_EQ(difference("weights", windowed(local_m(1, 1.5)).weights, {0, 2 / 7.0, 5 / 7.0}, near), "") << "1.5 ± 1";

  // a centre of S/2 = 1.5 with W = 1, σ = 1/2: keys 1 and 2, each with the factor exp(−1/2)
  const double factor = std::exp(-0.5);
  const LocalWindow plain = local_p({0}, {1}, 1, false), renormalised = local_p({0}, {1}, 1, true);
  EXPECT_EQ(difference("weights", windowed(plain).weights, {0, 2 / 7.0 * factor, 5 / 7.0 * factor}, near), "");
  EXPECT_EQ(difference("context", windowed(plain).context, {520 / 7.0 * factor}, near), "");
  EXPECT_EQ(difference("weights", windowed(renormalised).weights, {0, 2 / 7.0, 5 / 7.0}, near), "");
  // two keys there are: the centre is 1, keys 0 and 1
  const MaskPart lengths{.kind = MaskPart::Kind::lengths, .shape = {1}, .numbers = {2}};
  EXPECT_EQ(difference("weights", windowed(plain, {lengths}).weights, {std::exp(-2) / 3, 2 / 3.0, 0}, near), "");
}

TEST(Scores, OfPlacesAndDirectionsByHand) {
  const double query[] = {3, 4}, key[] = {4, 3}, zero[] = {0, 0};
  EXPECT_NEAR(cosine(2, 2)(query, key), 2 * 0.96, 1e-15);
  EXPECT_EQ(cosine(2, 2)(query, zero), 0);
  EXPECT_EQ(cosine(2, 2)(zero, key), 0);
  EXPECT_EQ(location({1, 0, 2, -1}, 2)(query, 1), 2);
  const Sizes sizes{.Lk = 2, .Dq = 2, .Dk = 1};
  const Outcome outcome = attention(sizes, {0, std::log(3.0)}, {7, 9}, {4, 8}, {}, {}, {.place_score = location({5, 0, 5, 1}, 2)});
  EXPECT_EQ(difference("weights", outcome.weights, {0.25, 0.75}, {1e-15, 0}), "");
}

TEST(Scores, ByHand) {
  const double q[2] = {1, 2}, k[2] = {3, -1};
  EXPECT_DOUBLE_EQ(dot(2, 0.5)(q, k), 0.5);
  EXPECT_DOUBLE_EQ(general({1, 2, 3, 4}, 2, 2)(q, k), 1 * (3 - 2) + 2 * (9 - 4));
  EXPECT_DOUBLE_EQ(additive({2, 5})(q, k), 2 * std::tanh(4.0) + 5 * std::tanh(1.0));
  EXPECT_DOUBLE_EQ(projected_additive({1, 1}, {2, 0}, {0.5}, {3})(q, k), 3 * std::tanh(3 + 6 + 0.5));
}

}  // namespace
}  // namespace attend::reference
