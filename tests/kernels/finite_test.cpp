#include "kernels/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/kernels/targets.h"

namespace attend::kernels {
namespace {

template <class T>
void expect_each_place_is_seen() {
  for (const std::size_t count : {0, 1, 7, 63, 64, 65, 200}) {
    std::vector<T> numbers(count, std::numeric_limits<T>::max());
    EXPECT_TRUE(all_finite(static_cast<std::int64_t>(count), numbers.data())) << count;
    for (const T bad : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<T> with_bad = numbers;
        with_bad[i] = bad;
        EXPECT_FALSE(all_finite(static_cast<std::int64_t>(count), with_bad.data())) << bad << " at " << i << " of " << count;
      }
  }
}

TEST(AllFinite, SeesEachPlaceAndNoneBehindTheLast) {
  for_each_target([] {
    expect_each_place_is_seen<float>();
    expect_each_place_is_seen<double>();
    const float numbers[] = {1, 2, std::numeric_limits<float>::infinity()};
    EXPECT_TRUE(all_finite(2, numbers));
  });
}

}  // namespace
}  // namespace attend::kernels
