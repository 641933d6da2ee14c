#include "bench/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "bench/timing.h"
#include "tests/bench/suites.h"

namespace attend::bench {
namespace {

TEST(Machine, HasANameThatTellsItFromOthers) {
  const auto name_in = [](const std::string& text) {
    std::istringstream stream(text);
    return processor_name(stream);
  };
  EXPECT_EQ(name_in("processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel name\t: another\n"),
            "AMD EPYC (family 25, model 1)");
  EXPECT_EQ(name_in("processor : 0\nmodel name : Cortex-A72\nCPU part : 0xd08\n"), "Cortex-A72");
  EXPECT_EQ(name_in("processor : 0\nCPU part : 0xd08\n"), "unknown");
  EXPECT_EQ(name_in(""), "unknown");
}

TEST(Machine, IsKnown) {
  EXPECT_FALSE(processor_name().empty());
  EXPECT_GE(last_cache_size(), 64 << 10);
  EXPECT_LE(last_cache_size(), std::int64_t{4} << 30);
}

// A peak that a matrix product outruns is none; what else the machine does in between gets a margin, and further tries.
TEST(Machine, NothingIsFasterThanItsPeak) {
  if (!times_count()) GTEST_SKIP() << "times of this build say nothing";
  const OneThread one;
  const Tensor a = at::ones({768, 768}), b = at::ones({768, 768});
  Tensor product = at::empty({768, 768});
  const std::vector<Times> times = time_in_turns({[&] { at::mm_out(product, a, b); }}, {.seconds = 0.2, .fewest = 10});
  const double wanted = 0.8 * 2 * 768.0 * 768 * 768 / times[0].fastest() * 1e-6;
  double peak = 0;
  for (int i = 0; i < 20 && !(peak > wanted); ++i) peak = std::max(peak, measured_peak().best);
  EXPECT_GT(peak, wanted);
}

TEST(Machine, LostTurnsOnlyGrow) {
  const std::int64_t before = lost_turns();
  EXPECT_GE(before, 0);
  EXPECT_GE(lost_turns(), before);
}

TEST(Machine, HasABandwidth) {
  const Limit limit = measured_bandwidth();
  EXPECT_GT(limit.median, 0.1);
  EXPECT_GE(limit.best, limit.median);
}

}  // namespace
}  // namespace attend::bench
