#include "kernels/finite.h"

#include <gtest/gtest.h>

#include <cmath>
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

template <class T>
void expect_the_longest_row() {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::int64_t width : {1, 7, 8, 64, 67}) {
    const std::int64_t stride = width + 3, rows = 5;
    std::vector<T> numbers(static_cast<std::size_t>(rows * stride), nan);  // between the rows
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t c = 0; c < width; ++c) numbers[static_cast<std::size_t>(i * stride + c)] = i == 3 ? T(2) : T(-1);
    EXPECT_EQ(largest_square(rows, width, numbers.data(), stride), T(4 * width)) << width;
    for (const T bad : {nan, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::max()})
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t c = 0; c < width; ++c) {
          std::vector<T> with_bad = numbers;
          with_bad[static_cast<std::size_t>(i * stride + c)] = bad;
          EXPECT_FALSE(std::isfinite(largest_square(rows, width, with_bad.data(), stride))) << bad << " at " << i << ", " << c;
        }
  }
  EXPECT_EQ(largest_square(0, 4, static_cast<const T*>(nullptr), 4), T(0));
}

TEST(LargestSquare, IsThatOfTheLongestRowAndShowsWhatIsNotFinite) {
  for_each_target([] {
    expect_the_longest_row<float>();
    expect_the_longest_row<double>();
  });
}

}  // namespace
}  // namespace attend::kernels
