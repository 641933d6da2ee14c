#include "bench/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace attend::bench {
namespace {

using testing::ElementsAre;

TEST(Times, HaveMedianAndSpread) {
  const Times times{{1, 2, 3, 4, 100}};
  EXPECT_EQ(times.fastest(), 1);
  EXPECT_EQ(times.median(), 3);
  EXPECT_DOUBLE_EQ(times.spread(), 2.0 / 3);
  EXPECT_EQ((Times{{1, 2}}.median()), 1.5);
  EXPECT_EQ(Times{{7}}.spread(), 0);
}

// 2 ms are a sample of their own, so that calls are samples.
TEST(TimeInTurns, TakesTheFormsInTurns) {
  std::vector<int> order;
  const auto form = [&](int number) {
    return [&order, number] {
      order.push_back(number);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    };
  };
  const std::vector<Times> times = time_in_turns({form(1), form(2), form(3)}, {.seconds = 0, .fewest = 2});
  ASSERT_EQ(times.size(), 3u);
  ASSERT_GE(order.size(), 12u);
  EXPECT_THAT(std::vector<int>(order.end() - 12, order.end()), ElementsAre(1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3));  // each after a call that isn't timed
  for (const Times& one : times) {
    EXPECT_EQ(one.milliseconds.size(), 2u);
    EXPECT_TRUE(std::is_sorted(one.milliseconds.begin(), one.milliseconds.end()));
    EXPECT_GE(one.fastest(), 2);
  }
}

TEST(TimeInTurns, LongCallsNeedNoOtherBeforeThem) {
  std::int64_t calls = 0;
  const auto sleep = [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  };
  time_in_turns({sleep}, {.seconds = 0, .fewest = 3});
  EXPECT_EQ(calls, 2 + 1 + 3);  // what makes a sample, before the first of them, and they themselves
}

TEST(TimeInTurns, OfShortCallsManyMakeOneSample) {
  std::int64_t calls = 0;
  const std::vector<Times> times = time_in_turns({[&] { ++calls; }}, {.seconds = 0, .fewest = 3});
  EXPECT_EQ(times[0].milliseconds.size(), 3u);
  EXPECT_GT(calls, 1000);
  EXPECT_LT(times[0].fastest(), 0.1);
}

TEST(TimeInTurns, StopsAfterItsSecondsAndItsSamples) {
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  EXPECT_EQ(time_in_turns({sleep}, {.seconds = 100, .fewest = 1, .most = 4})[0].milliseconds.size(), 4u);
  EXPECT_LE(time_in_turns({sleep}, {.seconds = 0.05, .fewest = 1, .most = 1000})[0].milliseconds.size(), 25u);
}

}  // namespace
}  // namespace attend::bench
