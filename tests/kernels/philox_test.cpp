#include "kernels/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/kernels/targets.h"

namespace attend::kernels {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32({ones, ones, ones, ones}, {ones, ones}), ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// Place of the row and odds of the drop.
struct Case {
  std::uint64_t seed = 0x299f31d0a4093822;
  double probability = 0.3;
  std::uint32_t batch = 0x243f6a88, head = 0x85a308d3, row = 0x13198a2e;
};

template <class T>
std::vector<T> multipliers(const Case& c, std::int64_t first_column, std::int64_t count) {
  const T untouched = -1;
  std::vector<T> out(static_cast<std::size_t>(count) + 1, untouched);
  dropout_multipliers(c.seed, c.probability, c.batch, c.head, c.row, first_column, count, out.data());
  EXPECT_EQ(out.back(), untouched) << "wrote past the end";
  out.pop_back();
  return out;
}

// The definition, word by word.
template <class T>
std::vector<T> expected(const Case& c, std::int64_t first_column, std::int64_t count) {
  const double threshold = std::floor(c.probability * 4294967296.0);
  std::vector<T> out;
  for (std::int64_t j = first_column; j < first_column + count; ++j) {
    const auto words = philox4x32({c.batch, c.head, c.row, static_cast<std::uint32_t>(j / 4)},
                                  {static_cast<std::uint32_t>(c.seed), static_cast<std::uint32_t>(c.seed >> 32)});
    out.push_back(words[j % 4] < threshold ? T(0) : static_cast<T>(1 / (1 - c.probability)));
  }
  return out;
}

template <class T>
class DropoutMultipliers : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DropoutMultipliers, Types);

TYPED_TEST(DropoutMultipliers, EqualTheDefinitionBitForBitOnEveryTarget) {
  for_each_target([] {
    for (const double probability : {0.0, 1e-10, 0.1, 0.5, 0.9, std::nextafter(1.0, 0.0)}) {
      Case c;
      c.probability = probability;
      const auto got = multipliers<TypeParam>(c, 0, 1003), want = expected<TypeParam>(c, 0, 1003);
      EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(TypeParam)), 0) << probability;
    }
  });
}

TYPED_TEST(DropoutMultipliers, AnyPartEqualsThatPartOfTheRowOnEveryTarget) {
  const std::vector<TypeParam> row = expected<TypeParam>({}, 0, 160);
  for_each_target([&] {
    for (std::int64_t first = 0; first < 40; ++first)
      for (std::int64_t count = 0; count <= 110; ++count)
        ASSERT_EQ(multipliers<TypeParam>({}, first, count), std::vector<TypeParam>(row.begin() + first, row.begin() + first + count))
            << first << ", " << count;
  });
}

TYPED_TEST(DropoutMultipliers, CountColumnsBeyond32Bits) {
  const std::int64_t first = (std::int64_t{1} << 34) - 70;  // the counter of column 2^34 wraps to 0
  for_each_target([&] { EXPECT_EQ(multipliers<TypeParam>({}, first, 140), expected<TypeParam>({}, first, 140)); });
}

TYPED_TEST(DropoutMultipliers, EachCoordinateAndSeedHalfMatters) {
  const auto row = multipliers<TypeParam>({}, 0, 256);
  std::vector<Case> others(5);
  others[0].seed ^= 1;
  others[1].seed ^= std::uint64_t{1} << 32;
  others[2].batch ^= 1;
  others[3].head ^= 1;
  others[4].row ^= 1;
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(multipliers<TypeParam>(others[i], 0, 256), row) << i;
}

TYPED_TEST(DropoutMultipliers, EndsOfTheProbability) {
  Case none, all;
  none.probability = 0;
  all.probability = 1;
  for_each_target([&] {
    EXPECT_THAT(multipliers<TypeParam>(none, 1, 101), Each(TypeParam(1)));
    EXPECT_THAT(multipliers<TypeParam>(all, 1, 101), Each(TypeParam(0)));
  });
}

TYPED_TEST(DropoutMultipliers, DropAtTheGivenRateWithoutRegardToTheNeighbour) {
  for (const double probability : {0.1, 0.5, 0.8}) {
    Case c;
    c.probability = probability;
    double dropped = 0, pairs = 0, sum = 0;
    constexpr int rows = 100, columns = 4001;
    for (int row = 0; row < rows; ++row) {
      c.row = static_cast<std::uint32_t>(row);
      const auto out = multipliers<TypeParam>(c, 0, columns);
      for (int j = 0; j < columns; ++j) {
        dropped += out[j] == 0;
        pairs += j > 0 && out[j] == 0 && out[j - 1] == 0;
        sum += out[j];
      }
    }
    const double count = rows * columns;
    const double deviation = std::sqrt(probability * (1 - probability) / count);
    EXPECT_NEAR(dropped / count, probability, 4 * deviation);
    EXPECT_NEAR(sum / count, 1, 4 * deviation / (1 - probability));
    EXPECT_NEAR(pairs / (rows * (columns - 1)), probability * probability, 8 * deviation);
  }
}

}  // namespace
}  // namespace attend::kernels
