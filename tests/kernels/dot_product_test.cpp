#include "kernels/dot_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

struct DotProductForm {
  std::int64_t queries = 1;
  DotProductSizes sizes;
  double soft_cap = 0;
  enum class Keep { all, one_row, rows } keep = Keep::all;
  bool bias = false;
};

template <class T>
struct DotProductCase {
  DotProductForm form;
  std::vector<T> query, key, value, bias;
  std::vector<std::uint8_t> keep;  // 0 or 1

  explicit DotProductCase(const DotProductForm& of) : form(of) {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal(0, 1);
    const auto fill = [&](std::vector<T>& numbers, std::int64_t count) {
      numbers.resize(static_cast<std::size_t>(count));
      for (T& number : numbers) number = static_cast<T>(normal(generator));
    };
    const std::int64_t Lq = of.queries, Lk = of.sizes.keys;
    fill(query, Lq * of.sizes.key_width);
    fill(key, Lk * of.sizes.key_width);
    fill(value, Lk * of.sizes.value_width);
    fill(bias, of.bias ? Lq * Lk : 0);
    if (of.keep == DotProductForm::Keep::all) return;
    keep.resize(static_cast<std::size_t>(of.keep == DotProductForm::Keep::rows ? Lq * Lk : Lk));
    // every fifth row sees nothing, every third the second half only, so that whole blocks are hidden
    for (std::size_t i = 0; i < keep.size(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(Lk), column = i % static_cast<std::size_t>(Lk);
      const bool seen = row % 3 == 2 ? column >= static_cast<std::size_t>(Lk) / 2 : generator() % 4 != 0;
      keep[i] = seen && row % 5 != 4;
    }
  }

  bool is_kept(std::int64_t i, std::int64_t j) const {
    if (form.keep == DotProductForm::Keep::all) return true;
    return keep[static_cast<std::size_t>(form.keep == DotProductForm::Keep::rows ? i * form.sizes.keys + j : j)] != 0;
  }
};

constexpr double dot_product_scale = 1.5;  // peaky

template <class T>
std::vector<T> context_of(const DotProductCase<T>& given) {
  const DotProductForm& form = given.form;
  const DotProductSizes& sizes = form.sizes;
  std::vector<T> packed(static_cast<std::size_t>(packed_keys_size<T>(sizes))), values = given.value,
                                                                               scratch(static_cast<std::size_t>(dot_product_scratch_size<T>(sizes)));
  pack_keys(sizes, given.key.data(), sizes.key_width, packed.data());
  if (packed_values_needed<T>(sizes)) {
    values.resize(static_cast<std::size_t>(packed_values_size<T>(sizes)));
    pack_values(sizes, given.value.data(), sizes.value_width, values.data());
  }
  std::vector<T> context(static_cast<std::size_t>(form.queries * sizes.value_width), std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t first = 0; first < form.queries; first += dot_product_block_queries) {
    DotProductBlock<T> block;
    block.queries = std::min(dot_product_block_queries, form.queries - first);
    block.query = given.query.data() + first * sizes.key_width;
    block.query_stride = sizes.key_width;
    block.packed_keys = packed.data();
    block.value = values.data();
    block.value_stride = static_cast<std::int64_t>(values.size()) / sizes.keys;
    block.scale = dot_product_scale;
    block.soft_cap = form.soft_cap;
    if (!given.keep.empty()) {
      block.keep_stride = form.keep == DotProductForm::Keep::rows ? sizes.keys : 0;
      block.keep = reinterpret_cast<const bool*>(given.keep.data()) + first * block.keep_stride;
    }
    if (form.bias) {
      block.bias_stride = sizes.keys;
      block.bias = given.bias.data() + first * sizes.keys;
    }
    block.context = context.data() + first * sizes.value_width;
    block.context_stride = sizes.value_width;
    block.scratch = scratch.data();
    dot_product_forward(sizes, block);
  }
  return context;
}

template <class T>
std::vector<double> context_by_definition(const DotProductCase<T>& given) {
  const DotProductForm& form = given.form;
  const DotProductSizes& sizes = form.sizes;
  std::vector<double> context(static_cast<std::size_t>(form.queries * sizes.value_width), 0);
  for (std::int64_t i = 0; i < form.queries; ++i) {
    std::vector<double> scores(static_cast<std::size_t>(sizes.keys));
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t j = 0; j < sizes.keys; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < sizes.key_width; ++c)
        score += double(given.query[static_cast<std::size_t>(i * sizes.key_width + c)]) * given.key[static_cast<std::size_t>(j * sizes.key_width + c)];
      score *= dot_product_scale;
      if (form.soft_cap > 0) score = form.soft_cap * std::tanh(score / form.soft_cap);
      if (form.bias) score += given.bias[static_cast<std::size_t>(i * sizes.keys + j)];
      scores[static_cast<std::size_t>(j)] = score;
      if (given.is_kept(i, j)) largest = std::max(largest, score);
    }
    for (std::int64_t j = 0; j < sizes.keys; ++j) {
      if (!given.is_kept(i, j)) continue;
      const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
      sum += weight;
      for (std::int64_t c = 0; c < sizes.value_width; ++c)
        context[static_cast<std::size_t>(i * sizes.value_width + c)] += weight * given.value[static_cast<std::size_t>(j * sizes.value_width + c)];
    }
    for (std::int64_t c = 0; c < sizes.value_width && sum > 0; ++c) context[static_cast<std::size_t>(i * sizes.value_width + c)] /= sum;
  }
  return context;
}

template <class T>
void expect_definition(const DotProductForm& form) {
  const DotProductCase<T> given(form);
  const std::vector<T> got = context_of(given);
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  EXPECT_EQ(reference::difference("context", {got.begin(), got.end()}, context_by_definition(given), reference::tolerance(type, form.sizes.keys)), "")
      << "Lq = " << form.queries << ", Lk = " << form.sizes.keys << ", Dk = " << form.sizes.key_width << ", Dv = " << form.sizes.value_width
      << ", soft cap " << form.soft_cap << ", keep " << static_cast<int>(form.keep) << (form.bias ? ", bias" : "");
}

TEST(DotProduct, EqualsTheDefinitionOnEveryTargetAndSize) {
  using Keep = DotProductForm::Keep;
  for_each_target([] {
    for (const DotProductSizes& sizes : {DotProductSizes{1, 1, 1}, DotProductSizes{5, 3, 5}, DotProductSizes{64, 16, 16}, DotProductSizes{65, 8, 70},
                                         DotProductSizes{300, 64, 64}, DotProductSizes{257, 5, 33}})
      for (const std::int64_t queries : {1, 6, 7, 100})
        for (const Keep keep : {Keep::all, Keep::one_row, Keep::rows})
          for (const bool more : {false, true}) {
            const DotProductForm form{queries, sizes, more ? 4.0 : 0.0, keep, more};
            expect_definition<float>(form);
            expect_definition<double>(form);
          }
  });
}

TEST(DotProduct, AQueryThatSeesNothingHasContextZero) {
  for_each_target([] {
    DotProductCase<float> given({.queries = 7, .sizes = {70, 4, 3}, .keep = DotProductForm::Keep::rows});
    std::fill(given.keep.begin(), given.keep.end() - 70, std::uint8_t(0));  // but the last
    const std::vector<float> got = context_of(given);
    EXPECT_TRUE(std::all_of(got.begin(), got.end() - 3, [](float number) { return number == 0; }));
    EXPECT_TRUE(std::any_of(got.end() - 3, got.end(), [](float number) { return number != 0; }));
  });
}

TEST(DotProduct, ScoresFarApartNeitherOverflowNorVanish) {
  for_each_target([] {
    DotProductCase<float> given({.queries = 3, .sizes = {200, 8, 4}});
    for (float& number : given.query) number *= 200;
    for (float& number : given.key) number *= 200;
    const std::vector<float> got = context_of(given);
    const std::vector<double> wanted = context_by_definition(given);
    EXPECT_EQ(reference::difference("context", {got.begin(), got.end()}, wanted, reference::tolerance(reference::Type::float32, 200)), "");
  });
}

TEST(DotProduct, AnOverflowIsNaNInItsRowAlone) {
  for_each_target([] {
    DotProductCase<float> given({.queries = 7, .sizes = {70, 4, 3}});
    for (std::size_t c = 0; c < 4; ++c) given.query[4 + c] = given.key[4 * 69 + c] = 1e30f;
    const std::vector<float> got = context_of(given);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i / 3 == 1) << i;
  });
}

}  // namespace
}  // namespace attend::kernels
