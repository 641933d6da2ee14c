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
std::vector<T> padded(std::int64_t width, const std::vector<T>& rows) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  std::vector<T> wide(static_cast<std::size_t>(count * padded_width<T>(width)));
  pad_rows(count, width, rows.data(), width, wide.data());
  return wide;
}

template <class T>
std::vector<T> panels(std::int64_t width, const std::vector<T>& rows) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  std::vector<T> packed(static_cast<std::size_t>(panels_size<T>(count, width)));
  pack_panels(count, width, rows.data(), width, packed.data());
  return packed;
}

// Mask and bias for the queries from `first` on.
template <class T, class Block>
void add_mask(const DotProductCase<T>& given, std::int64_t first, Block& block) {
  if (!given.keep.empty()) {
    block.keep_stride = given.form.keep == DotProductForm::Keep::rows ? given.form.sizes.keys : 0;
    block.keep = reinterpret_cast<const bool*>(given.keep.data()) + first * block.keep_stride;
  }
  if (given.form.bias) {
    block.bias_stride = given.form.sizes.keys;
    block.bias = given.bias.data() + first * given.form.sizes.keys;
  }
}

template <class T>
struct DotProductOutcome {
  std::vector<T> context, log_sums;
};

template <class T>
DotProductOutcome<T> forward_of_all(const DotProductCase<T>& given) {
  const DotProductForm& form = given.form;
  const DotProductSizes& sizes = form.sizes;
  const std::vector<T> key_panels = panels(sizes.key_width, given.key), values = padded(sizes.value_width, given.value);
  std::vector<T> scratch(static_cast<std::size_t>(dot_product_scratch_size<T>(sizes)));
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  DotProductOutcome<T> outcome{std::vector<T>(static_cast<std::size_t>(form.queries * sizes.value_width), nan),
                               std::vector<T>(static_cast<std::size_t>(form.queries), nan)};
  for (std::int64_t first = 0; first < form.queries; first += dot_product_block_queries) {
    DotProductBlock<T> block;
    block.queries = std::min(dot_product_block_queries, form.queries - first);
    block.query = given.query.data() + first * sizes.key_width;
    block.query_stride = sizes.key_width;
    block.key_panels = key_panels.data();
    block.value = values.data();
    block.value_stride = padded_width<T>(sizes.value_width);
    block.scale = dot_product_scale;
    block.soft_cap = form.soft_cap;
    add_mask(given, first, block);
    block.context = outcome.context.data() + first * sizes.value_width;
    block.context_stride = sizes.value_width;
    block.log_sums = outcome.log_sums.data() + first;
    block.scratch = scratch.data();
    dot_product_forward(sizes, block);
  }
  return outcome;
}

template <class T>
std::vector<T> context_of(const DotProductCase<T>& given) {
  return forward_of_all(given).context;
}

template <class T>
struct DotProductGradientsOfAll {
  std::vector<T> query, key, value, bias;
};

// Rows of `width` numbers out of padded ones.
template <class T>
std::vector<T> unpadded(std::int64_t width, const std::vector<T>& rows) {
  const std::int64_t wide = padded_width<T>(width), count = static_cast<std::int64_t>(rows.size()) / wide;
  std::vector<T> narrow;
  for (std::int64_t i = 0; i < count; ++i)
    narrow.insert(narrow.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * wide), rows.begin() + static_cast<std::ptrdiff_t>(i * wide + width));
  return narrow;
}

// `of_context` is [queries, Dv].
template <class T>
DotProductGradientsOfAll<T> gradients_of(const DotProductCase<T>& given, const std::vector<T>& of_context) {
  const DotProductForm& form = given.form;
  const std::int64_t width = form.sizes.key_width, value_width = form.sizes.value_width, Lk = form.sizes.keys;
  const DotProductOutcome<T> forward = forward_of_all(given);
  const DotProductSizes wide{Lk, padded_width<T>(width), padded_width<T>(value_width)};
  const std::vector<T> query = padded(width, given.query), key = padded(width, given.key), upstream = padded(value_width, of_context);
  const std::vector<T> key_panels = panels(wide.key_width, key), value_panels = panels(wide.value_width, padded(value_width, given.value));
  std::vector<T> products(static_cast<std::size_t>(form.queries)), scratch(static_cast<std::size_t>(dot_product_gradients_scratch_size<T>(wide)));
  for (std::size_t i = 0; i < products.size(); ++i)
    for (std::size_t c = 0; c < static_cast<std::size_t>(value_width); ++c)
      products[i] += forward.context[i * static_cast<std::size_t>(value_width) + c] * of_context[i * static_cast<std::size_t>(value_width) + c];
  DotProductGradientsOfAll<T> all{std::vector<T>(query.size()), std::vector<T>(key.size()),
                                  std::vector<T>(static_cast<std::size_t>(Lk * wide.value_width)),
                                  std::vector<T>(given.bias.size(), std::numeric_limits<T>::quiet_NaN())};
  for (std::int64_t first_key = 0; first_key < Lk; first_key += dot_product_block_keys)
    for (std::int64_t first = 0; first < form.queries; first += dot_product_block_queries) {
      DotProductGradients<T> block;
      block.queries = std::min(dot_product_block_queries, form.queries - first);
      block.query = query.data() + first * wide.key_width;
      block.query_stride = wide.key_width;
      block.first_key = first_key;
      block.keys = std::min(dot_product_block_keys, Lk - first_key);
      block.key_panels = key_panels.data(), block.value_panels = value_panels.data();
      block.key = key.data(), block.key_stride = wide.key_width;
      block.scale = dot_product_scale, block.soft_cap = form.soft_cap;
      add_mask(given, first, block);
      block.context_gradient = upstream.data() + first * wide.value_width;
      block.context_gradient_stride = wide.value_width;
      block.log_sums = forward.log_sums.data() + first, block.context_products = products.data() + first;
      block.query_gradient = all.query.data() + first * wide.key_width;
      block.key_gradient = all.key.data(), block.value_gradient = all.value.data();
      if (form.bias) block.bias_gradient = all.bias.data() + first * Lk, block.bias_gradient_stride = Lk;
      block.scratch = scratch.data();
      dot_product_backward(wide, block);
    }
  return {unpadded(width, all.query), unpadded(width, all.key), unpadded(value_width, all.value), all.bias};
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

// By the definition too, in float64.
template <class T>
DotProductGradientsOfAll<double> gradients_by_definition(const DotProductCase<T>& given, const std::vector<T>& of_context) {
  const DotProductForm& form = given.form;
  const auto Lk = static_cast<std::size_t>(form.sizes.keys), Dk = static_cast<std::size_t>(form.sizes.key_width),
             Dv = static_cast<std::size_t>(form.sizes.value_width);
  DotProductGradientsOfAll<double> all{std::vector<double>(given.query.size()), std::vector<double>(given.key.size()),
                                       std::vector<double>(given.value.size()), std::vector<double>(given.bias.size())};
  for (std::size_t i = 0; i < static_cast<std::size_t>(form.queries); ++i) {
    std::vector<double> weights(Lk), slopes(Lk, 1), of_weights(Lk);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0, mean = 0;
    for (std::size_t j = 0; j < Lk; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < Dk; ++c) score += double(given.query[i * Dk + c]) * given.key[j * Dk + c];
      score *= dot_product_scale;
      if (form.soft_cap > 0) {
        const double t = std::tanh(score / form.soft_cap);
        score = form.soft_cap * t, slopes[j] = 1 - t * t;
      }
      if (form.bias) score += given.bias[i * Lk + j];
      weights[j] = score;
      if (given.is_kept(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) largest = std::max(largest, score);
    }
    for (std::size_t j = 0; j < Lk; ++j) {
      const bool kept = given.is_kept(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      sum += weights[j] = kept ? std::exp(weights[j] - largest) : 0;
      for (std::size_t c = 0; c < Dv; ++c) of_weights[j] += double(of_context[i * Dv + c]) * given.value[j * Dv + c];
    }
    if (sum == 0) continue;
    for (std::size_t j = 0; j < Lk; ++j) mean += (weights[j] /= sum) * of_weights[j];
    for (std::size_t j = 0; j < Lk; ++j) {
      const double of_score = weights[j] * (of_weights[j] - mean), through = of_score * slopes[j] * dot_product_scale;
      if (form.bias) all.bias[i * Lk + j] = of_score;
      for (std::size_t c = 0; c < Dk; ++c) {
        all.query[i * Dk + c] += through * given.key[j * Dk + c];
        all.key[j * Dk + c] += through * given.query[i * Dk + c];
      }
      for (std::size_t c = 0; c < Dv; ++c) all.value[j * Dv + c] += weights[j] * of_context[i * Dv + c];
    }
  }
  return all;
}

template <class T>
void expect_gradients(const DotProductForm& form) {
  const DotProductCase<T> given(form);
  std::vector<T> of_context(static_cast<std::size_t>(form.queries * form.sizes.value_width));
  std::mt19937 generator(2);
  for (T& number : of_context) number = static_cast<T>(std::normal_distribution<double>(0, 1)(generator));
  const DotProductGradientsOfAll<T> got = gradients_of(given, of_context);
  const DotProductGradientsOfAll<double> wanted = gradients_by_definition(given, of_context);
  const auto compare = [&](const char* name, const std::vector<T>& numbers, const std::vector<double>& right) {
    const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
    EXPECT_EQ(reference::difference(name, {numbers.begin(), numbers.end()}, right, reference::gradient_tolerance(type, form.sizes.keys + form.queries)), "")
        << "Lq = " << form.queries << ", Lk = " << form.sizes.keys << ", Dk = " << form.sizes.key_width << ", Dv = " << form.sizes.value_width
        << ", soft cap " << form.soft_cap << ", keep " << static_cast<int>(form.keep) << (form.bias ? ", bias" : "");
  };
  compare("gradient of the query", got.query, wanted.query);
  compare("gradient of the key", got.key, wanted.key);
  compare("gradient of the value", got.value, wanted.value);
  compare("gradient of the bias", got.bias, wanted.bias);
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

TEST(DotProduct, HasTheGradientsOfItsDefinition) {
  using Keep = DotProductForm::Keep;
  for_each_target([] {
    for (const DotProductSizes& sizes : {DotProductSizes{1, 1, 1}, DotProductSizes{5, 3, 5}, DotProductSizes{65, 8, 70}, DotProductSizes{300, 16, 33}})
      for (const std::int64_t queries : {1, 7, 100})
        for (const Keep keep : {Keep::all, Keep::one_row, Keep::rows})
          for (const bool more : {false, true}) {
            const DotProductForm form{queries, sizes, more ? 4.0 : 0.0, keep, more};
            expect_gradients<float>(form);
            expect_gradients<double>(form);
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
