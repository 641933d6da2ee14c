#include "kernels/dot_read.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

template <class T>
std::vector<T> read_numbers(std::int64_t count, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(normal(generator));
  return numbers;
}

template <class T>
void expect_read(const char* name, const std::vector<T>& got, const std::vector<double>& wanted, std::int64_t terms) {
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  EXPECT_EQ(reference::difference(name, {got.begin(), got.end()}, wanted, reference::gradient_tolerance(type, terms)), "");
}

// By the definition, in float64. Gradients of the query are added to 1.
template <class T>
void check_read(const DotReadSizes& sizes) {
  SCOPED_TRACE(testing::Message() << sizes.keys << " keys, " << sizes.width << ", " << sizes.values);
  const T scale = T(0.75);
  // scores of about ±3: peaky, and no rounding of a large score
  const std::vector<T> query = read_numbers<T>(sizes.width, 3 / std::sqrt(static_cast<double>(sizes.width)), 1),
                       key = read_numbers<T>(sizes.keys * sizes.width, 1, 2), value = read_numbers<T>(sizes.keys * sizes.values, 1, 3),
                       upstream = read_numbers<T>(sizes.values, 1, 4);
  const auto Lk = static_cast<std::size_t>(sizes.keys), D = static_cast<std::size_t>(sizes.width), V = static_cast<std::size_t>(sizes.values);
  std::vector<T> weights(Lk), context(V), score_gradient(Lk), query_gradient(D, T(1));
  dot_read_forward(sizes, DotReadForward<T>{query.data(), key.data(), value.data(), scale, weights.data(), context.data()});
  dot_read_backward(sizes, DotReadBackward<T>{key.data(), value.data(), weights.data(), upstream.data(), scale, score_gradient.data(), query_gradient.data()});
  std::vector<double> w(Lk), c(V), ds(Lk), dq(D, 1);
  double sum = 0, mean = 0;
  for (std::size_t j = 0; j < Lk; ++j) {
    double score = 0;
    for (std::size_t i = 0; i < D; ++i) score += double(query[i]) * key[j * D + i];
    sum += w[j] = std::exp(scale * score);
  }
  for (std::size_t j = 0; j < Lk; ++j) {
    w[j] /= sum;
    for (std::size_t i = 0; i < V; ++i) c[i] += w[j] * value[j * V + i], ds[j] += double(value[j * V + i]) * upstream[i];
    mean += w[j] * ds[j];
  }
  for (std::size_t j = 0; j < Lk; ++j) {
    ds[j] = scale * w[j] * (ds[j] - mean);
    for (std::size_t i = 0; i < D; ++i) dq[i] += ds[j] * key[j * D + i];
  }
  const std::int64_t terms = sizes.keys + sizes.width + sizes.values;
  expect_read("weights", weights, w, terms);
  expect_read("context", context, c, terms);
  expect_read("gradient of the scores", score_gradient, ds, terms);
  expect_read("gradient of the query", query_gradient, dq, terms);
}

// Three queries on keys of a sequence of which two are padding: what stands behind them is left alone.
template <class T>
void check_added_rows(std::int64_t width) {
  constexpr std::int64_t terms = 3, sums = 5, factor_stride = 9;
  const std::int64_t row_stride = width + 2;
  const std::vector<T> factors = read_numbers<T>(terms * factor_stride, 1, 5), rows = read_numbers<T>(terms * row_stride, 1, 6);
  std::vector<T> out(static_cast<std::size_t>((sums + 2) * width), T(1));
  std::vector<double> wanted(out.size(), 1);
  add_rows(AddedRows<T>{terms, sums, width, factors.data(), factor_stride, rows.data(), row_stride, out.data()});
  for (std::int64_t j = 0; j < sums; ++j)
    for (std::int64_t c = 0; c < width; ++c)
      for (std::int64_t t = 0; t < terms; ++t)
        wanted[static_cast<std::size_t>(j * width + c)] +=
            double(factors[static_cast<std::size_t>(t * factor_stride + j)]) * rows[static_cast<std::size_t>(t * row_stride + c)];
  expect_read("added rows", out, wanted, terms);
}

TEST(DotRead, EqualsTheDefinitionOnEveryTargetAndWidth) {
  for_each_target([] {
    for (const DotReadSizes& sizes : {DotReadSizes{1, 1, 1}, DotReadSizes{2, 3, 5}, DotReadSizes{7, 16, 8}, DotReadSizes{6, 33, 64}, DotReadSizes{17, 47, 67},
                                      DotReadSizes{50, 64, 130}}) {
      check_read<float>(sizes);
      check_read<double>(sizes);
    }
    for (const std::int64_t width : {1, 4, 19, 64, 150}) {
      check_added_rows<float>(width);
      check_added_rows<double>(width);
    }
  });
}

TEST(DotRead, LargeScoresDontOverflowAndNaNStays) {
  for_each_target([] {
    const float query = 1000;
    const std::vector<float> key = {1, 1, -1}, value = {1, 3, 5};
    std::vector<float> weights(3), context(1);
    const auto run = [&](const std::vector<float>& keys) {
      dot_read_forward({3, 1, 1}, DotReadForward<float>{&query, keys.data(), value.data(), 1.0f, weights.data(), context.data()});
    };
    run(key);
    EXPECT_EQ(context[0], 2.0f);
    run({1, std::numeric_limits<float>::quiet_NaN(), -1});
    for (const float weight : weights) EXPECT_TRUE(std::isnan(weight));
    EXPECT_TRUE(std::isnan(context[0]));
  });
}

}  // namespace
}  // namespace attend::kernels
