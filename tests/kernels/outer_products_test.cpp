#include "kernels/outer_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

// Steps of rows with gaps between them; batch first: the steps of a row lie together.
template <class T>
struct OuterSide {
  std::int64_t steps, rows, columns;
  bool batch_first;
  std::vector<T> numbers;

  OuterSide(std::int64_t steps, std::int64_t rows, std::int64_t columns, bool batch_first, unsigned seed)
      : steps(steps), rows(rows), columns(columns), batch_first(batch_first), numbers(static_cast<std::size_t>(steps * rows * (columns + 3))) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    for (T& number : numbers) number = static_cast<T>(normal(generator));
  }
  StepRows<T> from() const {
    const std::int64_t width = columns + 3;
    return {numbers.data(), steps, rows, batch_first ? width : rows * width, batch_first ? steps * width : width};
  }
  T& at(std::int64_t k, std::int64_t c) {
    return numbers[static_cast<std::size_t>((k / rows) * from().step_stride + (k % rows) * from().row_stride + c)];
  }
};

std::int64_t in_whole_parts(std::int64_t columns, std::int64_t part) { return (columns + part - 1) / part * part; }

// out [left, right + gap], its rows summed up from parts of `at_once` packed rows.
template <class T>
std::vector<T> outer_sum(const OuterSide<T>& left, const OuterSide<T>& right, std::int64_t at_once, std::int64_t gap) {
  const std::int64_t all = left.from().count(), panel = outer_panel<T>(), stride = right.columns + gap;
  std::vector<T> out(static_cast<std::size_t>(left.columns * stride), T(7));
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t count = std::min(at_once, all - first);
    // NaN behind what is packed: nobody may read it
    const T nothing = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> strips(static_cast<std::size_t>(in_whole_parts(left.columns, outer_strip) * count + 1), nothing);
    std::vector<T> panels(static_cast<std::size_t>(in_whole_parts(right.columns, panel) * count + 1), nothing);
    pack_outer_strips(left.from(), first, count, left.columns, strips.data());
    pack_outer_panels(right.from(), first, count, right.columns, panels.data());
    EXPECT_TRUE(std::isnan(strips.back()) && std::isnan(panels.back()));
    for (std::int64_t c = 0; c < right.columns; c += panel)
      outer_products(OuterProducts<T>{count, left.columns, std::min(panel, right.columns - c), strips.data(), panels.data() + c * count, first > 0, out.data() + c, stride});
  }
  return out;
}

template <class T>
void check_outer(std::int64_t steps, std::int64_t rows, std::int64_t left_columns, std::int64_t right_columns, bool batch_first) {
  OuterSide<T> left(steps, rows, left_columns, batch_first, 1), right(steps, rows, right_columns, !batch_first, 2);
  constexpr std::int64_t gap = 2;
  const std::int64_t all = steps * rows, stride = right_columns + gap;
  std::vector<double> wanted(static_cast<std::size_t>(left_columns * stride), 7);
  for (std::int64_t i = 0; i < left_columns; ++i)
    for (std::int64_t j = 0; j < right_columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < all; ++k) sum += double(left.at(k, i)) * right.at(k, j);
      wanted[static_cast<std::size_t>(i * stride + j)] = sum;
    }
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  for (const std::int64_t at_once : {all, std::max<std::int64_t>(1, all / 3)}) {
    const std::vector<T> out = outer_sum(left, right, at_once, gap);
    EXPECT_EQ(reference::difference("outer products", {out.begin(), out.end()}, wanted, reference::gradient_tolerance(type, all)), "")
        << steps << " x " << rows << ": " << left_columns << " x " << right_columns << ", " << at_once << " at once";
  }
}

TEST(OuterProducts, EqualTheDefinitionOnEveryTargetAndSize) {
  for_each_target([] {
    for (const auto& [steps, rows, left, right] : std::vector<std::array<std::int64_t, 4>>{
             {1, 1, 1, 1}, {2, 3, 5, 4}, {3, 7, 6, 16}, {5, 4, 13, 64}, {4, 9, 31, 33}, {2, 50, 96, 130}, {7, 5, 100, 7}, {33, 1, 12, 128}}) {
      for (const bool batch_first : {false, true}) {
        check_outer<float>(steps, rows, left, right, batch_first);
        check_outer<double>(steps, rows, left, right, batch_first);
      }
    }
  });
}

TEST(OuterProducts, ANaNStaysInItsRowOrColumn) {
  for_each_target([] {
    const float nothing = std::numeric_limits<float>::quiet_NaN();
    OuterSide<float> left(3, 4, 8, false, 1), right(3, 4, 70, false, 2);
    left.at(5, 3) = nothing;
    right.at(7, 66) = nothing;
    const std::vector<float> out = outer_sum(left, right, 12, 0);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 70 == 3 || i % 70 == 66) << i;
  });
}

}  // namespace
}  // namespace attend::kernels
