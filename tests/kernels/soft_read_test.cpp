#include "kernels/soft_read.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/philox.h"
#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

struct ReadForm {
  std::int64_t queries, keys, values, seen;
  double soft_cap = 0;
  bool masked = false, biased = false, factors = false, renormalised = false;
  double dropout = 0;
};

using Doubles = std::vector<double>;

Doubles random_doubles(std::int64_t count, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  Doubles row(static_cast<std::size_t>(count));
  for (double& value : row) value = normal(generator);
  return row;
}

constexpr std::uint64_t read_seed = 0x123456789abcdefULL;

struct ReadCase {
  ReadForm form;
  Doubles scores, value, bias, factors, context_upstream, weights_upstream;
  std::unique_ptr<bool[]> keep;

  explicit ReadCase(const ReadForm& of)
      : form(of),
        scores(random_doubles(of.queries * of.keys, 3, 1)),
        value(random_doubles(of.keys * of.values, 1, 2)),
        bias(random_doubles(of.queries * of.keys, 1, 3)),
        factors(random_doubles(of.queries * of.keys, 1, 4)),
        context_upstream(random_doubles(of.queries * of.values, 1, 5)),
        weights_upstream(random_doubles(of.queries * of.keys, 1, 6)),
        keep(new bool[static_cast<std::size_t>(of.queries * of.keys)]) {
    for (double& factor : factors) factor = std::abs(factor) + 0.1;
    for (std::int64_t i = 0; i < of.queries; ++i)
      for (std::int64_t j = 0; j < of.keys; ++j) keep[static_cast<std::size_t>(i * of.keys + j)] = j < of.seen && i % 5 != 3 && (i + 2 * j) % 3 != 0;
    // numbers that float32 has too, so that both types read the same
    for (Doubles* all : {&scores, &value, &bias, &factors, &context_upstream, &weights_upstream})
      for (double& number : *all) number = static_cast<float>(number);
  }
};

template <class T>
struct ReadOutcome {
  std::vector<T> weights, context, scores_gradient, bias_gradient, factors_gradient, value_gradient;
};

template <class T>
ReadOutcome<T> run_read(const ReadCase& given) {
  const ReadForm& form = given.form;
  const SoftReadSizes sizes{form.keys, form.values};
  const auto typed = [](const Doubles& numbers) { return std::vector<T>(numbers.begin(), numbers.end()); };
  const auto numbers = [](std::int64_t count) { return std::vector<T>(static_cast<std::size_t>(count), T(7)); };
  const std::int64_t stride = soft_read_stride(form.keys), pairs = form.queries * form.keys;
  const std::vector<T> value = typed(given.value), bias = typed(given.bias), factors = typed(given.factors), of_context = typed(given.context_upstream),
                       of_weights = typed(given.weights_upstream);
  std::vector<T> scores = numbers(form.queries * stride), p = numbers(pairs), capped = numbers(pairs), scratch = numbers(soft_read_scratch_size(sizes)), used = numbers(pairs);
  for (std::int64_t i = 0; i < form.queries; ++i)
    for (std::int64_t j = 0; j < form.seen; ++j) scores[static_cast<std::size_t>(i * stride + j)] = static_cast<T>(given.scores[static_cast<std::size_t>(i * form.keys + j)]);
  SoftReadRules<T> rules;
  rules.soft_cap = form.soft_cap, rules.renormalised = form.renormalised, rules.dropout = form.dropout;
  rules.seed = read_seed, rules.batch = 3, rules.head = 1, rules.first_row = 5, rules.first_column = 2;
  if (form.masked) rules.keep = given.keep.get(), rules.keep_stride = form.keys;
  if (form.biased) rules.bias = bias.data(), rules.bias_stride = form.keys;
  if (form.factors) rules.factors = factors.data(), rules.factors_stride = form.keys;
  ReadOutcome<T> outcome{numbers(pairs), numbers(form.queries * form.values), numbers(pairs), numbers(pairs), numbers(pairs), numbers(form.keys * form.values)};
  SoftRead<T> read;
  read.queries = form.queries, read.keys = form.seen, read.scores = scores.data(), read.rules = rules;
  read.value = value.data(), read.value_stride = form.values, read.probabilities = p.data(), read.capped = capped.data();
  read.weights = outcome.weights.data(), read.context = outcome.context.data(), read.context_stride = form.values, read.scratch = scratch.data();
  soft_read(sizes, read);
  SoftReadBackward<T> back;
  back.queries = form.queries, back.keys = form.seen, back.rules = rules, back.probabilities = p.data(), back.capped = capped.data();
  back.value = value.data(), back.value_stride = form.values, back.context_gradient = of_context.data(), back.context_gradient_stride = form.values;
  back.weights_gradient = of_weights.data(), back.scores_gradient = outcome.scores_gradient.data(), back.bias_gradient = outcome.bias_gradient.data();
  back.factors_gradient = outcome.factors_gradient.data(), back.used = used.data(), back.scratch = scratch.data();
  soft_read_backward(sizes, back);
  for (std::int64_t j = 0; j < form.keys; j += 3) {
    SoftReadValues<T> values;
    values.queries = form.queries, values.first_key = j, values.count = std::min<std::int64_t>(3, form.keys - j), values.used = used.data();
    values.context_gradient = of_context.data(), values.context_gradient_stride = form.values, values.value_gradient = outcome.value_gradient.data();
    soft_read_value_gradient(sizes, values);
  }
  return outcome;
}

// By the definition, in float64: weights and multipliers of one row.
struct DefinedRow {
  Doubles weights, used;
};

DefinedRow defined_row(const ReadCase& given, std::int64_t i, const Doubles& scores, const Doubles& bias, const Doubles& factors) {
  const ReadForm& form = given.form;
  const auto at = [&](std::int64_t j) { return static_cast<std::size_t>(i * form.keys + j); };
  DefinedRow row{Doubles(static_cast<std::size_t>(form.keys)), {}};
  double sum = 0;
  for (std::int64_t j = 0; j < form.seen; ++j) {
    if (form.masked && !given.keep[at(j)]) continue;
    double s = scores[at(j)];
    if (form.soft_cap > 0) s = form.soft_cap * std::tanh(s / form.soft_cap);
    if (form.biased) s += bias[at(j)];
    sum += row.weights[static_cast<std::size_t>(j)] = std::exp(s);
  }
  double divisor = 0;
  for (std::int64_t j = 0; j < form.keys; ++j) {
    double& w = row.weights[static_cast<std::size_t>(j)];
    if (sum > 0) w /= sum;
    if (form.factors) w *= factors[at(j)];
    divisor += w;
  }
  if (form.renormalised && divisor != 0)
    for (double& w : row.weights) w /= divisor;
  row.used = row.weights;
  Doubles multipliers(static_cast<std::size_t>(form.keys), 1.0);
  if (form.dropout > 0) dropout_multipliers(read_seed, form.dropout, 3, 1, static_cast<std::uint32_t>(5 + i), 2, form.keys, multipliers.data());
  for (std::size_t j = 0; j < multipliers.size(); ++j) row.used[j] *= multipliers[j];
  return row;
}

double defined_loss(const ReadCase& given, const Doubles& scores, const Doubles& value, const Doubles& bias, const Doubles& factors) {
  const ReadForm& form = given.form;
  double loss = 0;
  for (std::int64_t i = 0; i < form.queries; ++i) {
    const DefinedRow row = defined_row(given, i, scores, bias, factors);
    for (std::int64_t j = 0; j < form.keys; ++j) {
      loss += row.weights[static_cast<std::size_t>(j)] * given.weights_upstream[static_cast<std::size_t>(i * form.keys + j)];
      for (std::int64_t c = 0; c < form.values; ++c)
        loss += row.used[static_cast<std::size_t>(j)] * value[static_cast<std::size_t>(j * form.values + c)] * given.context_upstream[static_cast<std::size_t>(i * form.values + c)];
    }
  }
  return loss;
}

// Five-point difference quotients of the loss.
Doubles quotients(const ReadCase& given, Doubles ReadCase::*input) {
  Doubles gradient;
  Doubles scores = given.scores, value = given.value, bias = given.bias, factors = given.factors;
  Doubles& moved = input == &ReadCase::scores ? scores : input == &ReadCase::value ? value : input == &ReadCase::bias ? bias : factors;
  constexpr double step = 1e-3;
  for (double& number : moved) {
    const double start = number;
    const auto loss_at = [&](double offset) {
      number = start + offset;
      return defined_loss(given, scores, value, bias, factors);
    };
    gradient.push_back((8 * (loss_at(step) - loss_at(-step)) - (loss_at(2 * step) - loss_at(-2 * step))) / (12 * step));
    number = start;
  }
  return gradient;
}

template <class T>
void check_read(const ReadCase& given, const ReadOutcome<double>& wanted) {
  const ReadForm& form = given.form;
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  const ReadOutcome<T> got = run_read<T>(given);
  const auto expect = [&](const char* name, const std::vector<T>& numbers, const Doubles& right, reference::Tolerance near) {
    near.absolute += reference::difference_quotient_tolerance().absolute, near.relative += reference::difference_quotient_tolerance().relative;
    EXPECT_EQ(reference::difference(name, {numbers.begin(), numbers.end()}, right, near), "")
        << form.queries << " × " << form.keys << ", Dv = " << form.values << ", soft cap " << form.soft_cap << ", mask " << form.masked << ", bias " << form.biased
        << ", factors " << form.factors << form.renormalised << ", dropout " << form.dropout;
  };
  expect("weights", got.weights, wanted.weights, reference::tolerance(type, form.keys));
  expect("context", got.context, wanted.context, reference::tolerance(type, form.keys));
  const reference::Tolerance near = reference::gradient_tolerance(type, form.keys + form.values);
  expect("gradient of the scores", got.scores_gradient, wanted.scores_gradient, near);
  expect("gradient of the values", got.value_gradient, wanted.value_gradient, near);
  if (form.biased) expect("gradient of the bias", got.bias_gradient, wanted.bias_gradient, near);
  if (form.factors) expect("gradient of the factors", got.factors_gradient, wanted.factors_gradient, near);
}

ReadOutcome<double> defined_read(const ReadCase& given) {
  const ReadForm& form = given.form;
  ReadOutcome<double> wanted;
  for (std::int64_t i = 0; i < form.queries; ++i) {
    const DefinedRow row = defined_row(given, i, given.scores, given.bias, given.factors);
    wanted.weights.insert(wanted.weights.end(), row.weights.begin(), row.weights.end());
    for (std::int64_t c = 0; c < form.values; ++c) {
      double context = 0;
      for (std::int64_t j = 0; j < form.keys; ++j) context += row.used[static_cast<std::size_t>(j)] * given.value[static_cast<std::size_t>(j * form.values + c)];
      wanted.context.push_back(context);
    }
  }
  wanted.scores_gradient = quotients(given, &ReadCase::scores), wanted.value_gradient = quotients(given, &ReadCase::value);
  if (form.biased) wanted.bias_gradient = quotients(given, &ReadCase::bias);
  if (form.factors) wanted.factors_gradient = quotients(given, &ReadCase::factors);
  return wanted;
}

TEST(SoftRead, EqualsTheDefinitionOnEveryTarget) {
  std::vector<ReadForm> forms = {{1, 1, 1, 1}, {2, 3, 5, 3}, {5, 17, 8, 17}, {16, 20, 16, 13}, {7, 9, 37, 9}, {4, 2, 70, 2}, {3, 6, 4, 0}};
  forms.push_back({6, 19, 18, 17, 2.5, true, true});
  forms.push_back({6, 19, 18, 17, 0, false, false, true});
  forms.push_back({6, 19, 18, 19, 0, true, false, true, true});
  forms.push_back({9, 22, 11, 21, 4, true, true, true, true, 0.4});
  forms.push_back({5, 7, 9, 7, 0, false, false, false, false, 1});
  for (const ReadForm& form : forms) {
    const ReadCase given(form);
    const ReadOutcome<double> wanted = defined_read(given);
    for_each_target([&] {
      check_read<float>(given, wanted);
      check_read<double>(given, wanted);
    });
  }
}

TEST(SoftRead, KeepsNaNEvenWhereAllAre) {
  for_each_target([] {
    for (const bool all : {false, true}) {
      ReadCase given({3, 5, 4, 5});
      for (std::int64_t j = 0; j < 5; ++j)
        if (all || j == 2) given.scores[static_cast<std::size_t>(5 + j)] = std::numeric_limits<double>::quiet_NaN();
      const ReadOutcome<float> got = run_read<float>(given);
      for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_TRUE(std::isnan(got.weights[5 + j])) << all;
        EXPECT_FALSE(std::isnan(got.weights[j]) || std::isnan(got.weights[10 + j]));
      }
    }
  });
}

}  // namespace
}  // namespace attend::kernels
