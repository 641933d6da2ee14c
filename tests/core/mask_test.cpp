// Mask against the sentences of its header, as loops over every pair.
#include "attend/core/mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "attend/base/error.h"

namespace attend {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr Mask::Sizes sizes{2, 3, 4, 5};

Tensor like() { return at::zeros({1}, at::kDouble); }

Mask::Tensors tensors_of(const Mask& mask, const Mask::Sizes& of = sizes) { return mask.tensors("f", of, like()); }

// What `mask` lets through, as a tensor of the full shape.
Tensor visible(const Mask& mask, const Mask::Sizes& of = sizes) {
  const Mask::Tensors tensors = tensors_of(mask, of);
  const Tensor all = at::ones({of.B, of.H, of.Lq, of.Lk}, at::kBool);
  return tensors.keep ? tensors.keep->expand_as(all) : all;
}

// The same by the spans of keys.
Tensor visible_by_spans(const Mask& mask, const Mask::Sizes& of) {
  const Mask::Spans seen = mask.spans("f", of, like());
  Tensor all = at::ones({of.B, of.H, of.Lq, of.Lk}, at::kBool);
  if (seen.rest.keep) all = all & *seen.rest.keep;
  if (!seen.spans) return all;
  const Tensor key = at::arange(of.Lk, at::kLong);
  return all & ((key >= seen.spans->select(2, 0).unsqueeze(2)) & (key < seen.spans->select(2, 1).unsqueeze(2))).unsqueeze(1);
}

using Sees = std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

void expect_visible(const Mask& mask, const Sees& sees, const Mask::Sizes& of = sizes) {
  const Tensor keep = visible(mask, of).contiguous();
  const Tensor from_spans = visible_by_spans(mask, of).contiguous();
  const auto entry = keep.accessor<bool, 4>(), by_spans = from_spans.accessor<bool, 4>();
  for (std::int64_t b = 0; b < of.B; ++b)
    for (std::int64_t h = 0; h < of.H; ++h)
      for (std::int64_t i = 0; i < of.Lq; ++i)
        for (std::int64_t j = 0; j < of.Lk; ++j) {
          EXPECT_EQ(entry[b][h][i][j], sees(b, h, i, j)) << "batch " << b << ", head " << h << ", query " << i << ", key " << j;
          EXPECT_EQ(by_spans[b][h][i][j], sees(b, h, i, j)) << "by spans: batch " << b << ", head " << h << ", query " << i << ", key " << j;
        }
}

Tensor random_bools(at::IntArrayRef shape) { return at::rand(shape) < 0.5; }

auto throws_invalid(const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq(message)); }

TEST(Mask, LetsEverythingThroughByDefault) {
  EXPECT_TRUE(Mask().lets_everything_through());
  EXPECT_FALSE(Mask::causal().lets_everything_through());
  EXPECT_FALSE(tensors_of(Mask()).keep.has_value());
  EXPECT_FALSE(tensors_of(Mask()).bias.has_value());
}

TEST(Mask, KeepIsTrueWhereAKeyMayBeAttendedTo) {
  const Tensor allowed = random_bools({2, 3, 4, 5});
  expect_visible(Mask::keep(allowed), [&](auto b, auto h, auto i, auto j) { return allowed[b][h][i][j].template item<bool>(); });
}

TEST(Mask, DropIsTrueWhereAKeyMustNotBeAttendedTo) {
  const Tensor forbidden = random_bools({2, 3, 4, 5});
  expect_visible(Mask::drop(forbidden), [&](auto b, auto h, auto i, auto j) { return !forbidden[b][h][i][j].template item<bool>(); });
}

TEST(Mask, EachOfFourDimensionsIsFullOrOne) {
  for (const std::int64_t B : {1, 2})
    for (const std::int64_t H : {1, 3})
      for (const std::int64_t Lq : {1, 4})
        for (const std::int64_t Lk : {1, 5}) {
          const Tensor allowed = random_bools({B, H, Lq, Lk});
          EXPECT_TRUE(visible(Mask::keep(allowed)).equal(allowed.expand({2, 3, 4, 5})));
        }
}

TEST(Mask, TwoDimensionsAreQueriesAndKeysOfEveryHead) {
  const Tensor allowed = random_bools({4, 5});
  expect_visible(Mask::keep(allowed), [&](auto, auto, auto i, auto j) { return allowed[i][j].template item<bool>(); });
}

TEST(Mask, RefusesThreeDimensionsSinceTheyAreAmbiguous) {
  EXPECT_THAT(
      [] {
        tensors_of(Mask::keep(random_bools({2, 4, 5})));
      },
      throws_invalid("f: expected a boolean mask that broadcasts to [B, H, Lq, Lk] = [2, 3, 4, 5], got [2, 4, 5]; three dimensions "
                     "are ambiguous: insert a 1 for the batch or for the heads"));
  EXPECT_THAT(
      [] {
        tensors_of(Mask::bias(at::zeros({3, 4, 5})));
      },
      throws_invalid("f: expected a bias mask that broadcasts to [B, H, Lq, Lk] = [2, 3, 4, 5], got [3, 4, 5]; three dimensions are "
                     "ambiguous: insert a 1 for the batch or for the heads"));
}

TEST(Mask, RefusesOtherShapesAndPrintsBoth) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {}, {5}, {1, 5}, {4, 1}, {4, 4}, {2, 3, 4, 4}, {2, 3, 2, 5}, {3, 3, 4, 5}, {2, 2, 4, 5}, {1, 2, 3, 4, 5}}) {
    std::string text;
    for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
    const std::string message = " mask that broadcasts to [B, H, Lq, Lk] = [2, 3, 4, 5], got [" + text + "]";
    EXPECT_THAT([&] { tensors_of(Mask::drop(random_bools(shape))); }, throws_invalid("f: expected a boolean" + message));
    EXPECT_THAT([&] { tensors_of(Mask::bias(at::zeros(shape))); }, throws_invalid("f: expected a bias" + message));
  }
}

TEST(Mask, RefusesTensorsOfTheWrongType) {
  EXPECT_THAT(
      [] {
        Mask::keep(at::ones({4, 5}));
      },
      throws_invalid("attend::Mask::keep: expected a boolean tensor (true = may be attended to), got Float [4, 5]"));
  EXPECT_THAT(
      [] {
        Mask::drop(at::ones({4, 5}, at::kLong));
      },
      throws_invalid("attend::Mask::drop: expected a boolean tensor (true = must not be attended to), got Long [4, 5]"));
  EXPECT_THAT([] { Mask::lengths(at::ones({2}, at::kInt)); },
              throws_invalid("attend::Mask::lengths: expected an int64 tensor [B], got Int [2]"));
  EXPECT_THAT(
      [] {
        Mask::lengths(at::ones({2, 1}, at::kLong));
      },
      throws_invalid("attend::Mask::lengths: expected an int64 tensor [B], got Long [2, 1]"));
  EXPECT_THAT(
      [] {
        Mask::bias(at::ones({4, 5}, at::kBool));
      },
      throws_invalid("attend::Mask::bias: expected a floating-point tensor, added to the scores, got Bool [4, 5]"));
}

TEST(Mask, RefusesUndefinedTensors) {
  EXPECT_THAT([] { Mask::keep({}); },
              throws_invalid("attend::Mask::keep: expected a boolean tensor (true = may be attended to), got an undefined tensor"));
  EXPECT_THAT([] { Mask::drop({}); },
              throws_invalid("attend::Mask::drop: expected a boolean tensor (true = must not be attended to), got an undefined tensor"));
  EXPECT_THAT([] { Mask::lengths({}); }, throws_invalid("attend::Mask::lengths: expected an int64 tensor [B], got an undefined tensor"));
  EXPECT_THAT([] { Mask::bias({}); },
              throws_invalid("attend::Mask::bias: expected a floating-point tensor, added to the scores, got an undefined tensor"));
}

TEST(Mask, RefusesTensorsOnAnotherDevice) {
  const auto elsewhere = [](at::IntArrayRef shape, at::ScalarType type) {
    return at::empty(shape, at::TensorOptions().dtype(type).device(at::kMeta));
  };
  EXPECT_THAT(
      [&] {
        tensors_of(Mask::keep(elsewhere({4, 5}, at::kBool)));
      },
      throws_invalid("f: expected the boolean mask on cpu, got meta"));
  EXPECT_THAT(
      [&] {
        tensors_of(Mask::bias(elsewhere({4, 5}, at::kDouble)));
      },
      throws_invalid("f: expected the bias mask on cpu, got meta"));
  EXPECT_THAT([&] { tensors_of(Mask::lengths(elsewhere({2}, at::kLong))); }, throws_invalid("f: expected lengths on cpu, got meta"));
}

TEST(Mask, LengthsHideKeysAtAndAfterThem) {
  for (const std::int64_t first : {0, 1, 4, 5}) {
    const std::int64_t length[2] = {first, 3};
    expect_visible(Mask::lengths(at::tensor({first, std::int64_t{3}})), [&](auto b, auto, auto, auto j) { return j < length[b]; });
  }
}

TEST(Mask, RefusesLengthsThatDontFit) {
  EXPECT_THAT(
      [] {
        tensors_of(Mask::lengths(at::tensor({1, 2, 3}, at::kLong)));
      },
      throws_invalid("f: expected lengths [B] with B = 2, got [3]"));
  EXPECT_THAT(
      [] {
        tensors_of(Mask::lengths(at::tensor({3, 6}, at::kLong)));
      },
      throws_invalid("f: expected lengths from 0 to Lk = 5, got 3 to 6"));
  EXPECT_THAT(
      [] {
        tensors_of(Mask::lengths(at::tensor({-1, 5}, at::kLong)));
      },
      throws_invalid("f: expected lengths from 0 to Lk = 5, got -1 to 5"));
}

TEST(Mask, CausalSeesTheKeyItIsLinedUpWithAndThoseBefore) {
  for (const Mask::Sizes& of : {Mask::Sizes{1, 1, 4, 4}, Mask::Sizes{1, 1, 3, 5}, Mask::Sizes{1, 1, 5, 3}, Mask::Sizes{1, 1, 1, 4}}) {
    expect_visible(
        Mask::causal(), [&](auto, auto, auto i, auto j) { return j <= i + of.Lk - of.Lq; }, of);
    expect_visible(
        Mask::causal(Align::lower_right), [&](auto, auto, auto i, auto j) { return j <= i + of.Lk - of.Lq; }, of);
    expect_visible(
        Mask::causal(Align::upper_left), [](auto, auto, auto i, auto j) { return j <= i; }, of);
  }
}

TEST(Mask, ABandHoldsBothOfItsEnds) {
  for (const Mask::Sizes& of : {Mask::Sizes{1, 1, 6, 6}, Mask::Sizes{1, 1, 3, 6}, Mask::Sizes{1, 1, 6, 3}})
    for (const std::int64_t left : {0, 1, 9})
      for (const std::int64_t right : {0, 2, 9})
        for (const Align align : {Align::lower_right, Align::upper_left}) {
          const std::int64_t shift = align == Align::upper_left ? 0 : of.Lk - of.Lq;
          const auto sees = [&](auto, auto, auto i, auto j) { return i + shift - left <= j && j <= i + shift + right; };
          expect_visible(Mask::band(left, right, align), sees, of);
        }
}

TEST(Mask, RefusesABandWithANegativeEnd) {
  EXPECT_THAT([] { Mask::band(-1, 0); }, throws_invalid("attend::Mask::band: expected left ≥ 0 and right ≥ 0, got -1 and 0"));
  EXPECT_THAT([] { Mask::band(2, -3); }, throws_invalid("attend::Mask::band: expected left ≥ 0 and right ≥ 0, got 2 and -3"));
}

TEST(Mask, TakesABandThatIsAsWideAsNumbersGo) {
  constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();
  expect_visible(Mask::band(everything, everything), [](auto, auto, auto, auto) { return true; });
  expect_visible(Mask::band(everything, 0), [](auto, auto, auto i, auto j) { return j <= i + 1; });
}

TEST(Mask, ABiasIsPassedOnInTheTypeOfTheScores) {
  const Tensor bias = at::randn({2, 1, 4, 5}, at::kFloat);
  const Mask::Tensors tensors = tensors_of(Mask::bias(bias));
  EXPECT_FALSE(tensors.keep.has_value());
  EXPECT_EQ(tensors.bias->scalar_type(), at::kDouble);
  EXPECT_TRUE(tensors.bias->equal(bias.to(at::kDouble)));
}

TEST(Mask, ABiasOfMinusInfinityHidesTheKeyAndCountsAsZero) {
  Tensor bias = at::randn({4, 5}, at::kDouble);
  bias[1][2] = minus_infinity;
  const Mask::Tensors tensors = tensors_of(Mask::bias(bias));
  ASSERT_TRUE(tensors.keep.has_value());
  EXPECT_TRUE(tensors.keep->expand({2, 3, 4, 5}).equal((bias != minus_infinity).expand({2, 3, 4, 5})));
  EXPECT_EQ((*tensors.bias)[0][0][1][2].item<double>(), 0);
  EXPECT_EQ((*tensors.bias)[0][0][1][3].item<double>(), bias[1][3].item<double>());
}

TEST(Mask, TheGradientOfABiasThatHidesIsZero) {
  Tensor bias = at::zeros({4, 5}, at::kDouble);
  bias[1][2] = minus_infinity;
  bias.requires_grad_(true);
  tensors_of(Mask::bias(bias)).bias->sum().backward();
  EXPECT_EQ(bias.grad()[1][2].item<double>(), 0);
  EXPECT_EQ(bias.grad().sum().item<double>(), 19);
}

TEST(Mask, LengthsAndBandsAreSpansAndMakeNoTensorOfAllPairs) {
  const Mask::Spans seen = (Mask::causal() & Mask::lengths(at::tensor({5, 2}, at::kLong)) & Mask::band(1, 9)).spans("f", sizes, like());
  ASSERT_TRUE(seen.spans);
  EXPECT_FALSE(seen.rest.keep);
  EXPECT_EQ(seen.spans->sizes(), (std::vector<std::int64_t>{2, 4, 2}));
  EXPECT_FALSE(Mask::keep(at::ones({2, 1, 1, 5}, at::kBool)).spans("f", sizes, like()).spans);
}

TEST(Mask, PartsCombine) {
  const Tensor allowed = random_bools({2, 1, 4, 5}), first = at::randn({4, 5}, at::kDouble);
  Tensor second = at::randn({1, 3, 1, 5}, at::kDouble);
  second[0][1][0][0] = minus_infinity;
  const Mask mask =
      Mask::keep(allowed) & Mask::lengths(at::tensor({3, 5}, at::kLong)) & Mask::causal() & Mask::bias(first) & Mask::bias(second);
  EXPECT_EQ(mask.parts().size(), 5u);
  const std::int64_t length[2] = {3, 5};
  expect_visible(mask, [&](auto b, auto h, auto i, auto j) {
    return allowed[b][0][i][j].template item<bool>() && j < length[b] && j <= i + 1 && !(h == 1 && j == 0);
  });
  const Tensor finite = at::where(second == minus_infinity, 0.0, second);
  EXPECT_TRUE(tensors_of(mask).bias->expand({2, 3, 4, 5}).equal((first + finite).expand({2, 3, 4, 5})));
}

TEST(Mask, CombiningLeavesItsPartsAsTheyWere) {
  const Mask causal = Mask::causal(), padding = Mask::lengths(at::tensor({3, 5}, at::kLong));
  const Mask both = causal & padding;
  EXPECT_EQ(causal.parts().size(), 1u);
  EXPECT_EQ(padding.parts().size(), 1u);
  EXPECT_EQ(both.parts().size(), 2u);
  EXPECT_TRUE((Mask() & Mask()).lets_everything_through());
}

TEST(Mask, AnySizeMayBeZero) {
  for (const Mask::Sizes& of : {Mask::Sizes{0, 3, 4, 5}, Mask::Sizes{2, 0, 4, 5}, Mask::Sizes{2, 3, 0, 5}, Mask::Sizes{2, 3, 4, 0}}) {
    const Mask mask = Mask::keep(random_bools({of.B, of.H, of.Lq, of.Lk})) & Mask::lengths(at::zeros({of.B}, at::kLong)) & Mask::causal() &
                      Mask::band(1, 1) & Mask::bias(at::zeros({of.Lq, of.Lk}, at::kDouble));
    EXPECT_EQ(visible(mask, of).sizes(), at::IntArrayRef({of.B, of.H, of.Lq, of.Lk}));
    EXPECT_EQ(tensors_of(mask, of).bias->sizes(), at::IntArrayRef({1, 1, of.Lq, of.Lk}));
  }
}

}  // namespace
}  // namespace attend
