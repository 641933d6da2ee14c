#include "attend/train/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "attend/base/error.h"

namespace attend::train {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

// Two parameters, the second of which may be left out of the loss.
struct Pair : torch::nn::Module {
  Pair() {
    left = register_parameter("left", at::tensor({1.0, -2.0, 3.0}, at::kDouble));
    right = register_parameter("right", at::tensor({0.5}, at::kDouble));
  }
  Tensor left, right;
};

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(at::kDouble).contiguous().view({-1});
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

// The loss of step n: another one each time.
Tensor loss_of(const Pair& model, int n, bool with_right = true) {
  const Tensor factors = at::tensor({0.3 * n, 1.0, -0.7}, at::kDouble);
  const Tensor loss = (model.left * factors).tanh().sum() + model.left.pow(2).sum() * 0.1;
  return with_right ? loss + model.right.pow(2).sum() * n : loss;
}

double take_step(Optimizer& optimizer, const Pair& model, int n, double rate = 0.05, bool with_right = true) {
  optimizer.zero_gradients();
  loss_of(model, n, with_right).backward();
  return optimizer.step(rate);
}

void expect_same_bits(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(b.contains(name) && tensor.equal(b.at(name))) << name;
}

TEST(Optimizer, FollowsAdamsFormulas) {
  TrainOptions options;
  options.clip = 0;
  options.weight_decay = 0.01;
  Pair model;
  Optimizer optimizer(model, options);
  std::vector<double> theta = numbers(model.left), m(3, 0.0), v(3, 0.0);
  for (int n = 1; n <= 5; ++n) {
    const double rate = 0.1 / n;
    optimizer.zero_gradients();
    loss_of(model, n).backward();
    const std::vector<double> gradient = numbers(model.left.grad());
    optimizer.step(rate);
    for (std::size_t i = 0; i < 3; ++i) {
      const double g = gradient[i] + 0.01 * theta[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      theta[i] -= rate * (m[i] / (1 - std::pow(0.9, n))) / (std::sqrt(v[i] / (1 - std::pow(0.999, n))) + 1e-8);
      EXPECT_THAT(numbers(model.left)[i], DoubleNear(theta[i], 1e-12)) << "step " << n;
    }
  }
}

TEST(Optimizer, FollowsTheFormulasOfGradientDescentWithMomentum) {
  for (const double momentum : {0.0, 0.8}) {
    TrainOptions options;
    options.optimizer = OptimizerName::sgd;
    options.momentum = momentum;
    options.clip = 0;
    options.weight_decay = 0.01;
    Pair model;
    Optimizer optimizer(model, options);
    std::vector<double> theta = numbers(model.left), m(3, 0.0);
    for (int n = 1; n <= 5; ++n) {
      const double rate = 0.1 / n;
      optimizer.zero_gradients();
      loss_of(model, n).backward();
      const std::vector<double> gradient = numbers(model.left.grad());
      optimizer.step(rate);
      for (std::size_t i = 0; i < 3; ++i) {
        m[i] = momentum * m[i] + gradient[i] + 0.01 * theta[i];
        theta[i] -= rate * m[i];
        EXPECT_THAT(numbers(model.left)[i], DoubleNear(theta[i], 1e-12)) << "step " << n;
      }
    }
  }
}

TEST(Optimizer, LeavesAParameterWithoutGradientAlone) {
  for (const OptimizerName which : {OptimizerName::adam, OptimizerName::sgd}) {
    TrainOptions options;
    options.optimizer = which;
    options.momentum = 0.9;
    options.weight_decay = 0.1;
    Pair model;
    Optimizer optimizer(model, options);
    for (int n = 1; n <= 3; ++n) take_step(optimizer, model, n, 0.05, /*with_right=*/false);
    EXPECT_EQ(numbers(model.right), std::vector<double>{0.5});
    take_step(optimizer, model, 4);
    const std::vector<double> after = numbers(model.right);
    EXPECT_NE(after, std::vector<double>{0.5});
    take_step(optimizer, model, 5, 0.05, /*with_right=*/false);  // what it had before doesn't move it on
    EXPECT_EQ(numbers(model.right), after);
  }
}

// What stands in the module under two names, as tied embeddings do.
TEST(Optimizer, UpdatesASharedParameterOnce) {
  struct Tied : Pair {
    Tied() { register_parameter("again", left); }
  };
  Tied tied;
  Pair plain;
  Optimizer of_tied(tied, {}), of_plain(plain, {});
  for (int n = 1; n <= 3; ++n) {
    take_step(of_tied, tied, n);
    take_step(of_plain, plain, n);
  }
  EXPECT_EQ(numbers(tied.left), numbers(plain.left));
  EXPECT_EQ(numbers(tied.named_parameters()["again"]), numbers(plain.left));
  EXPECT_FALSE(of_tied.state().contains("optimizer.again.mean"));
}

TEST(Optimizer, AddsUpGradientsOfSeveralLosses) {
  TrainOptions options;
  options.clip = 0;
  options.optimizer = OptimizerName::sgd;
  Pair model;
  Optimizer optimizer(model, options);
  take_step(optimizer, model, 1);  // gradients stand in the optimiser's own buffer now
  const std::vector<double> before = numbers(model.left);
  loss_of(model, 2).backward();
  const std::vector<double> gradient = numbers(model.left.grad());
  optimizer.step(0.1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(numbers(model.left)[i], DoubleNear(before[i] - 0.1 * gradient[i], 1e-12));
}

TEST(Optimizer, KeepsValuesShapesAndViewsOfParameters) {
  struct Odd : torch::nn::Module {
    Odd() {
      matrix = register_parameter("matrix", at::arange(6, at::kFloat).view({2, 3}).t());  // not contiguous
      empty = register_parameter("empty", at::zeros({0, 4}));
      number = register_parameter("number", at::scalar_tensor(7.0f));
    }
    Tensor matrix, empty, number;
  };
  Odd model;
  Optimizer optimizer(model, {});
  EXPECT_TRUE(model.matrix.equal(at::tensor({0.f, 3.f, 1.f, 4.f, 2.f, 5.f}).view({3, 2})));
  EXPECT_EQ(model.empty.sizes(), at::IntArrayRef({0, 4}));
  ((model.matrix * at::arange(6, at::kFloat).view({3, 2})).sum() + model.number).backward();
  optimizer.step(0.5);
  EXPECT_NEAR(model.number.item<float>(), 6.5, 1e-6);  // Adam's first step is as long as the rate
  EXPECT_NEAR(model.matrix[2][1].item<float>(), 4.5, 1e-6);
}

TEST(Optimizer, OfNothingDoesNothing) {
  torch::nn::Module model;
  Optimizer optimizer(model, {});
  EXPECT_EQ(optimizer.step(0.1), 0);
  EXPECT_EQ(optimizer.state().size(), 1u);
}

TEST(Optimizer, RefusesParametersOfSeveralTypes) {
  struct Mixed : Pair {
    Mixed() { register_parameter("single", at::ones({2}, at::kFloat)); }
  };
  Mixed mixed;
  EXPECT_THAT([&] { Optimizer optimizer(mixed, {}); },
              ThrowsMessage<InvalidArgument>(testing::AllOf(StartsWith("attend::train::Optimizer: expected single"), HasSubstr("left"))));
}

TEST(Optimizer, ClipsTheNormOfAllGradientsTogether) {
  TrainOptions options;
  options.clip = 0.5;
  Pair model;
  Optimizer optimizer(model, options);
  loss_of(model, 2).backward();
  const double norm = std::hypot(model.left.grad().norm().item<double>(), model.right.grad().norm().item<double>());
  ASSERT_GT(norm, 0.5);
  EXPECT_THAT(optimizer.step(0.01), DoubleNear(norm, 1e-12));
  EXPECT_THAT(std::hypot(model.left.grad().norm().item<double>(), model.right.grad().norm().item<double>()), DoubleNear(0.5, 1e-5));
}

TEST(Optimizer, ANormThatIsNoNumberChangesNothing) {
  Pair model;
  Optimizer optimizer(model, {});
  take_step(optimizer, model, 1);
  const std::vector<double> before = numbers(model.left);
  const NamedTensors state = [&] {
    NamedTensors copy;
    for (const auto& [name, tensor] : optimizer.state()) copy[name] = tensor.clone();
    return copy;
  }();
  optimizer.zero_gradients();
  (model.left * std::numeric_limits<double>::quiet_NaN()).sum().backward();
  EXPECT_TRUE(std::isnan(optimizer.step(0.05)));
  EXPECT_EQ(numbers(model.left), before);
  expect_same_bits(optimizer.state(), state);
}

TEST(Optimizer, AveragesCloselyAtFirstThenSlowly) {
  TrainOptions options;
  options.averaging = 0.5;
  Pair model;
  Optimizer optimizer(model, options);
  std::vector<double> average = numbers(model.left);
  for (int n = 1; n <= 20; ++n) {
    take_step(optimizer, model, n);
    const double decay = std::min(0.5, (1.0 + n) / (10.0 + n));
    for (std::size_t i = 0; i < 3; ++i) average[i] += (1 - decay) * (numbers(model.left)[i] - average[i]);
  }
  const std::vector<double> current = numbers(model.left);
  optimizer.swap_average();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(numbers(model.left)[i], DoubleNear(average[i], 1e-12));
  EXPECT_NE(numbers(model.left), current);
  optimizer.swap_average();
  EXPECT_EQ(numbers(model.left), current);
}

TEST(Optimizer, WithoutAveragingThereIsNothingToSwap) {
  Pair model;
  Optimizer optimizer(model, {});
  take_step(optimizer, model, 1);
  const std::vector<double> before = numbers(model.left);
  optimizer.swap_average();
  EXPECT_EQ(numbers(model.left), before);
  EXPECT_FALSE(optimizer.state().contains("optimizer.left.average"));
}

class AnyOptimizer : public testing::TestWithParam<OptimizerName> {};
INSTANTIATE_TEST_SUITE_P(Names, AnyOptimizer, testing::Values(OptimizerName::adam, OptimizerName::sgd));

TEST_P(AnyOptimizer, GoesOnToTheBitFromWhereverItWasSaved) {
  TrainOptions options;
  options.optimizer = GetParam();
  options.momentum = 0.9;
  options.averaging = 0.9;
  constexpr int steps = 12;
  Pair undisturbed;
  Optimizer whole(undisturbed, options);
  for (int n = 1; n <= steps; ++n) take_step(whole, undisturbed, n);
  for (int saved_at = 0; saved_at < steps; ++saved_at) {
    Pair first, second;
    Optimizer before(first, options), after(second, options);
    for (int n = 1; n <= saved_at; ++n) take_step(before, first, n);
    load_module_tensors(second, module_tensors(first), "test");
    after.load_state(before.state(), "test");
    for (int n = saved_at + 1; n <= steps; ++n) take_step(after, second, n);
    expect_same_bits(module_tensors(second), module_tensors(undisturbed));
    expect_same_bits(after.state(), whole.state());
  }
}

TEST(OptimizerState, DoesNotShareItsMomentsWithWhatItWasLoadedFrom) {
  Pair first, second;
  Optimizer before(first, {}), after(second, {});
  take_step(before, first, 1);
  const NamedTensors state = before.state();
  after.load_state(state, "test");
  take_step(after, second, 2);
  EXPECT_FALSE(after.state().at("optimizer.left.mean").equal(state.at("optimizer.left.mean")));
}

TEST(OptimizerState, AParameterThatNeverHadAGradientHasNoMoments) {
  Pair first, second;
  Optimizer before(first, {}), after(second, {});
  take_step(before, first, 1, 0.05, /*with_right=*/false);
  EXPECT_TRUE(before.state().contains("optimizer.left.mean"));
  EXPECT_FALSE(before.state().contains("optimizer.right.mean"));
  EXPECT_NO_THROW(after.load_state(before.state(), "test"));
  load_module_tensors(second, module_tensors(first), "test");
  take_step(before, first, 2);
  take_step(after, second, 2);
  expect_same_bits(module_tensors(second), module_tensors(first));
}

TEST(OptimizerState, OfAnotherModelIsRefused) {
  TrainOptions options;
  options.averaging = 0.9;
  Pair model;
  Optimizer optimizer(model, options);
  take_step(optimizer, model, 1);
  const auto refusal = [&](const std::string& key, const Tensor& instead, const std::string& why) {
    NamedTensors state = optimizer.state();
    if (instead.defined())
      state[key] = instead;
    else
      state.erase(key);
    Pair other;
    Optimizer loading(other, options);
    EXPECT_THAT([&] { loading.load_state(state, "FILE"); },
                ThrowsMessage<InvalidData>(testing::AllOf(StartsWith("FILE: "), HasSubstr(key), HasSubstr(why), HasSubstr("another model"))));
  };
  refusal("optimizer.step", {}, "lacks");
  refusal("optimizer.left.average", {}, "lacks");
  refusal("optimizer.left.mean", {}, "lacks");
  refusal("optimizer.left.square", at::zeros({4}, at::kDouble), "[4]");
  refusal("optimizer.right.average", at::zeros({2}, at::kDouble), "[2]");
  options.optimizer = OptimizerName::sgd;
  Pair other;
  Optimizer descent(other, options);
  EXPECT_THAT([&] { descent.load_state(optimizer.state(), "FILE"); }, ThrowsMessage<InvalidData>(HasSubstr("lacks \"optimizer.left.momentum\"")));
}

}  // namespace
}  // namespace attend::train
