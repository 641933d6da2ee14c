#include "kernels/maxout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/targets.h"

namespace attend::kernels {
namespace {

// Ties, signed zeros and NaN of either place among random pairs, so that each stands in a vector and behind the last one.
template <class T>
std::vector<T> pairs_with_edges(std::size_t size) {
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinite = std::numeric_limits<T>::infinity();
  const T edges[][2] = {{2, 2}, {nan, 1}, {1, nan}, {nan, nan}, {T(-0.0), T(0.0)}, {-infinite, infinite}, {infinite, infinite}};
  std::mt19937 generator(3);
  std::normal_distribution<double> normal(0, 1);
  std::vector<T> pairs(2 * size);
  for (T& number : pairs) number = static_cast<T>(normal(generator));
  for (std::size_t j = 0; j < size; j += 3)
    for (std::size_t place = 0; place < 2; ++place) pairs[2 * j + place] = edges[j / 3 % std::size(edges)][place];
  return pairs;
}

template <class T>
void check_maxout(std::size_t size) {
  const std::vector<T> pairs = pairs_with_edges<T>(size);
  std::vector<T> largest(size), second(size), gradient(size), of_pairs(2 * size, T(7));
  for (std::size_t j = 0; j < size; ++j) gradient[j] = static_cast<T>(j + 1);
  maxout_forward(static_cast<std::int64_t>(size), MaxoutForward<T>{pairs.data(), largest.data(), second.data()});
  maxout_backward(static_cast<std::int64_t>(size), MaxoutBackward<T>{second.data(), gradient.data(), of_pairs.data()});
  for (std::size_t j = 0; j < size; ++j) {
    const T a = pairs[2 * j], b = pairs[2 * j + 1];
    const bool takes_second = !std::isnan(a) && (std::isnan(b) || b > a);
    const T wanted = takes_second ? b : a;
    EXPECT_TRUE(largest[j] == wanted || (std::isnan(largest[j]) && std::isnan(wanted))) << size << ", " << j << ": " << largest[j];
    EXPECT_EQ(second[j], takes_second ? 1 : 0) << size << ", " << j;
    EXPECT_EQ(of_pairs[2 * j], takes_second ? 0 : gradient[j]) << size << ", " << j;
    EXPECT_EQ(of_pairs[2 * j + 1], takes_second ? gradient[j] : 0) << size << ", " << j;
  }
}

TEST(Maxout, TakesTheLargerOfEachPairAndSendsItsGradientThere) {
  for_each_target([] {
    for (const std::size_t size : {0, 1, 2, 7, 16, 21, 67}) check_maxout<float>(size), check_maxout<double>(size);
  });
}

}  // namespace
}  // namespace attend::kernels
