#include "attend/addressing/windows/local_m.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "attend/base/error.h"

namespace attend::addressing {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

// One text for each query: # is read, . is not.
std::vector<std::string> picture(std::int64_t queries, std::int64_t keys, const LocalMOptions& options) {
  const WindowTensors window = local_m_window(queries, keys, options, at::zeros({1}));
  EXPECT_EQ(window.keep->sizes(), at::IntArrayRef({1, 1, queries, keys}));
  EXPECT_FALSE(window.factors.has_value());
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < queries; ++i) {
    rows.emplace_back();
    for (std::int64_t j = 0; j < keys; ++j) rows.back() += (*window.keep)[0][0][i][j].item<bool>() ? '#' : '.';
  }
  return rows;
}

TEST(LocalMWindow, MovesOnByOneKeyForEachQueryAndIsClippedAtTheEnds) {
  EXPECT_THAT(picture(6, 4, {.half_width = 1}), ElementsAre("##..", "###.", ".###", "..##", "...#", "...."));
  EXPECT_THAT(picture(3, 4, {.half_width = 0}), ElementsAre("#...", ".#..", "..#."));
  EXPECT_THAT(picture(2, 4, {.half_width = std::numeric_limits<std::int64_t>::max()}), ElementsAre("####", "####"));
}

TEST(LocalMWindow, ALengthRatioStretchesTheDiagonal) {
  EXPECT_THAT(picture(3, 7, {.half_width = 1, .length_ratio = 2}), ElementsAre("##.....", ".###...", "...###."));
  // centres 0, 0.5, 1, 1.5: both ends included
  EXPECT_THAT(picture(4, 4, {.half_width = 1, .length_ratio = 0.5}), ElementsAre("##..", "##..", "###.", ".##."));
}

TEST(LocalMWindow, AStepIsARowOfTheWhole) {
  const std::vector<std::string> whole = picture(9, 6, {.half_width = 2, .length_ratio = 0.7});
  for (std::int64_t t = 0; t < 9; ++t)
    EXPECT_THAT(picture(1, 6, {.half_width = 2, .length_ratio = 0.7, .first_query = t}), ElementsAre(whole[static_cast<std::size_t>(t)]));
}

TEST(LocalMWindow, SizesMayBeZero) {
  EXPECT_EQ(local_m_window(0, 4, {}, at::zeros({1})).keep->sizes(), at::IntArrayRef({1, 1, 0, 4}));
  EXPECT_EQ(local_m_window(3, 0, {}, at::zeros({1})).keep->sizes(), at::IntArrayRef({1, 1, 3, 0}));
}

TEST(LocalMWindow, RefusesNumbersOutOfRange) {
  const auto refused = [](std::int64_t queries, std::int64_t keys, const LocalMOptions& options, const std::string& message) {
    EXPECT_THAT([&] { local_m_window(queries, keys, options, at::zeros({1})); },
                ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::local_m_window: " + message)));
  };
  refused(-1, 4, {}, "expected queries ≥ 0 and keys ≥ 0, got -1 and 4");
  refused(1, -4, {}, "expected queries ≥ 0 and keys ≥ 0, got 1 and -4");
  refused(1, 4, {.half_width = -1}, "expected half_width ≥ 0, got -1");
  refused(1, 4, {.first_query = -2}, "expected first_query ≥ 0, got -2");
  refused(1, 4, {.length_ratio = 0}, "expected a finite length_ratio > 0, got 0");
  refused(1, 4, {.length_ratio = std::numeric_limits<double>::quiet_NaN()}, "expected a finite length_ratio > 0, got nan");
  refused(1, 4, {.length_ratio = std::numeric_limits<double>::infinity()}, "expected a finite length_ratio > 0, got inf");
}

}  // namespace
}  // namespace attend::addressing
