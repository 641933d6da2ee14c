#include "attend/layers/key_value_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/addressing/multi_head.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"

namespace attend::layers {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor places(std::int64_t count, std::int64_t width, std::int64_t batch = 2) { return at::randn({batch, 3, count, width}); }

TEST(KeyValueCache, HoldsWhatWasAppendedInOrder) {
  at::manual_seed(1);
  KeyValueCache cache({.capacity = 2});
  EXPECT_FALSE(cache.key().defined());
  std::vector<Tensor> keys, values;
  for (const std::int64_t count : {1, 1, 3, 0, 7}) {
    keys.push_back(places(count, 4)), values.push_back(places(count, 5));
    cache.append(keys.back(), values.back());
  }
  EXPECT_EQ(cache.length(), 12);
  EXPECT_TRUE(cache.key().equal(at::cat(keys, 2)));
  EXPECT_TRUE(cache.value().equal(at::cat(values, 2)));
}

TEST(KeyValueCache, AppendsInPlaceWhileThereIsRoom) {
  KeyValueCache cache({.capacity = 8});
  cache.append(places(3, 4), places(3, 4));
  const void* const before = cache.key().data_ptr();
  cache.append(places(5, 4), places(5, 4));
  EXPECT_EQ(cache.key().data_ptr(), before);
  cache.append(places(1, 4), places(1, 4));
  EXPECT_NE(cache.key().data_ptr(), before);
}

TEST(KeyValueCache, ForgetsTheLastPlaces) {
  at::manual_seed(1);
  KeyValueCache cache;
  const Tensor key = places(6, 4), value = places(6, 4), next = places(1, 4);
  cache.append(key, value);
  cache.truncate(4);
  EXPECT_TRUE(cache.key().equal(key.narrow(2, 0, 4)));
  cache.append(next, next);
  EXPECT_TRUE(cache.value().equal(at::cat({value.narrow(2, 0, 4), next}, 2)));
}

TEST(KeyValueCache, GoesOnWithChosenRows) {
  at::manual_seed(1);
  KeyValueCache cache;
  const Tensor key = places(6, 4), value = places(6, 4);
  cache.append(key, value);
  const Tensor rows = at::tensor({1, 1, 0}, at::kLong);
  cache.reorder(rows);
  EXPECT_TRUE(cache.key().equal(key.index_select(0, rows)));
  EXPECT_TRUE(cache.value().equal(value.index_select(0, rows)));
  cache.append(places(1, 4, 3), places(1, 4, 3));
  EXPECT_EQ(cache.length(), 7);
}

TEST(KeyValueCache, DecodesAsTheWholeSequenceIsRead) {
  at::manual_seed(1);
  addressing::MultiHead attention(12, addressing::MultiHeadOptions{.heads = 4, .key_heads = 2});
  const Tensor x = at::randn({2, 9, 12}) * 2;
  const Tensor whole = attention->self(x, Mask::causal()).context;
  for (const auto storage : {std::optional<at::ScalarType>(), std::optional(at::kBFloat16)}) {
    const torch::NoGradGuard no_gradient;
    KeyValueCache cache({.capacity = 1, .storage = storage});
    for (std::int64_t t = 0; t < 9; ++t) {
      const Tensor now = x.narrow(1, t, 1);
      const addressing::KeyValue made = attention->project(now, now);
      cache.append(made.key, made.value);
      const Tensor got = attention->read(now, {cache.key(), cache.value()}, Mask::causal()).context;
      EXPECT_EQ(got.scalar_type(), at::kFloat);
      EXPECT_LE((got - whole.narrow(1, t, 1)).abs().max().item<float>(), storage ? 0.1f : 1e-5f) << t;
    }
  }
}

TEST(KeyValueCache, HoldsNoGraph) {
  KeyValueCache cache;
  cache.append(places(1, 4).set_requires_grad(true), places(1, 4));
  EXPECT_FALSE(cache.key().requires_grad());
}

TEST(KeyValueCache, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(HasSubstr("attend::layers::KeyValueCache: " + message)); };
  EXPECT_THAT([] { KeyValueCache({.capacity = 0}); }, refuses("expected a positive capacity, got 0"));
  EXPECT_THAT([] { KeyValueCache({.storage = at::kLong}); }, refuses("expected a floating-point type of storage, got Long"));
  KeyValueCache cache;
  EXPECT_THAT([&] { cache.reorder(at::zeros({1}, at::kLong)); }, refuses("there is nothing to reorder"));
  cache.append(places(2, 4), places(2, 5));
  EXPECT_THAT([&] { cache.append(places(2, 4), places(3, 5)); }, refuses("expected value [B, Hkv, L, Dv] with B = 2, Hkv = 3, L = 2"));
  EXPECT_THAT([&] { cache.append(places(2, 5), places(2, 5)); }, refuses("expected key [B, Hkv, L, Dk] with B = 2, Hkv = 3, Dk = 4"));
  EXPECT_THAT([&] { cache.append(places(2, 4, 1), places(2, 5, 1)); }, refuses("expected key [B, Hkv, L, Dk] with B = 2"));
  EXPECT_THAT([&] { cache.truncate(3); }, refuses("expected a length from 0 to 2, got 3"));
  EXPECT_THAT([&] { cache.reorder(at::tensor({0, 2}, at::kLong)); }, refuses("expected rows from 0 to 1, got 0 to 2"));
  EXPECT_THAT([&] { cache.reorder(at::zeros({1})); }, refuses("expected rows of type int64, got Float"));
  EXPECT_EQ(cache.length(), 2) << "nothing of what was refused is left";
}

}  // namespace
}  // namespace attend::layers
