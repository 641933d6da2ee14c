#include "kernels/dot_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/finite.h"
#include "tests/kernels/dot_product_case.h"
#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

template <class T>
std::vector<T> padded(std::int64_t width, const std::vector<T>& rows) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  std::vector<T> wide(static_cast<std::size_t>(count * padded_width<T>(width)));
  pad_rows(count, width, rows.data(), width, wide.data());
  return wide;
}

template <class T>
std::vector<T> panels(std::int64_t width, const std::vector<T>& rows, double scale) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  std::vector<T> packed(static_cast<std::size_t>(panels_size<T>(count, width)));
  pack_panels(count, width, rows.data(), width, static_cast<T>(scale), packed.data());
  return packed;
}

template <class T>
std::vector<T> columns(std::int64_t width, const std::vector<T>& rows) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / width;
  std::vector<T> packed(static_cast<std::size_t>(columns_size<T>(count, width)), std::numeric_limits<T>::quiet_NaN());
  pack_columns(count, width, rows.data(), width, packed.data());
  return packed;
}

enum class Values { as_rows, in_columns };

// Of queries, keys and scale, where nothing else goes into scores.
template <class T>
T score_bound(const DotProductCase<T>& given) {
  const DotProductOptions& form = given.options;
  if (form.soft_cap > 0 || form.bias || form.factors) return std::numeric_limits<T>::infinity();
  const std::int64_t width = form.sizes.key_width;
  return std::sqrt(largest_square(form.queries, width, given.query.data(), width) * largest_square(form.sizes.keys, width, given.key.data(), width)) *
         static_cast<T>(key_panel_scale(given.form()));
}

template <class T>
struct DotProductOutcome {
  std::vector<T> context, log_sums;
};

template <class T>
DotProductOutcome<T> forward_of_all(const DotProductCase<T>& given, Values as = Values::as_rows, T bound = std::numeric_limits<T>::infinity()) {
  const DotProductOptions& form = given.options;
  const DotProductSizes& sizes = form.sizes;
  const std::vector<QueryRow<T>> rows = given.rows();
  const std::vector<T> key_panels = panels(sizes.key_width, given.key, key_panel_scale(given.form())), values = padded(sizes.value_width, given.value),
                       value_columns = columns(sizes.value_width, given.value);
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
    if (as == Values::in_columns) block.value_columns = value_columns.data();
    if (as == Values::as_rows) block.value = values.data(), block.value_stride = padded_width<T>(sizes.value_width);
    block.form = given.form();
    block.score_bound = bound;
    block.rows = rows.empty() ? nullptr : rows.data() + first;
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
  std::vector<T> query, key, value, bias, factors;
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
  const DotProductOptions& form = given.options;
  const std::vector<QueryRow<T>> rows = given.rows();
  const std::int64_t width = form.sizes.key_width, value_width = form.sizes.value_width, Lk = form.sizes.keys;
  const DotProductOutcome<T> forward = forward_of_all(given);
  const DotProductSizes wide{Lk, padded_width<T>(width), padded_width<T>(value_width)};
  const std::vector<T> query = padded(width, given.query), key = padded(width, given.key), upstream = padded(value_width, of_context);
  const std::vector<T> key_panels = panels(wide.key_width, key, key_panel_scale(given.form())),
                       value_panels = panels(wide.value_width, padded(value_width, given.value), 1), key_columns = columns(wide.key_width, key);
  std::vector<T> products(static_cast<std::size_t>(form.queries)), scratch(static_cast<std::size_t>(dot_product_gradients_scratch_size<T>(wide)));
  for (std::size_t i = 0; i < products.size(); ++i)
    for (std::size_t c = 0; c < static_cast<std::size_t>(value_width); ++c)
      products[i] += forward.context[i * static_cast<std::size_t>(value_width) + c] * of_context[i * static_cast<std::size_t>(value_width) + c];
  DotProductGradientsOfAll<T> all{std::vector<T>(query.size()), std::vector<T>(key.size()),
                                  std::vector<T>(static_cast<std::size_t>(Lk * wide.value_width)),
                                  std::vector<T>(given.bias.size(), std::numeric_limits<T>::quiet_NaN()),
                                  std::vector<T>(given.factors.size(), std::numeric_limits<T>::quiet_NaN())};
  for (std::int64_t first_key = 0; first_key < Lk; first_key += dot_product_block_keys)
    for (std::int64_t first = 0; first < form.queries; first += dot_product_block_queries) {
      DotProductGradients<T> block;
      block.queries = std::min(dot_product_block_queries, form.queries - first);
      block.query = query.data() + first * wide.key_width;
      block.query_stride = wide.key_width;
      block.first_key = first_key;
      block.keys = std::min(dot_product_block_keys, Lk - first_key);
      block.key_panels = key_panels.data(), block.value_panels = value_panels.data();
      block.key_columns = key_columns.data();
      block.form = given.form();
      block.rows = rows.empty() ? nullptr : rows.data() + first;
      block.context_gradient = upstream.data() + first * wide.value_width;
      block.context_gradient_stride = wide.value_width;
      block.log_sums = forward.log_sums.data() + first, block.context_products = products.data() + first;
      block.query_gradient = all.query.data() + first * wide.key_width;
      block.key_gradient = all.key.data(), block.value_gradient = all.value.data();
      block.pair_stride = Lk;
      if (form.bias) block.bias_gradient = all.bias.data() + first * Lk;
      if (form.factors) block.factor_gradient = all.factors.data() + first * Lk;
      block.scratch = scratch.data();
      dot_product_backward(wide, block);
    }
  return {unpadded(width, all.query), unpadded(width, all.key), unpadded(value_width, all.value), all.bias, all.factors};
}

// By the chain rule from one weight to the next, in float64.
template <class T>
DotProductGradientsOfAll<double> gradients_by_definition(const DotProductCase<T>& given, const std::vector<T>& of_context) {
  const DotProductOptions& form = given.options;
  const auto Lk = static_cast<std::size_t>(form.sizes.keys), Dk = static_cast<std::size_t>(form.sizes.key_width),
             Dv = static_cast<std::size_t>(form.sizes.value_width);
  DotProductGradientsOfAll<double> all{std::vector<double>(given.query.size()), std::vector<double>(given.key.size()),
                                       std::vector<double>(given.value.size()), std::vector<double>(given.bias.size()),
                                       std::vector<double>(given.factors.size())};
  for (std::size_t i = 0; i < static_cast<std::size_t>(form.queries); ++i) {
    const RowByDefinition row = row_by_definition(given, static_cast<std::int64_t>(i));
    if (row.sum == 0) continue;
    std::vector<double> of_weighted(Lk), of_weights(Lk);  // of factor · weight; of weight
    double mean_weighted = 0, mean = 0;
    for (std::size_t j = 0; j < Lk; ++j) {
      const auto column = static_cast<std::int64_t>(j);
      for (std::size_t c = 0; c < Dv; ++c) of_weighted[j] += double(of_context[i * Dv + c]) * given.value[j * Dv + c];
      of_weighted[j] *= given.multiplier(static_cast<std::int64_t>(i), column);
      mean_weighted += row.weights[j] * given.factor(static_cast<std::int64_t>(i), column) / row.sum * of_weighted[j];
    }
    for (std::size_t j = 0; j < Lk; ++j) {
      if (form.renormalised) of_weighted[j] = (of_weighted[j] - mean_weighted) / row.sum;
      of_weights[j] = of_weighted[j] * given.factor(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      if (form.factors) all.factors[i * Lk + j] = of_weighted[j] * row.weights[j];
      mean += row.weights[j] * of_weights[j];
    }
    for (std::size_t j = 0; j < Lk; ++j) {
      const double of_score = row.weights[j] * (of_weights[j] - mean), through = of_score * row.slopes[j] * dot_product_scale;
      if (form.bias) all.bias[i * Lk + j] = of_score;
      for (std::size_t c = 0; c < Dk; ++c) {
        all.query[i * Dk + c] += through * given.key[j * Dk + c];
        all.key[j * Dk + c] += through * given.query[i * Dk + c];
      }
      for (std::size_t c = 0; c < Dv; ++c) all.value[j * Dv + c] += row.used[j] * of_context[i * Dv + c];
    }
  }
  return all;
}

template <class T>
void expect_gradients(const DotProductOptions& form) {
  const DotProductCase<T> given(form);
  std::vector<T> of_context(static_cast<std::size_t>(form.queries * form.sizes.value_width));
  std::mt19937 generator(2);
  for (T& number : of_context) number = static_cast<T>(std::normal_distribution<double>(0, 1)(generator));
  const DotProductGradientsOfAll<T> got = gradients_of(given, of_context);
  const DotProductGradientsOfAll<double> wanted = gradients_by_definition(given, of_context);
  const auto compare = [&](const char* name, const std::vector<T>& numbers, const std::vector<double>& right) {
    const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
    EXPECT_EQ(reference::difference(name, {numbers.begin(), numbers.end()}, right, reference::gradient_tolerance(type, form.sizes.keys + form.queries)), "")
        << text_of(form);
  };
  compare("gradient of the query", got.query, wanted.query);
  compare("gradient of the key", got.key, wanted.key);
  compare("gradient of the value", got.value, wanted.value);
  compare("gradient of the bias", got.bias, wanted.bias);
  compare("gradient of the factors", got.factors, wanted.factors);
}

template <class T>
void expect_definition(const DotProductOptions& form) {
  const DotProductCase<T> given(form);
  const std::vector<T> got = context_of(given);
  EXPECT_EQ(forward_of_all(given, Values::in_columns).context, got) << text_of(form);
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  const std::vector<double> wanted = context_by_definition(given);
  EXPECT_EQ(reference::difference("context", {got.begin(), got.end()}, wanted, reference::tolerance(type, form.sizes.keys)), "") << text_of(form);
}

// With queries so short that scores have a bound of use: the same context and sums with and without it.
template <class T>
void expect_definition_of_small_scores(const DotProductOptions& form) {
  DotProductCase<T> given(form);
  const T bound = score_bound(given), most = T(dot_product_small_scores) * T(0.99);
  if (std::isinf(bound)) return;
  for (T& number : given.query) number *= std::min(T(1), most / bound);
  const DotProductOutcome<T> got = forward_of_all(given, Values::as_rows, std::min(bound, most));
  DotProductOutcome<T> without = forward_of_all(given);
  const reference::Tolerance tolerance = reference::tolerance(sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64, form.sizes.keys);
  EXPECT_EQ(reference::difference("context", {got.context.begin(), got.context.end()}, context_by_definition(given), tolerance), "") << text_of(form);
  for (std::size_t i = 0; i < got.log_sums.size(); ++i) {
    if (std::isinf(without.log_sums[i]))
      EXPECT_EQ(got.log_sums[i], without.log_sums[i]) << text_of(form);
    else
      EXPECT_TRUE(reference::is_near(got.log_sums[i], without.log_sums[i], tolerance)) << text_of(form) << " row " << i;
  }
}

TEST(DotProduct, EqualsTheDefinitionOnEveryTargetAndSize) {
  for_each_target([] {
    for (const DotProductSizes& sizes : {DotProductSizes{1, 1, 1}, DotProductSizes{5, 3, 5}, DotProductSizes{64, 16, 16}, DotProductSizes{65, 8, 70},
                                         DotProductSizes{300, 64, 64}, DotProductSizes{257, 5, 33}})
      for (const std::int64_t queries : {1, 6, 7, 100})
        for (const Keep keep : {Keep::all, Keep::one_row, Keep::rows})
          for (const bool more : {false, true}) {
            const DotProductOptions form{queries, sizes, more ? 4.0 : 0.0, keep, more};
            expect_definition<float>(form);
            expect_definition<double>(form);
            expect_definition_of_small_scores<float>(form);
            expect_definition_of_small_scores<double>(form);
          }
  });
}

TEST(DotProduct, HasTheGradientsOfItsDefinition) {
  for_each_target([] {
    for (const DotProductSizes& sizes : {DotProductSizes{1, 1, 1}, DotProductSizes{5, 3, 5}, DotProductSizes{65, 8, 70}, DotProductSizes{300, 16, 33}})
      for (const std::int64_t queries : {1, 7, 100})
        for (const Keep keep : {Keep::all, Keep::one_row, Keep::rows})
          for (const bool more : {false, true}) {
            const DotProductOptions form{queries, sizes, more ? 4.0 : 0.0, keep, more};
            expect_gradients<float>(form);
            expect_gradients<double>(form);
          }
  });
}

// Bands, windows' factors and dropout, alone and together.
std::vector<DotProductOptions> with_windows() {
  std::vector<DotProductOptions> all;
  for (const DotProductSizes& sizes : {DotProductSizes{5, 3, 5}, DotProductSizes{65, 8, 20}, DotProductSizes{700, 16, 33}})
    for (const std::int64_t queries : {1, 7, 200}) {
      const DotProductOptions plain{.queries = queries, .sizes = sizes};
      const auto with = [&](const auto& change) { change(all.emplace_back(plain)); };
      with([](DotProductOptions& o) { o.spans = true, o.left = 1000; });
      with([](DotProductOptions& o) { o.spans = true, o.left = 2, o.right = 1; });
      with([](DotProductOptions& o) { o.spans = true, o.left = 20, o.keep = Keep::rows, o.bias = true, o.soft_cap = 4; });
      with([](DotProductOptions& o) { o.factors = true; });
      with([](DotProductOptions& o) { o.factors = o.renormalised = true; });
      with([](DotProductOptions& o) { o.dropout = 0.3; });
      with([](DotProductOptions& o) { o.spans = o.factors = o.renormalised = o.bias = true, o.left = 40, o.dropout = 0.5, o.soft_cap = 3, o.keep = Keep::one_row; });
    }
  return all;
}

TEST(DotProduct, HasWindowsAndDropoutAsItsDefinition) {
  for_each_target([] {
    for (const DotProductOptions& options : with_windows()) {
      expect_definition<float>(options);
      expect_definition<double>(options);
      expect_definition_of_small_scores<float>(options);
      expect_definition_of_small_scores<double>(options);
    }
  });
}

TEST(DotProduct, HasTheGradientsOfWindowsAndDropout) {
  for_each_target([] {
    for (const DotProductOptions& options : with_windows()) {
      expect_gradients<float>(options);
      expect_gradients<double>(options);
    }
  });
}

TEST(DotProduct, AQueryThatSeesNothingHasContextZero) {
  for_each_target([] {
    DotProductCase<float> given({.queries = 7, .sizes = {70, 4, 3}, .keep = Keep::rows});
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

TEST(DotProduct, ARowOfNothingButNaNIsNaN) {
  for_each_target([] {
    for (const std::int64_t keys : {5, 64, 700}) {
      DotProductCase<float> given({.queries = 7, .sizes = {keys, 4, 3}});
      for (std::size_t c = 0; c < 4; ++c) given.query[4 + c] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> got = context_of(given);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isnan(got[i]), i / 3 == 1) << i;
    }
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
