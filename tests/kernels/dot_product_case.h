// Random problems of dot-product attention with their answers, for the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/dot_product.h"
#include "kernels/philox.h"

namespace attend::kernels {

// What a case has beside its sizes.
enum class Keep { all, one_row, rows };
struct DotProductOptions {
  std::int64_t queries = 1;
  DotProductSizes sizes;
  double soft_cap = 0;
  Keep keep = Keep::all;
  bool bias = false;
  // Spans of keys: of query i, keys i · slope − left … i · slope + right.
  bool spans = false;
  std::int64_t left = 3, right = 0;
  bool factors = false, renormalised = false;
  double dropout = 0;
};

template <class T>
struct DotProductCase {
  DotProductOptions options;
  std::vector<T> query, key, value, bias, factors;
  std::vector<std::uint8_t> keep;  // 0 or 1

  explicit DotProductCase(const DotProductOptions& of) : options(of) {
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
    fill(factors, of.factors ? Lq * Lk : 0);
    // one row's are all 0
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = i / static_cast<std::size_t>(Lk) == 3 ? T(0) : std::abs(factors[i]) + T(0.1);
    if (of.keep == Keep::all) return;
    keep.resize(static_cast<std::size_t>(of.keep == Keep::rows ? Lq * Lk : Lk));
    // every fifth row sees nothing, every third the second half only, so that whole blocks are hidden
    for (std::size_t i = 0; i < keep.size(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(Lk), column = i % static_cast<std::size_t>(Lk);
      const bool seen = row % 3 == 2 ? column >= static_cast<std::size_t>(Lk) / 2 : generator() % 4 != 0;
      keep[i] = seen && row % 5 != 4;
    }
  }

  // As many keys a query as there are: the last query is lined up with the last key.
  std::int64_t first_key(std::int64_t i) const { return std::max<std::int64_t>(0, (i + 1) * options.sizes.keys / options.queries - 1 - options.left); }
  std::int64_t end_key(std::int64_t i) const { return std::min(options.sizes.keys, (i + 1) * options.sizes.keys / options.queries + options.right); }

  bool is_kept(std::int64_t i, std::int64_t j) const {
    if (options.spans && (j < first_key(i) || j >= end_key(i))) return false;
    if (options.keep == Keep::all) return true;
    return keep[static_cast<std::size_t>(options.keep == Keep::rows ? i * options.sizes.keys + j : j)] != 0;
  }
  double factor(std::int64_t i, std::int64_t j) const { return options.factors ? double(factors[static_cast<std::size_t>(i * options.sizes.keys + j)]) : 1; }
  double multiplier(std::int64_t i, std::int64_t j) const {
    double out = 1;
    if (options.dropout > 0) dropout_multipliers(dropout_seed, options.dropout, 2, 5, static_cast<std::uint32_t>(7 + i), 3 + j, 1, &out);
    return out;
  }
  static constexpr std::uint64_t dropout_seed = 0x123456789abcdef;

  DotProductForm form() const;
  std::vector<QueryRow<T>> rows() const;
};

constexpr double dot_product_scale = 1.5;  // peaky

template <class T>
DotProductForm DotProductCase<T>::form() const {
  return {dot_product_scale, options.soft_cap, options.renormalised, {options.dropout, dropout_seed, 3}};
}

template <class T>
std::vector<QueryRow<T>> DotProductCase<T>::rows() const {
  std::vector<QueryRow<T>> all;
  if (options.keep == Keep::all && !options.bias && !options.spans && !options.factors && options.dropout == 0) return all;
  for (std::int64_t i = 0; i < options.queries; ++i) {
    QueryRow<T> row;
    const std::int64_t place = i * options.sizes.keys;
    if (options.spans) row.first_key = first_key(i), row.end_key = end_key(i);
    if (!keep.empty()) row.keep = reinterpret_cast<const bool*>(keep.data()) + (options.keep == Keep::rows ? place : 0);
    if (options.bias) row.bias = bias.data() + place;
    if (options.factors) row.factors = factors.data() + place;
    row.batch = 2, row.head = 5, row.row = static_cast<std::uint32_t>(7 + i);
    all.push_back(row);
  }
  return all;
}

// For messages.
inline std::string text_of(const DotProductOptions& of) {
  return "Lq = " + std::to_string(of.queries) + ", Lk = " + std::to_string(of.sizes.keys) + ", Dk = " + std::to_string(of.sizes.key_width) +
         ", Dv = " + std::to_string(of.sizes.value_width) + ", soft cap " + std::to_string(of.soft_cap) + ", keep " + std::to_string(static_cast<int>(of.keep)) +
         (of.bias ? ", bias" : "") + (of.spans ? ", spans" : "") + (of.factors ? ", factors" : "") + (of.renormalised ? ", renormalised" : "") +
         (of.dropout > 0 ? ", dropout" : "");
}

// Of one query, by the definition in float64: softmax weights and those that values are summed up by.
struct RowByDefinition {
  std::vector<double> weights, slopes, used;
  double sum = 0;  // of the weights times their factors, where they are divided by it
};

template <class T>
RowByDefinition row_by_definition(const DotProductCase<T>& given, std::int64_t i) {
  const DotProductOptions& form = given.options;
  const auto Lk = static_cast<std::size_t>(form.sizes.keys), Dk = static_cast<std::size_t>(form.sizes.key_width), row = static_cast<std::size_t>(i);
  RowByDefinition result{std::vector<double>(Lk), std::vector<double>(Lk, 1), std::vector<double>(Lk), 1};
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, with_factors = 0;
  for (std::size_t j = 0; j < Lk; ++j) {
    double score = 0;
    for (std::size_t c = 0; c < Dk; ++c) score += double(given.query[row * Dk + c]) * given.key[j * Dk + c];
    score *= dot_product_scale;
    if (form.soft_cap > 0) {
      const double t = std::tanh(score / form.soft_cap);
      score = form.soft_cap * t, result.slopes[j] = 1 - t * t;
    }
    if (form.bias) score += given.bias[row * Lk + j];
    result.weights[j] = score;
    if (given.is_kept(i, static_cast<std::int64_t>(j))) largest = std::max(largest, score);
  }
  for (std::size_t j = 0; j < Lk; ++j) sum += result.weights[j] = given.is_kept(i, static_cast<std::int64_t>(j)) ? std::exp(result.weights[j] - largest) : 0;
  for (std::size_t j = 0; j < Lk && sum > 0; ++j) with_factors += (result.weights[j] /= sum) * given.factor(i, static_cast<std::int64_t>(j));
  if (form.renormalised) result.sum = with_factors;
  for (std::size_t j = 0; j < Lk && result.sum > 0; ++j)
    result.used[j] = result.weights[j] * given.factor(i, static_cast<std::int64_t>(j)) / result.sum * given.multiplier(i, static_cast<std::int64_t>(j));
  return result;
}

template <class T>
std::vector<double> context_by_definition(const DotProductCase<T>& given) {
  const DotProductSizes& sizes = given.options.sizes;
  std::vector<double> context(static_cast<std::size_t>(given.options.queries * sizes.value_width), 0);
  for (std::int64_t i = 0; i < given.options.queries; ++i) {
    const RowByDefinition row = row_by_definition(given, i);
    for (std::int64_t j = 0; j < sizes.keys; ++j)
      for (std::int64_t c = 0; c < sizes.value_width; ++c)
        context[static_cast<std::size_t>(i * sizes.value_width + c)] +=
            row.used[static_cast<std::size_t>(j)] * given.value[static_cast<std::size_t>(j * sizes.value_width + c)];
  }
  return context;
}

}  // namespace attend::kernels
