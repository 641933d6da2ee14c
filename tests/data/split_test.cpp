#include "attend/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace attend::data {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<TextPair> numbered_pairs(int count) {
  std::vector<TextPair> pairs;
  for (int i = 0; i < count; ++i) pairs.push_back({"word" + std::to_string(i), "x", i + 1});
  return pairs;
}

std::set<std::string> sources(const std::vector<TextPair>& pairs) {
  std::set<std::string> found;
  for (const TextPair& pair : pairs) found.insert(pair.source);
  return found;
}

TEST(HashPart, IsTheCrc32OfZlib) {
  constexpr std::uint32_t all = 0xffffffff;
  EXPECT_EQ(hash_part("", all), 0u);
  EXPECT_EQ(hash_part("123456789", all), 0xcbf43926u);  // the check value of the CRC catalogue
  EXPECT_EQ(hash_part("123456789", 100), 62u);
  EXPECT_EQ(hash_part("attention", 100), 69u);
}

TEST(TakeValidation, TakesAboutTwoPercentByHash) {
  const auto [rest, valid] = take_validation(numbered_pairs(10'000));
  EXPECT_NEAR(static_cast<double>(valid.size()), 200, 60);
  EXPECT_EQ(rest.size() + valid.size(), 10'000u);
  for (const TextPair& pair : valid) EXPECT_EQ(hash_part(pair.source, 50), 0u) << pair.source;
}

TEST(TakeValidation, KeepsPairsOfOneSourceTogetherAndInOrder) {
  std::vector<TextPair> pairs = numbered_pairs(1000);
  for (int i = 0; i < 1000; ++i) pairs.push_back({"word" + std::to_string(i), "y", 1001 + i});
  const auto [rest, valid] = take_validation(pairs);
  for (const std::string& source : sources(valid)) EXPECT_FALSE(sources(rest).contains(source)) << source;
  EXPECT_EQ(valid.size(), 2 * sources(valid).size());
  for (const auto& part : {rest, valid}) EXPECT_TRUE(std::ranges::is_sorted(part, {}, &TextPair::line));
}

TEST(TakeValidation, GivesASmallSetAtLeastOneSource) {
  const std::vector<TextPair> pairs = {{"attention", "1", 1}, {"zebra", "2", 2}, {"zebra", "3", 3}};  // parts 19 and 8
  const auto [rest, valid] = take_validation(pairs);
  EXPECT_EQ(sources(valid), std::set<std::string>{"zebra"});
  EXPECT_THAT(valid, SizeIs(2));
  EXPECT_EQ(sources(rest), std::set<std::string>{"attention"});
}

TEST(TakeValidation, LeavesASingleSourceToTraining) {
  const auto [rest, valid] = take_validation({{"a", "1", 1}, {"a", "2", 2}});
  EXPECT_THAT(rest, SizeIs(2));
  EXPECT_THAT(valid, IsEmpty());
  EXPECT_THAT(take_validation({}).first, IsEmpty());
}

}  // namespace
}  // namespace attend::data
