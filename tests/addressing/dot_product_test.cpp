#include "attend/addressing/dot_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "tests/reference/attention.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

// The same problem, by the loops of the reference.
reference::Outcome dot_product_by_loops(const Tensor& query, const Tensor& key, const Tensor& value, double scale,
                                        const std::vector<reference::MaskPart>& mask = {}) {
  const reference::Sizes sizes{query.size(0), query.size(1), key.size(1), query.size(2),
                               key.size(2),   query.size(3), key.size(3), value.size(3)};
  return reference::attention(sizes, reference::numbers(query), reference::numbers(key), reference::numbers(value),
                              reference::dot(sizes.Dq, scale), mask);
}

void expect_dot_product(const AttentionResult& got, const reference::Outcome& wanted) {
  const reference::Tolerance near = reference::tolerance(reference::type_of(got.context), got.weights.size(3));
  EXPECT_EQ(reference::difference("context", reference::numbers(got.context), wanted.context, near), "");
  EXPECT_EQ(reference::difference("weights", reference::numbers(got.weights), wanted.weights, near), "");
}

TEST(DotProduct, ReadsTheMeanOfTheValuesBySoftmaxedProducts) {
  // scores 0 and ln 3: weights 1/4 and 3/4
  const Tensor query = at::ones({1, 1, 1, 1}, at::kDouble), key = at::tensor({0.0, std::log(3.0)}, at::kDouble).view({1, 1, 2, 1});
  const Tensor value = at::tensor({4.0, 0.0, 8.0, 1.0}, at::kDouble).view({1, 1, 2, 2});
  const AttentionResult result = dot_product(query, key, value, {}, {.scale = 1, .read = {.return_weights = true}});
  expect_dot_product(result, {{7, 0.75}, {0.25, 0.75}});
}

TEST(DotProduct, DividesByTheRootOfTheWidthUnlessAScaleIsGiven) {
  const Tensor query = at::randn({2, 2, 3, 16}, at::kDouble), key = at::randn({2, 2, 5, 16}, at::kDouble),
               value = at::randn({2, 2, 5, 7}, at::kDouble);
  expect_dot_product(dot_product(query, key, value, {}, {.read = {.return_weights = true}}), dot_product_by_loops(query, key, value, 0.25));
  for (const double scale : {1.0, -0.5, 0.0})
    expect_dot_product(dot_product(query, key, value, {}, {.scale = scale, .read = {.return_weights = true}}),
                       dot_product_by_loops(query, key, value, scale));
}

TEST(DotProduct, EqualsTheLoopsForGroupedHeadsAndCombinedMasks) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Tensor query = at::randn({2, 6, 4, 8}, type), key = at::randn({2, 2, 5, 8}, type), value = at::randn({2, 2, 5, 3}, type);
    const AttentionResult got =
        dot_product(query, key, value, Mask::lengths(at::tensor({5, 2}, at::kLong)) & Mask::causal(), {.read = {.return_weights = true}});
    using Kind = reference::MaskPart::Kind;
    expect_dot_product(got, dot_product_by_loops(query, key, value, 1 / std::sqrt(8.0),
                                                 {{.kind = Kind::lengths, .shape = {2}, .numbers = {5, 2}}, {.kind = Kind::causal}}));
  }
}

TEST(DotProduct, ReturnsWeightsOnlyWhereTheyAreAskedFor) {
  const Tensor x = at::randn({1, 2, 3, 4});
  const AttentionResult without = dot_product(x, x, x), with = dot_product(x, x, x, {}, {.read = {.return_weights = true}});
  EXPECT_FALSE(without.weights.defined());
  EXPECT_EQ(with.weights.sizes(), at::IntArrayRef({1, 2, 3, 3}));
  EXPECT_EQ(reference::difference("context", reference::numbers(without.context), reference::numbers(with.context), reference::tolerance(reference::Type::float32, 3)), "");
}

TEST(DotProduct, AWidthOfZeroWeighsAllKeysAlike) {
  const Tensor value = at::tensor({1.0, 5.0}, at::kDouble).view({1, 1, 2, 1}), nothing = at::zeros({1, 1, 2, 0}, at::kDouble);
  EXPECT_TRUE(dot_product(nothing, nothing, value).context.equal(at::full({1, 1, 2, 1}, 3.0, at::kDouble)));
}

TEST(DotProduct, RefusesWhatDoesntFit) {
  const Tensor query = at::zeros({2, 6, 3, 64}), key = at::zeros({2, 2, 5, 64}), value = at::zeros({2, 2, 5, 7});
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::dot_product: " + message));
  };
  EXPECT_THAT([&] { dot_product(query[0], key, value); }, refuses("expected query [B, Hq, Lq, Dk], got [6, 3, 64]"));
  EXPECT_THAT(
      [&] {
        dot_product(query, at::zeros({2, 2, 5, 32}), value);
      },
      refuses("expected key [B, Hkv, Lk, Dk] with B = 2, Dk = 64, got [2, 2, 5, 32]"));
  EXPECT_THAT(
      [&] {
        dot_product(query, key, at::zeros({2, 2, 4, 7}));
      },
      refuses("expected value [B, Hkv, Lk, Dv] with B = 2, Hkv = 2, Lk = 5, got [2, 2, 4, 7]"));
  EXPECT_THAT(
      [&] {
        dot_product(query, at::zeros({2, 4, 5, 64}), at::zeros({2, 4, 5, 7}));
      },
      refuses("expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 4"));
  EXPECT_THAT([&] { dot_product(query, key.to(at::kDouble), value); }, refuses("expected key of the type of query (Float), got Double"));
  EXPECT_THAT([&] { dot_product(query, key, value, {}, {.scale = HUGE_VAL}); }, refuses("expected a finite scale, got inf"));
  EXPECT_THAT([&] { dot_product(query.to(at::kLong), key, value); },
              ThrowsMessage<NotSupported>(
                  StrEq("attend::addressing::dot_product: expected query of a floating-point type, got Long; convert it first")));
}

TEST(DotProduct, TheFusedPathIsRefusedWithItsReason) {
  const Tensor x = at::zeros({1, 1, 2, 4});
  EXPECT_THAT([&] { dot_product(x, x, x, {}, {.read = {.normalizer = Normalizer::sparsemax, .path = Path::fused}}); },
              ThrowsMessage<NotSupported>(StrEq("attend::addressing::dot_product: path \"fused\" is impossible: no fused kernel of this normalizer "
                                                "exists in this version; use \"automatic\" or \"composed\"")));
  EXPECT_NO_THROW(dot_product(x, x, x, {}, {.read = {.path = Path::fused}}));
  EXPECT_NO_THROW(dot_product(x, x, x, {}, {.read = {.path = Path::composed}}));
}

}  // namespace
}  // namespace attend::addressing
