// The fused path of the additive family against the composed one, on sizes with many blocks; the rules at the edges are the contract's.
#include <gtest/gtest.h>

#include "attend/addressing/additive.h"
#include "attend/addressing/attention.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

struct AdditiveProblem {
  Tensor query, key, value, weight, bias, factors;
  Mask mask;

  std::vector<Tensor> inputs() const { return {query, key, value, weight, bias, factors}; }
};

// Rows that lie apart: [B, L, H, A] seen as [B, H, L, A].
Tensor additive_rows(std::int64_t length, std::int64_t width, at::ScalarType type, double spread) {
  return (at::randn({2, length, 3, width}, at::kDouble) * spread).to(type).transpose(1, 2).set_requires_grad(true);
}

AdditiveProblem additive_problem(at::ScalarType type, std::int64_t hidden, std::int64_t values, double spread) {
  AdditiveProblem problem{additive_rows(37, hidden, type, spread), additive_rows(53, hidden, type, spread), additive_rows(53, values, type, 1), {}, {}, {}, {}};
  problem.weight = at::randn({hidden}, at::kDouble).to(type).set_requires_grad(true);
  problem.bias = at::randn({1, 3, 37, 53}, at::kDouble).to(type).set_requires_grad(true);
  problem.factors = at::rand({2, 1, 37, 53}, at::kDouble).to(type).set_requires_grad(true);
  problem.mask = Mask::causal() & Mask::lengths(at::tensor({53, 31}, at::kLong)) & Mask::bias(problem.bias) & Mask::keep(at::rand({2, 1, 1, 53}) > 0.2);
  return problem;
}

struct AdditiveForms {
  double soft_cap = 0, dropout = 0;
  bool windowed = false, renormalised = false;
  Normalizer normalizer = Normalizer::softmax;
};

struct AdditiveRun {
  Tensor context, weights;
  std::vector<Tensor> gradients;
};

AdditiveRun run_additive(const AdditiveProblem& problem, Path path, const AdditiveForms& forms) {
  at::manual_seed(5);  // of dropout
  ReadOptions options{.soft_cap = forms.soft_cap, .normalizer = forms.normalizer, .renormalised = forms.renormalised, .dropout = forms.dropout};
  options.dropout_origin = {4, 3, 2, 1};
  options.return_weights = true, options.path = path;
  if (forms.windowed)
    options.window = [&](const Tensor&) { return WindowTensors{at::ones({37, 53}, at::kBool).tril(20).view({1, 1, 37, 53}), problem.factors}; };
  const AttentionResult read = additive(problem.query, problem.key, problem.value, problem.weight, problem.mask, options);
  const auto upstream = [](const Tensor& like) { return at::arange(like.numel(), like.options()).sin().view(like.sizes()); };
  std::vector<Tensor> gradients = torch::autograd::grad({read.context, read.weights}, problem.inputs(), {upstream(read.context), upstream(read.weights)}, {}, false,
                                                        /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(problem.inputs()[i]);
  return {read.context.detach(), read.weights.detach(), gradients};
}

void expect_the_same(const AdditiveRun& got, const AdditiveRun& wanted, const std::string& what) {
  const reference::Type type = reference::type_of(got.context);
  const auto expect = [&](const std::string& name, const Tensor& numbers, const Tensor& right, const reference::Tolerance& near) {
    EXPECT_EQ(reference::difference(name, reference::numbers(numbers), reference::numbers(right), near), "") << what;
  };
  expect("context", got.context, wanted.context, reference::tolerance(type, 53 + 64));
  expect("weights", got.weights, wanted.weights, reference::tolerance(type, 53 + 64));
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i)
    expect("gradient " + std::to_string(i), got.gradients[i], wanted.gradients[i], reference::gradient_tolerance(type, 53 + 64));
}

const AdditiveForms additive_forms[] = {{}, {.soft_cap = 2}, {.dropout = 0.3}, {.windowed = true}, {.windowed = true, .renormalised = true},
                                        {.soft_cap = 3, .dropout = 0.2, .windowed = true, .renormalised = true}, {.normalizer = Normalizer::entmax15}};

// In float64 to the last digits: composed operations are the reference there.
TEST(FusedAdditive, AgreesWithTheComposedFormOnManyBlocks) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const auto& [hidden, values] : {std::pair{16, 16}, std::pair{37, 21}})
      for (const double spread : {1.0, 15.0})
        for (const AdditiveForms& forms : additive_forms) {
          // which keys entmax leaves out, and how steep tanh is at ±40, is rounded differently in float32
          if (type == at::kFloat && (forms.normalizer != Normalizer::softmax || spread > 1)) continue;
          at::manual_seed(1);
          const AdditiveProblem problem = additive_problem(type, hidden, values, spread);
          expect_the_same(run_additive(problem, Path::fused, forms), run_additive(problem, Path::composed, forms),
                          "A = " + std::to_string(hidden) + ", spread " + std::to_string(spread) + ", form " + std::to_string(&forms - additive_forms));
        }
}

TEST(FusedAdditive, DropsWhatTheComposedFormDrops) {
  at::manual_seed(1);
  const AdditiveProblem problem = additive_problem(at::kDouble, 8, 53, 1);
  const torch::NoGradGuard no_gradient;
  ReadOptions options{.dropout = 0.5};
  options.dropout_origin = {1, 2, 3, 5};
  const auto dropped = [&](Path path) {
    options.path = path;
    at::manual_seed(9);
    // values are the unit vectors: the context is the row of weights
    const Tensor units = at::eye(53, at::kDouble).expand({2, 3, 53, 53});
    return additive(problem.query, problem.key, units, problem.weight, {}, options).context == 0;
  };
  EXPECT_TRUE(dropped(Path::fused).equal(dropped(Path::composed)));
  EXPECT_TRUE(dropped(Path::fused).any().item<bool>());
}

TEST(FusedAdditive, ThreadsChangeNothing) {
  at::manual_seed(1);
  const AdditiveProblem problem = additive_problem(at::kFloat, 37, 21, 1);
  const int before = at::get_num_threads();
  std::vector<AdditiveRun> runs;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    runs.push_back(run_additive(problem, Path::fused, {.dropout = 0.2, .windowed = true}));
  }
  at::set_num_threads(before);
  for (std::size_t run = 1; run < runs.size(); ++run) {
    EXPECT_TRUE(runs[run].context.equal(runs[0].context));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(runs[run].gradients[i].equal(runs[0].gradients[i])) << "gradient " << i;
  }
}

// With create_graph the backward pass is the composed form's, whose own backward pass libtorch has.
TEST(FusedAdditive, HasTheSecondDerivativesOfTheComposedForm) {
  at::manual_seed(1);
  const auto leaf = [](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble).set_requires_grad(true); };
  const std::vector<Tensor> inputs = {leaf({1, 2, 5, 3}), leaf({1, 2, 18, 3}), leaf({1, 2, 18, 2}), leaf({3}), leaf({5, 18})};
  for (const Normalizer normalizer : {Normalizer::softmax, Normalizer::entmax15}) {
    const auto second = [&](Path path) {
      const Tensor context = additive(inputs[0], inputs[1], inputs[2], inputs[3], Mask::causal() & Mask::bias(inputs[4]), {.normalizer = normalizer, .path = path}).context;
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
}

// A decoder's step reads one row as the whole sequence does.
TEST(FusedAdditive, OneQueryReadsWhatManyRead) {
  at::manual_seed(1);
  const AdditiveProblem problem = additive_problem(at::kFloat, 37, 21, 1);
  const torch::NoGradGuard no_gradient;
  const Tensor all = additive(problem.query, problem.key, problem.value, problem.weight).context;
  for (const std::int64_t i : {0, 17, 36})
    EXPECT_TRUE(additive(problem.query.narrow(2, i, 1), problem.key, problem.value, problem.weight).context.equal(all.narrow(2, i, 1))) << i;
}

TEST(FusedAdditive, RefusesTermsThatDontFit) {
  const Tensor query = at::zeros({1, 2, 3, 4}), key = at::zeros({1, 2, 5, 4});
  const auto reading = [&](const Tensor& energy, const Tensor& key_term) {
    const AdditiveForm form{energy, [&](const Tensor& q, const Tensor&) { return std::pair(q, key_term); }};
    try {
      read("mine", query, key, key, form);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(reading(at::zeros({4}), key), "");
  EXPECT_EQ(reading(at::zeros({3}), key), "mine: expected the query's term [B, Hq, Lq, A] with B = 1, Hq = 2, Lq = 3, A = 3, got [1, 2, 3, 4]");
  EXPECT_EQ(reading(at::zeros({4}), at::zeros({1, 1, 5, 4})), "mine: expected the key's term [B, Hq, Lk, A] with B = 1, Hq = 2, Lk = 5, A = 4, got [1, 1, 5, 4]");
  EXPECT_EQ(reading(at::zeros({4, 1}), key), "mine: expected energy [A], got [4, 1]");
}

}  // namespace
}  // namespace attend::addressing
