// The fused path of the dot-product family against the composed one, on sizes with many blocks; the rules at the edges are the contract's.
#include <gtest/gtest.h>

#include "attend/addressing/dot_product.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

struct FusedProblem {
  Tensor query, key, value, bias;
  Mask mask;
};

// Rows that lie apart, as multi-head attention has them: [B, L, H, D] seen as [B, H, L, D].
Tensor heads_inside(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t width, at::ScalarType type) {
  return at::randn({batch, length, heads, width}, at::kDouble).to(type).transpose(1, 2).set_requires_grad(true);
}

FusedProblem fused_problem(at::ScalarType type, std::int64_t key_width, std::int64_t value_width) {
  FusedProblem problem{heads_inside(2, 4, 203, key_width, type), heads_inside(2, 2, 611, key_width, type), heads_inside(2, 2, 611, value_width, type), {}, {}};
  problem.bias = at::randn({1, 4, 203, 611}, at::kDouble).to(type).set_requires_grad(true);
  problem.mask = Mask::causal() & Mask::lengths(at::tensor({611, 340}, at::kLong)) & Mask::bias(problem.bias) &
                 Mask::keep(at::rand({2, 1, 1, 611}) > 0.1);
  return problem;
}

struct FusedOutcome {
  Tensor context;
  std::vector<Tensor> gradients;
};

FusedOutcome outcome_of(const FusedProblem& problem, Path path, double soft_cap) {
  DotProductOptions options;
  options.read.path = path;
  options.read.soft_cap = soft_cap;
  const Tensor context = dot_product(problem.query, problem.key, problem.value, problem.mask, options).context;
  const Tensor upstream = at::arange(context.numel(), context.options()).sin().view(context.sizes());
  return {context.detach(), torch::autograd::grad({context}, {problem.query, problem.key, problem.value, problem.bias}, {upstream})};
}

TEST(FusedDotProduct, AgreesWithTheComposedFormOnManyBlocks) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const auto& [key_width, value_width] : {std::pair{16, 16}, std::pair{20, 33}})
      for (const double soft_cap : {0.0, 3.0}) {
        at::manual_seed(1);
        const FusedProblem problem = fused_problem(type, key_width, value_width);
        const FusedOutcome got = outcome_of(problem, Path::fused, soft_cap), wanted = outcome_of(problem, Path::composed, soft_cap);
        const reference::Type kind = reference::type_of(got.context);
        EXPECT_EQ(reference::difference("context", reference::numbers(got.context), reference::numbers(wanted.context), reference::tolerance(kind, 611)), "");
        for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
          EXPECT_EQ(reference::difference("gradient " + std::to_string(i), reference::numbers(got.gradients[i]), reference::numbers(wanted.gradients[i]),
                                          reference::gradient_tolerance(kind, 611)),
                    "");
      }
}

// Short queries need no largest score, unless what they read is so large or small that sums of powers of two would overflow or vanish.
TEST(FusedDotProduct, AgreesOnScoresThatAreSmallWhateverTheValues) {
  at::manual_seed(1);
  for (const double unit : {1.0, 1e-37, 1e-20, 1e17, 1e30})
    for (const Mask& mask : {Mask(), Mask::causal() & Mask::lengths(at::tensor({611, 0}, at::kLong)) & Mask::keep(at::rand({2, 1, 1, 611}) > 0.1)}) {
      const Tensor query = at::randn({2, 4, 203, 16}), key = at::randn({2, 2, 611, 16}), value = at::randn({2, 2, 611, 20});
      const auto read = [&](Path path) {
        DotProductOptions options;
        options.read.path = path;
        return reference::numbers(dot_product(query, key, value * unit, mask, options).context.to(at::kDouble) / unit);
      };
      EXPECT_EQ(reference::difference("context", read(Path::fused), read(Path::composed), reference::tolerance(reference::Type::float32, 611)), "") << unit;
    }
}

TEST(FusedDotProduct, ThreadsChangeNothing) {
  at::manual_seed(1);
  const FusedProblem problem = fused_problem(at::kFloat, 20, 33);
  const int before = at::get_num_threads();
  std::vector<FusedOutcome> outcomes;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    outcomes.push_back(outcome_of(problem, Path::fused, 0));
  }
  at::set_num_threads(before);
  for (std::size_t run = 1; run < outcomes.size(); ++run) {
    EXPECT_TRUE(outcomes[run].context.equal(outcomes[0].context));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(outcomes[run].gradients[i].equal(outcomes[0].gradients[i])) << "gradient " << i;
  }
}

// With create_graph the backward pass is the composed form's, whose own backward pass libtorch has.
TEST(FusedDotProduct, HasTheSecondDerivativesOfTheComposedForm) {
  at::manual_seed(1);
  const auto leaf = [](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble).set_requires_grad(true); };
  const std::vector<Tensor> inputs = {leaf({1, 2, 9, 3}), leaf({1, 1, 40, 3}), leaf({1, 1, 40, 2}), leaf({9, 40})};
  const auto second = [&](Path path) {
    DotProductOptions options;
    options.read.path = path;
    const Tensor context = dot_product(inputs[0], inputs[1], inputs[2], Mask::causal() & Mask::bias(inputs[3]), options).context;
    Tensor sum = at::zeros({}, at::kDouble);
    for (const Tensor& gradient : torch::autograd::grad({context.pow(2).sum()}, inputs, {}, {}, /*create_graph=*/true)) sum = sum + gradient.pow(2).sum();
    return torch::autograd::grad({sum}, inputs);
  };
  const std::vector<Tensor> got = second(Path::fused), wanted = second(Path::composed);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(reference::difference("second derivative", reference::numbers(got[i]), reference::numbers(wanted[i]),
                                    reference::gradient_tolerance(reference::Type::float64, 256)),
              "")
        << "of input " << i;
}

}  // namespace
}  // namespace attend::addressing
