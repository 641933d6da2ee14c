#include "attend/addressing/additive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "tests/reference/attention.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

void expect_additive(const AttentionResult& got, const reference::Outcome& wanted) {
  const reference::Tolerance near = reference::tolerance(reference::type_of(got.context), got.weights.size(3));
  EXPECT_EQ(reference::difference("context", reference::numbers(got.context), wanted.context, near), "");
  EXPECT_EQ(reference::difference("weights", reference::numbers(got.weights), wanted.weights, near), "");
}

TEST(Additive, ReadsTheMeanOfTheValuesBySoftmaxedTangents) {
  // scores 2 · tanh(0) = 0 and 2 · tanh(atanh(ln √3)) = ln 3: weights 1/4 and 3/4
  const Tensor query = at::full({1, 1, 1, 1}, 0.25, at::kDouble), weight = at::full({1}, 2.0, at::kDouble);
  const Tensor key = at::tensor({-0.25, std::atanh(std::log(3.0) / 2) - 0.25}, at::kDouble).view({1, 1, 2, 1});
  const Tensor value = at::tensor({4.0, 8.0}, at::kDouble).view({1, 1, 2, 1});
  expect_additive(additive(query, key, value, weight, {}, {.return_weights = true}), {{7}, {0.25, 0.75}});
}

TEST(Additive, EqualsTheLoopsUnderAMask) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Tensor query = at::randn({2, 3, 4, 6}, type), key = at::randn({2, 3, 5, 6}, type), value = at::randn({2, 3, 5, 2}, type);
    const Tensor weight = 3 * at::randn({6}, type);
    const AttentionResult got = additive(query, key, value, weight, Mask::lengths(at::tensor({5, 2}, at::kLong)), {.return_weights = true});
    expect_additive(got, reference::attention({2, 3, 3, 4, 5, 6, 6, 2}, reference::numbers(query), reference::numbers(key),
                                              reference::numbers(value), reference::additive(reference::numbers(weight)),
                                              {{.kind = reference::MaskPart::Kind::lengths, .shape = {2}, .numbers = {5, 2}}}));
  }
}

TEST(Additive, HalfTypesAreComputedInFloat32) {
  const Tensor query = at::randn({1, 1, 2, 4}), key = at::randn({1, 1, 3, 4}), value = at::randn({1, 1, 3, 2}), weight = at::randn({4});
  const auto rounded = [](const Tensor& tensor) { return tensor.to(at::kHalf); };
  const Tensor half = additive(rounded(query), rounded(key), rounded(value), rounded(weight)).context;
  const auto wide = [](const Tensor& tensor) { return tensor.to(at::kHalf).to(at::kFloat); };
  EXPECT_TRUE(half.equal(additive(wide(query), wide(key), wide(value), wide(weight)).context.to(at::kHalf)));
}

TEST(Additive, RefusesWhatDoesntFit) {
  const Tensor query = at::zeros({2, 3, 4, 6}), key = at::zeros({2, 3, 5, 6}), value = at::zeros({2, 3, 5, 2}), weight = at::zeros({6});
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::additive: " + message));
  };
  EXPECT_THAT([&] { additive(query[0], key, value, weight); }, refuses("expected query [B, H, Lq, A], got [3, 4, 6]"));
  EXPECT_THAT(
      [&] {
        additive(query, at::zeros({2, 3, 5, 7}), value, weight);
      },
      refuses("expected key [B, H, Lk, A] with B = 2, H = 3, A = 6, got [2, 3, 5, 7]"));
  EXPECT_THAT(
      [&] {
        additive(query, at::zeros({2, 1, 5, 6}), at::zeros({2, 1, 5, 2}), weight);
      },
      refuses("expected key [B, H, Lk, A] with B = 2, H = 3, A = 6, got [2, 1, 5, 6]"));
  EXPECT_THAT(
      [&] {
        additive(query, key, at::zeros({2, 3, 4, 2}), weight);
      },
      refuses("expected value [B, Hkv, Lk, Dv] with B = 2, Hkv = 3, Lk = 5, got [2, 3, 4, 2]"));
  EXPECT_THAT([&] { additive(query, key, value, at::zeros({7})); }, refuses("expected weight [A] with A = 6, got [7]"));
  EXPECT_THAT([&] { additive(query, key, value, weight.to(at::kDouble)); },
              refuses("expected weight of the type of query (Float), got Double"));
  EXPECT_THAT([&] { additive(query, key.to(at::kHalf), value, weight); }, refuses("expected key of the type of query (Float), got Half"));
  EXPECT_THAT([&] { additive(query.to(at::kInt), key, value, weight); },
              ThrowsMessage<NotSupported>(
                  StrEq("attend::addressing::additive: expected query of a floating-point type, got Int; convert it first")));
}

TEST(Additive, TheFusedPathIsRefusedWithItsReason) {
  const Tensor x = at::zeros({1, 1, 2, 4}), weight = at::zeros({4});
  EXPECT_THAT([&] { additive(x, x, x, weight, {}, {.normalizer = Normalizer::uniform, .path = Path::fused}); },
              ThrowsMessage<NotSupported>(StrEq("attend::addressing::additive: path \"fused\" is impossible: a uniform read has no score to fuse; use "
                                                "\"automatic\" or \"composed\"")));
  EXPECT_NO_THROW(additive(x, x, x, weight, {}, {.path = Path::fused}));
  EXPECT_NO_THROW(additive(x, x, x, weight, {}, {.normalizer = Normalizer::entmax15, .dropout = 0.5, .path = Path::fused}));
}

}  // namespace
}  // namespace attend::addressing
