#include "kernels/additive.h"

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
using Numbers = std::vector<T>;

template <class T>
Numbers<T> normal_numbers(std::int64_t count, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  Numbers<T> row(static_cast<std::size_t>(count));
  for (T& value : row) value = static_cast<T>(normal(generator));
  return row;
}

template <class T>
struct AdditiveCase {
  AdditiveSizes sizes;
  Numbers<T> query, key, energy, value, context_gradient;

  AdditiveCase(const AdditiveSizes& of, double scale)
      : sizes(of),
        query(normal_numbers<T>(of.hidden, scale, 1)),
        key(normal_numbers<T>(of.keys * of.hidden, scale, 2)),
        energy(normal_numbers<T>(of.hidden, 1, 3)),
        value(normal_numbers<T>(of.keys * of.values, 1, 4)),
        context_gradient(normal_numbers<T>(of.values, 1, 5)) {}
};

template <class T>
struct AdditiveOutcome {
  Numbers<T> weights, context, query_gradient, key_gradient, energy_gradient;
};

// Gradients are added to 1.
template <class T>
AdditiveOutcome<T> run_additive(const AdditiveCase<T>& given) {
  const AdditiveSizes& sizes = given.sizes;
  Numbers<T> exponentials(given.key.size()), scratch(static_cast<std::size_t>(sizes.hidden + sizes.keys));
  const bool fits = doubled_exponentials(sizes.keys * sizes.hidden, given.key.data(), exponentials.data());
  const T* known = fits ? exponentials.data() : nullptr;
  AdditiveOutcome<T> outcome{Numbers<T>(static_cast<std::size_t>(sizes.keys)), Numbers<T>(given.context_gradient.size()), Numbers<T>(given.query.size()),
                     Numbers<T>(given.key.size(), 1), Numbers<T>(given.query.size(), 1)};
  additive_forward(sizes, AdditiveForward<T>{given.query.data(), given.key.data(), known, given.energy.data(), given.value.data(), scratch.data(),
                                             outcome.weights.data(), outcome.context.data()});
  additive_backward(sizes, AdditiveBackward<T>{given.query.data(), given.key.data(), known, given.energy.data(), given.value.data(),
                                               outcome.weights.data(), given.context_gradient.data(), scratch.data(), outcome.query_gradient.data(),
                                               outcome.key_gradient.data(), outcome.energy_gradient.data()});
  return outcome;
}

// By the definition, in float64.
template <class T>
AdditiveOutcome<double> by_definition(const AdditiveCase<T>& given) {
  const auto Lk = static_cast<std::size_t>(given.sizes.keys), A = static_cast<std::size_t>(given.sizes.hidden),
             Dv = static_cast<std::size_t>(given.sizes.values);
  AdditiveOutcome<double> outcome{Numbers<double>(Lk), Numbers<double>(Dv), Numbers<double>(A), Numbers<double>(Lk * A, 1), Numbers<double>(A, 1)};
  const auto tangent = [&](std::size_t j, std::size_t a) { return std::tanh(double(given.query[a]) + double(given.key[j * A + a])); };
  double sum = 0, mean = 0;
  for (std::size_t j = 0; j < Lk; ++j) {
    double score = 0;
    for (std::size_t a = 0; a < A; ++a) score += given.energy[a] * tangent(j, a);
    sum += outcome.weights[j] = std::exp(score);
  }
  Numbers<double> of_weight(Lk);
  for (std::size_t j = 0; j < Lk; ++j) {
    outcome.weights[j] /= sum;
    for (std::size_t c = 0; c < Dv; ++c) {
      outcome.context[c] += outcome.weights[j] * given.value[j * Dv + c];
      of_weight[j] += double(given.value[j * Dv + c]) * given.context_gradient[c];
    }
    mean += outcome.weights[j] * of_weight[j];
  }
  for (std::size_t j = 0; j < Lk; ++j)
    for (std::size_t a = 0; a < A; ++a) {
      const double of_score = outcome.weights[j] * (of_weight[j] - mean), t = tangent(j, a), through = of_score * given.energy[a] * (1 - t * t);
      outcome.energy_gradient[a] += of_score * t;
      outcome.query_gradient[a] += through;
      outcome.key_gradient[j * A + a] += through;
    }
  return outcome;
}

template <class T>
void expect_additive(const char* name, const Numbers<T>& got, const Numbers<double>& wanted, const AdditiveCase<T>& given) {
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  EXPECT_EQ(reference::difference(name, {got.begin(), got.end()}, wanted, reference::gradient_tolerance(type, given.sizes.keys + given.sizes.hidden)), "")
      << "Lk = " << given.sizes.keys << ", A = " << given.sizes.hidden << ", Dv = " << given.sizes.values;
}

template <class T>
void check_additive(const AdditiveSizes& sizes, double scale) {
  const AdditiveCase<T> given(sizes, scale);
  const AdditiveOutcome<T> got = run_additive(given);
  const AdditiveOutcome<double> wanted = by_definition(given);
  expect_additive("weights", got.weights, wanted.weights, given);
  expect_additive("context", got.context, wanted.context, given);
  expect_additive("gradient of the query", got.query_gradient, wanted.query_gradient, given);
  expect_additive("gradient of the keys", got.key_gradient, wanted.key_gradient, given);
  expect_additive("gradient of the energy", got.energy_gradient, wanted.energy_gradient, given);
}

TEST(Additive, EqualsTheDefinitionOnEveryTargetAndWidth) {
  for_each_target([] {
    for (const double scale : {1.0, 25.0, 400.0})  // exponentials fit; some don't; hardly any does
      for (const AdditiveSizes& sizes : {AdditiveSizes{1, 1, 1}, AdditiveSizes{2, 3, 5}, AdditiveSizes{7, 16, 8}, AdditiveSizes{6, 33, 64},
                                         AdditiveSizes{17, 47, 67}, AdditiveSizes{5, 64, 130}}) {
        check_additive<float>(sizes, scale);
        check_additive<double>(sizes, scale);
      }
  });
}

// q + k is moderate where q and k are far beyond what has an exponential.
TEST(Additive, LargeOppositesStayExact) {
  for_each_target([] {
    AdditiveCase<float> given({3, 5, 2}, 1);
    for (float& number : given.query) number += 500;
    for (float& number : given.key) number -= 500;
    const AdditiveOutcome<float> got = run_additive(given);
    expect_additive("weights", got.weights, by_definition(given).weights, given);
    for (const float weight : got.weights) EXPECT_LT(weight, 0.9f);
  });
}

TEST(Additive, KeepsNaN) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for_each_target([] {
    for (const bool in_query : {true, false}) {
      AdditiveCase<float> given({4, 19, 3}, 1);
      (in_query ? given.query : given.key)[18] = nan;
      const AdditiveOutcome<float> got = run_additive(given);
      for (const Numbers<float>& row : {got.weights, got.context})
        for (const float number : row) EXPECT_TRUE(std::isnan(number)) << in_query;
    }
  });
}

}  // namespace
}  // namespace attend::kernels
