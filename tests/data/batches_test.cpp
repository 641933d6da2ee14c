#include "attend/data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "attend/base/error.h"

namespace attend::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

using Batches = std::vector<std::vector<std::int64_t>>;

// Pairs of random lengths from 1 to 6.
std::vector<TokenPair> random_pairs(std::size_t count) {
  std::mt19937 generator(7);
  std::vector<TokenPair> pairs(count);
  for (TokenPair& pair : pairs) pair = {std::vector<std::int64_t>(1 + generator() % 6, 4), std::vector<std::int64_t>(1 + generator() % 6, 4)};
  return pairs;
}

std::vector<std::int64_t> sorted_members(const Batches& batches) {
  std::vector<std::int64_t> members;
  for (const auto& batch : batches) members.insert(members.end(), batch.begin(), batch.end());
  std::ranges::sort(members);
  return members;
}

std::vector<std::int64_t> first_numbers(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(EpochBatches, HoldEveryPairOnce) {
  for (const std::size_t count : {0, 1, 63, 64, 65, 500})
    for (const bool equal : {true, false})
      EXPECT_EQ(sorted_members(epoch_batches(random_pairs(count), {16, equal}, 1, 0)), first_numbers(count)) << count;
}

TEST(EpochBatches, AreNoLargerThanAskedFor) {
  for (const auto& batch : epoch_batches(random_pairs(500), {16, true}, 1, 0)) EXPECT_TRUE(!batch.empty() && batch.size() <= 16) << batch.size();
}

TEST(EpochBatches, HoldSourcesOfOneLengthWhereAsked) {
  const std::vector<TokenPair> pairs = random_pairs(500);
  for (const auto& batch : epoch_batches(pairs, {16, true}, 1, 0)) {
    std::set<std::size_t> lengths;
    for (const std::int64_t i : batch) lengths.insert(pairs[static_cast<std::size_t>(i)].source.size());
    EXPECT_EQ(lengths.size(), 1u);
  }
}

TEST(EpochBatches, HoldNeighboursInLength) {
  const std::vector<TokenPair> pairs = random_pairs(500);
  std::size_t padded = 0, tokens = 0;
  for (const auto& batch : epoch_batches(pairs, {16, false}, 1, 0)) {
    std::size_t longest = 0;
    for (const std::int64_t i : batch) longest = std::max(longest, pairs[static_cast<std::size_t>(i)].target.size());
    for (const std::int64_t i : batch) tokens += pairs[static_cast<std::size_t>(i)].target.size();
    padded += longest * batch.size();
  }
  EXPECT_LT(static_cast<double>(padded), 1.3 * static_cast<double>(tokens));  // drawn at random it would be 1.6 times
}

TEST(EpochBatches, DependOnSeedAndEpochAlone) {
  const std::vector<TokenPair> pairs = random_pairs(200);
  const BatchOptions options{16, true};
  const Batches once = epoch_batches(pairs, options, 1, 3);
  EXPECT_EQ(once, epoch_batches(pairs, options, 1, 3));
  EXPECT_NE(once, epoch_batches(pairs, options, 1, 4));
  EXPECT_NE(once, epoch_batches(pairs, options, 2, 3));
  EXPECT_NE(once, epoch_batches(pairs, options, (std::uint64_t{1} << 32) + 1, 3));
}

TEST(EpochBatches, AreTheSameOnEveryMachine) {
  const std::vector<TokenPair> pairs(6, TokenPair{{4}, {4}});
  EXPECT_EQ(epoch_batches(pairs, {2, true}, 1, 0), (Batches{{0, 2}, {1, 4}, {5, 3}}));
}

TEST(EpochBatches, RefuseASizeBelowOne) {
  EXPECT_THAT([] { epoch_batches({}, {0, true}, 1, 0); }, ThrowsMessage<InvalidArgument>(HasSubstr("expected a batch size \u2265 1, got 0")));
}

TEST(LengthBatches, BeginWithTheLongestAndKeepTheOrderOfEquals) {
  EXPECT_THAT(length_batches({{1}, {1, 2}, {1}, {1, 2, 3}, {}}, 2), ElementsAre(ElementsAre(3, 1), ElementsAre(0, 2), ElementsAre(4)));
  EXPECT_THAT(length_batches({}, 2), IsEmpty());
}

TEST(LengthBatches, RefuseASizeBelowOne) {
  EXPECT_THAT([] { length_batches({}, -1); }, ThrowsMessage<InvalidArgument>(HasSubstr("got -1")));
}

}  // namespace
}  // namespace attend::data
