#include "attend/core/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attend {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(ShapeText, WritesSizesAsAListAndNamesWhatIsUndefined) {
  EXPECT_EQ(shape_text(at::IntArrayRef({2, 8, 10, 32})), "[2, 8, 10, 32]");
  EXPECT_EQ(shape_text(at::zeros({3, 0})), "[3, 0]");
  EXPECT_EQ(shape_text(at::zeros({})), "[]");
  EXPECT_EQ(shape_text(Tensor()), "an undefined tensor");
}

TEST(CheckShape, TakesWhatFits) {
  EXPECT_NO_THROW(check_shape("f", "x", at::zeros({2, 3, 4}), {{"B"}, {"L", 3}, {"E"}}));
  EXPECT_NO_THROW(check_shape("f", "x", at::zeros({0, 3}), {{"B", 0}, {"L", 3}}));
  EXPECT_NO_THROW(check_shape("f", "x", at::zeros({}), {}));
}

TEST(CheckShape, SaysWhatWasExpectedAndWhatCame) {
  const auto check_key = [](const Tensor& key) {
    return [key] { check_shape("attend::addressing::dot_product", "key", key, {{"B"}, {"Hkv"}, {"Lk"}, {"Dk", 64}}); };
  };
  EXPECT_THAT(check_key(at::zeros({2, 8, 10, 32})),
              ThrowsMessage<InvalidArgument>(
                  StrEq("attend::addressing::dot_product: expected key [B, Hkv, Lk, Dk] with Dk = 64, got [2, 8, 10, 32]")));
  EXPECT_THAT(check_key(at::zeros({2, 10, 64})),
              ThrowsMessage<InvalidArgument>(
                  StrEq("attend::addressing::dot_product: expected key [B, Hkv, Lk, Dk] with Dk = 64, got [2, 10, 64]")));
  EXPECT_THAT(check_key(Tensor()),
              ThrowsMessage<InvalidArgument>(
                  StrEq("attend::addressing::dot_product: expected key [B, Hkv, Lk, Dk] with Dk = 64, got an undefined tensor")));
  EXPECT_THAT(
      [] {
        check_shape("f", "x", at::zeros({2, 3}), {{"B", 2}, {"L", 4}});
      },
      ThrowsMessage<InvalidArgument>(StrEq("f: expected x [B, L] with B = 2, L = 4, got [2, 3]")));
  EXPECT_THAT(
      [] {
        check_shape("f", "x", at::zeros({2}), {{"B"}, {"L"}});
      },
      ThrowsMessage<InvalidArgument>(StrEq("f: expected x [B, L], got [2]")));
}

TEST(CheckFloating, RefusesOtherTypesAsNotSupported) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble})
    EXPECT_NO_THROW(check_floating("f", "x", at::zeros({1}, type)));
  EXPECT_THAT([] { check_floating("f", "query", at::zeros({1}, at::kLong)); },
              ThrowsMessage<NotSupported>(StrEq("f: expected query of a floating-point type, got Long; convert it first")));
  EXPECT_THROW(check_floating("f", "query", at::zeros({1}, at::kBool)), NotSupported);
}

TEST(CheckMatches, RefusesAnotherTypeOrDevice) {
  const Tensor query = at::zeros({1}, at::kFloat);
  EXPECT_NO_THROW(check_matches("f", "key", at::zeros({2}, at::kFloat), "query", query));
  EXPECT_THAT([&] { check_matches("f", "key", at::zeros({2}, at::kDouble), "query", query); },
              ThrowsMessage<InvalidArgument>(StrEq("f: expected key of the type of query (Float), got Double")));
  const Tensor elsewhere = at::empty({2}, at::TensorOptions().dtype(at::kFloat).device(at::kMeta));
  EXPECT_THAT([&] { check_matches("f", "key", elsewhere, "query", query); },
              ThrowsMessage<InvalidArgument>(StrEq("f: expected key on the device of query (cpu), got meta")));
}

TEST(CheckGroupedHeads, WantsEachKeyHeadToServeTheSameNumberOfQueryHeads) {
  EXPECT_NO_THROW(check_grouped_heads("f", 6, 2));
  EXPECT_NO_THROW(check_grouped_heads("f", 0, 1));
  EXPECT_THAT([] { check_grouped_heads("f", 6, 4); },
              ThrowsMessage<InvalidArgument>(StrEq("f: expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 4")));
  EXPECT_THAT([] { check_grouped_heads("f", 6, 0); },
              ThrowsMessage<InvalidArgument>(StrEq("f: expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 0")));
}

}  // namespace
}  // namespace attend
