// Fused is never slower than composed, on any case of the suites: long ones made short enough for a test.
#include <gtest/gtest.h>

#include <iostream>

#include "bench/operation.h"
#include "bench/timing.h"
#include "tests/bench/suites.h"

namespace attend::bench {
namespace {

// The fastest of many calls in turns, on one thread: what else runs slows single calls down, hardly all of one form. The margin is for the rest.
constexpr double margin = 1.15;

double fused_over_composed(const Operation& operation) {
  const std::vector<Times> times = time_in_turns({[&] { operation.fused(0); }, [&] { operation.composed(0); }}, {.seconds = 0.1, .fewest = 7});
  return times[0].fastest() / times[1].fastest();
}

TEST(NeverSlower, FusedThanComposedOnAnyCase) {
  if (!times_count()) GTEST_SKIP() << "times of this build say nothing";
  const OneThread one_thread;
  for (const BenchmarkCase& shipped : shipped_cases()) {
    const BenchmarkCase one = shrunk(shipped, 512, shipped.queries > 64 ? 4 : 64);
    const Operation operation = make_operation(one);
    try {
      operation.fused(0);
    } catch (const NotSupported& error) {
      std::cout << one.name << ": " << error.what() << "\n";
      continue;
    }
    double ratio = fused_over_composed(operation);
    for (int again = 0; again < 4 && !(ratio <= margin); ++again) ratio = std::min(ratio, fused_over_composed(operation));
    EXPECT_LE(ratio, margin) << one.name << ": the fused form takes so many times the composed one's time";
  }
}

}  // namespace
}  // namespace attend::bench
