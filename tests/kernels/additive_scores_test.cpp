#include "kernels/additive_scores.h"

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

template <class T>
std::vector<T> random_rows(std::int64_t count, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<T> rows(static_cast<std::size_t>(count));
  for (T& value : rows) value = static_cast<T>(normal(generator));
  return rows;
}

struct ScoreSizes {
  std::int64_t queries, keys, hidden, seen;  // the first `seen` keys are scored
};

// Rows of queries and keys lie `gap` numbers further apart than they are wide.
template <class T>
struct ScoreCase {
  static constexpr std::int64_t gap = 3;
  ScoreSizes sizes;
  std::vector<T> query, key, energy, upstream;  // upstream [queries, Lk], 0 behind the seen keys

  ScoreCase(const ScoreSizes& of, double scale)
      : sizes(of),
        query(random_rows<T>(of.queries * (of.hidden + gap), scale, 1)),
        key(random_rows<T>(of.keys * (of.hidden + gap), scale, 2)),
        energy(random_rows<T>(of.hidden, 1, 3)),
        upstream(random_rows<T>(of.queries * of.keys, 1, 4)) {
    for (std::int64_t i = 0; i < of.queries; ++i) std::fill_n(upstream.begin() + i * of.keys + of.seen, of.keys - of.seen, T(0));
  }

  std::int64_t stride() const { return sizes.hidden + gap; }
  AdditiveSizes kernel_sizes() const { return {sizes.keys, sizes.hidden, 0}; }
};

template <class T>
struct ScoreOutcome {
  std::vector<T> scores, query_gradient, key_gradient, energy_gradient;
};

// Queries in blocks of `block`, exponentials in parts of 3 keys.
template <class T>
ScoreOutcome<T> run_scores(const ScoreCase<T>& given, std::int64_t block_size = additive_block_queries) {
  const auto [queries, keys, hidden, seen] = given.sizes;
  const AdditiveSizes sizes = given.kernel_sizes();
  const auto numbers = [](std::int64_t count) { return std::vector<T>(static_cast<std::size_t>(count), T(7)); };
  std::vector<T> exponentials = numbers(additive_exponentials_size<T>(sizes) + 64 / sizeof(T)), largest = numbers(keys);
  T* const panels = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(exponentials.data()) + 63) / 64 * 64);
  for (std::int64_t j = 0; j < keys; j += 3) additive_exponentials(sizes, j, std::min<std::int64_t>(3, keys - j), given.key.data(), given.stride(), panels, largest.data());
  std::vector<T> scratch = numbers(std::max(additive_scores_scratch_size<T>(sizes), additive_backward_scratch_size<T>(queries, keys)));
  ScoreOutcome<T> outcome{numbers(queries * seen), numbers(queries * hidden), numbers(keys * hidden), numbers(hidden)};
  for (std::int64_t i = 0; i < queries; i += block_size) {
    AdditiveScores<T> block;
    block.queries = std::min(block_size, queries - i), block.keys = seen;
    block.query = given.query.data() + i * given.stride(), block.query_stride = given.stride();
    block.key = given.key.data(), block.key_stride = given.stride();
    block.exponentials = panels, block.largest = largest.data(), block.energy = given.energy.data();
    block.scores = outcome.scores.data() + i * seen, block.scores_stride = seen;
    block.scratch = scratch.data();
    additive_scores(sizes, block);
  }
  for (std::int64_t unit = 0; unit < hidden; unit += additive_units<T>()) {
    AdditiveScoresBackward<T> block;
    block.queries = queries, block.keys = seen, block.first_unit = unit;
    block.query = given.query.data(), block.query_stride = given.stride();
    block.key = given.key.data(), block.key_stride = given.stride(), block.energy = given.energy.data();
    block.scores_gradient = given.upstream.data(), block.scores_gradient_stride = keys;
    block.query_gradient = outcome.query_gradient.data(), block.key_gradient = outcome.key_gradient.data();
    block.energy_gradient = outcome.energy_gradient.data();
    block.scratch = scratch.data();
    additive_scores_backward(sizes, block);
  }
  return outcome;
}

// By the definition, in float64.
template <class T>
ScoreOutcome<double> defined_scores(const ScoreCase<T>& given) {
  const auto [queries, keys, hidden, seen] = given.sizes;
  const auto zeros = [](std::int64_t count) { return std::vector<double>(static_cast<std::size_t>(count)); };
  ScoreOutcome<double> outcome{zeros(queries * seen), zeros(queries * hidden), zeros(keys * hidden), zeros(hidden)};
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < seen; ++j)
      for (std::int64_t a = 0; a < hidden; ++a) {
        const double t = std::tanh(double(given.query[i * given.stride() + a]) + double(given.key[j * given.stride() + a]));
        const double ds = given.upstream[i * keys + j], through = ds * given.energy[a] * (1 - t * t);
        outcome.scores[i * seen + j] += given.energy[a] * t;
        outcome.energy_gradient[a] += ds * t;
        outcome.query_gradient[i * hidden + a] += through;
        outcome.key_gradient[j * hidden + a] += through;
      }
  return outcome;
}

template <class T>
void expect_scores(const ScoreOutcome<T>& got, const ScoreOutcome<double>& wanted, const ScoreSizes& sizes, double scale) {
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  const reference::Tolerance near = reference::gradient_tolerance(type, sizes.keys + sizes.hidden);
  const auto expect = [&](const char* name, const std::vector<T>& numbers, const std::vector<double>& right) {
    EXPECT_EQ(reference::difference(name, {numbers.begin(), numbers.end()}, right, near), "")
        << sizes.queries << " × " << sizes.keys << ", A = " << sizes.hidden << ", seen " << sizes.seen << ", scale " << scale;
  };
  expect("scores", got.scores, wanted.scores);
  expect("gradient of the query", got.query_gradient, wanted.query_gradient);
  expect("gradient of the keys", got.key_gradient, wanted.key_gradient);
  expect("gradient of the energy", got.energy_gradient, wanted.energy_gradient);
}

constexpr ScoreSizes score_sizes[] = {{1, 1, 1, 1}, {2, 3, 5, 2}, {4, 4, 16, 4}, {5, 7, 33, 7}, {17, 9, 40, 5}, {33, 21, 47, 21}, {3, 2, 64, 0}};

TEST(AdditiveScores, EqualTheDefinitionOnEveryTargetAndWidth) {
  for_each_target([] {
    for (const double scale : {1.0, 12.0, 60.0, 500.0})  // exponentials fit; some don't; many; all
      for (const ScoreSizes& sizes : score_sizes) {
        const ScoreCase<float> single(sizes, scale);
        expect_scores(run_scores(single), defined_scores(single), sizes, scale);
        const ScoreCase<double> twice(sizes, scale);
        expect_scores(run_scores(twice), defined_scores(twice), sizes, scale);
      }
  });
}

// Where only one side is large nothing cancels; where both are, and opposite, tanh is far from ±1.
TEST(AdditiveScores, LargeNumbersStayExact) {
  for_each_target([] {
    for (const auto& [of_query, of_key] : {std::pair{300.f, 3.f}, std::pair{-5.f, 700.f}, std::pair{500.f, -500.f}, std::pair{-21.f, 21.f}, std::pair{25.f, -12.f}}) {
      ScoreCase<float> given({6, 5, 35, 5}, 1);
      for (std::int64_t i = 0; i < 6; i += 2) given.query[static_cast<std::size_t>(i * given.stride() + 3)] += of_query;
      for (std::int64_t j = 1; j < 5; j += 2) given.key[static_cast<std::size_t>(j * given.stride() + 3)] += of_key;
      expect_scores(run_scores(given), defined_scores(given), given.sizes, of_query);
    }
  });
}

// The energies of a pair of units share one quotient.
TEST(AdditiveScores, LargeEnergiesDontOverflow) {
  for_each_target([] {
    ScoreCase<float> given({5, 6, 34, 6}, 12);
    for (float& number : given.energy) number *= 1e20f;
    const ScoreOutcome<float> got = run_scores(given);
    const ScoreOutcome<double> wanted = defined_scores(given);
    for (std::size_t i = 0; i < got.scores.size(); ++i) EXPECT_NEAR(got.scores[i] / 1e20, wanted.scores[i] / 1e20, 1e-4);
  });
}

TEST(AdditiveScores, BlocksChangeNothing) {
  for_each_target([] {
    const ScoreCase<float> given({23, 10, 50, 10}, 8);
    const std::vector<float> wanted = run_scores(given).scores;
    for (const std::int64_t block : {1, 2, 7, 16}) EXPECT_EQ(run_scores(given, block).scores, wanted) << block;
  });
}

TEST(AdditiveScores, KeepNaN) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto is_nan = [](float number) { return std::isnan(number); };
  for_each_target([&] {
    for (const int unit : {0, 17}) {
      ScoreCase<float> energy({3, 4, 18, 4}, 1), query = energy, key = energy, opposite = energy;
      energy.energy[unit] = nan;
      const ScoreOutcome<float> of_energy = run_scores(energy);
      EXPECT_TRUE(std::all_of(of_energy.scores.begin(), of_energy.scores.end(), is_nan));
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(of_energy.query_gradient[i * 18 + unit]));
      query.query[query.stride() + unit] = nan;
      const std::vector<float> of_query = run_scores(query).scores;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(std::count_if(of_query.begin() + 4 * i, of_query.begin() + 4 * i + 4, is_nan), i == 1 ? 4 : 0);
      key.key[2 * key.stride() + unit] = nan;
      const std::vector<float> of_key = run_scores(key).scores;
      for (int j = 0; j < 4; ++j) EXPECT_EQ(std::isnan(of_key[j]) && std::isnan(of_key[4 + j]) && std::isnan(of_key[8 + j]), j == 2);
      opposite.query[unit] = infinity, opposite.key[unit] = -infinity;
      const std::vector<float> of_opposite = run_scores(opposite).scores;
      EXPECT_TRUE(std::isnan(of_opposite[0]));
      EXPECT_EQ(std::count_if(of_opposite.begin(), of_opposite.end(), is_nan), 1);
    }
  });
}

}  // namespace
}  // namespace attend::kernels
