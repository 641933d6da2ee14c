#include "kernels/machine_limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/kernels/targets.h"

namespace attend::kernels {
namespace {

// Which targets there are says how many lanes: each chain must have taken every step in each of them.
TEST(MultiplyAddChains, TakeEveryStepInEachLaneOfEachChainOnEveryTarget) {
  static_assert(multiply_add_chains_count >= 12);
  for_each_target([] {
    const double lanes = multiply_add_chains(1).operations / (2.0 * multiply_add_chains_count);
    EXPECT_GE(lanes, 1);
    EXPECT_EQ(lanes, std::floor(lanes));
    for (const std::int64_t rounds : {0, 1, 2, 7, 20}) {
      double wanted = 0;
      for (std::int64_t chain = 0; chain < multiply_add_chains_count; ++chain) wanted += lanes * (2 + (chain - 2.0) * std::pow(0.5, rounds));
      const MultiplyAdds done = multiply_add_chains(rounds);
      EXPECT_NEAR(done.sum, wanted, 1e-4) << rounds;
      EXPECT_EQ(done.operations, 2.0 * multiply_add_chains_count * lanes * static_cast<double>(rounds));
    }
  });
}

TEST(ReadSweep, ReadsEveryNumberOnceOnEveryTarget) {
  std::vector<float> numbers(1003);
  std::iota(numbers.begin(), numbers.end(), 1.0f);  // sums of whole numbers below 2^24 are exact
  for_each_target([&] {
    for (const std::int64_t count : {0, 1, 3, 63, 64, 65, 129, 1003})
      EXPECT_EQ(read_sweep(count, numbers.data()), static_cast<double>(count) * static_cast<double>(count + 1) / 2) << count;
  });
}

}  // namespace
}  // namespace attend::kernels
