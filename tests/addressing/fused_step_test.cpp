// Reads of few queries, without gradients, against the composed form.
#include <gtest/gtest.h>

#include <limits>

#include "attend/addressing/dot_product.h"
#include "attend/addressing/scores/cosine.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

struct StepProblem {
  Tensor query, key, value;
  Mask mask;
};

// Two queries of two heads that share a key head; a cache of 1,100 places, of which the second row has 700.
StepProblem step_problem(at::ScalarType type) {
  at::manual_seed(1);
  const auto heads_inside = [&](std::int64_t heads, std::int64_t length, std::int64_t width) {
    return at::randn({2, length, heads, width}, at::kDouble).mul(1.5).to(type).transpose(1, 2);
  };
  return {heads_inside(4, 2, 24), heads_inside(2, 1100, 24), heads_inside(2, 1100, 40),
          Mask::causal() & Mask::lengths(at::tensor({1100, 700}, at::kLong)) & Mask::bias(at::randn({1, 4, 2, 1100}, at::kDouble).to(type))};
}

Tensor read_step_problem(const StepProblem& problem, Path path, double soft_cap = 0) {
  DotProductOptions options;
  options.read.path = path;
  options.read.soft_cap = soft_cap;
  return dot_product(problem.query, problem.key, problem.value, problem.mask, options).context;
}

void expect_near(const Tensor& got, const Tensor& wanted, reference::Type type) {
  EXPECT_EQ(reference::difference("context", reference::numbers(got), reference::numbers(wanted), reference::tolerance(type, 1100)), "");
}

TEST(FusedStep, AgreesWithTheComposedForm) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const double soft_cap : {0.0, 3.0}) {
      const StepProblem problem = step_problem(type);
      for (const Path path : {Path::fused, Path::automatic})
        expect_near(read_step_problem(problem, path, soft_cap), read_step_problem(problem, Path::composed, soft_cap), reference::type_of(problem.query));
    }
}

TEST(FusedStep, ReadsKeysAndValuesOfSixteenBitsWhereTheyLie) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    StepProblem problem = step_problem(type);
    problem.mask = Mask::lengths(at::tensor({1100, 700}, at::kLong));
    const Tensor got = read_step_problem(problem, Path::fused), wanted = read_step_problem(problem, Path::composed);
    EXPECT_EQ(got.scalar_type(), type);
    // both are computed in float32 and rounded once
    EXPECT_LE((got.to(at::kFloat) - wanted.to(at::kFloat)).abs().max().item<float>(), type == at::kHalf ? 2e-3f : 1.6e-2f);
  }
}

TEST(FusedStep, ThreadsChangeNothing) {
  const StepProblem problem = step_problem(at::kFloat);
  const int before = at::get_num_threads();
  std::vector<Tensor> contexts;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    contexts.push_back(read_step_problem(problem, Path::fused));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(contexts[1].equal(contexts[0]));
  EXPECT_TRUE(contexts[2].equal(contexts[0]));
}

// NaN behind the length changes nothing; one in sight makes its rows NaN, and minus infinity in a key does, though its weight would be 0.
TEST(FusedStep, KeepsTheRulesOfNumbersThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    StepProblem problem = step_problem(at::kDouble);
    const Tensor clean = read_step_problem(problem, Path::fused);
    problem.key = problem.key.clone(), problem.value = problem.value.clone();
    problem.key.slice(2, 700)[1].fill_(bad), problem.value.slice(2, 700)[1].fill_(bad);
    EXPECT_TRUE(read_step_problem(problem, Path::fused).equal(clean));
    problem.key[0][1][5][2] = bad;
    const Tensor with_bad = read_step_problem(problem, Path::fused);
    EXPECT_TRUE(with_bad[0].slice(0, 2, 4).isnan().all().item<bool>());
    EXPECT_FALSE(with_bad[0].slice(0, 0, 2).isnan().any().item<bool>());
    EXPECT_FALSE(with_bad[1].isnan().any().item<bool>());
  }
}

TEST(FusedStep, ReadsProjectedQueriesAndGivesWayToGradients) {
  const StepProblem problem = step_problem(at::kDouble);
  const auto read_cosine = [&](const Tensor& query, Path path) {
    return read("f", query, problem.key, problem.value, cosine_form(4.0), problem.mask, {.path = path}).context;
  };
  expect_near(read_cosine(problem.query, Path::fused), read_cosine(problem.query, Path::composed), reference::Type::float64);
  const Tensor query = problem.query.clone().set_requires_grad(true);
  const auto gradient = [&](Path path) { return torch::autograd::grad({read_cosine(query, path).pow(2).sum()}, {query})[0]; };
  EXPECT_EQ(reference::difference("gradient", reference::numbers(gradient(Path::fused)), reference::numbers(gradient(Path::composed)),
                                  reference::gradient_tolerance(reference::Type::float64, 1100)),
            "");
}

}  // namespace
}  // namespace attend::addressing
