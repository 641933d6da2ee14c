#include "attend/models/gradient_variance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/core/tensor_file.h"
#include "attend/models/luong.h"

namespace attend::models {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

std::shared_ptr<Luong> drawing_luong(bool input_feeding, addressing::Normalizer normalizer = addressing::Normalizer::hard_sample) {
  at::manual_seed(2);
  LuongOptions options = {.embedding = 3, .hidden = 4, .decoder_hidden = 5, .cell = layers::Cell::gru, .input_feeding = input_feeding, .dropout = 0.5};
  options.attention.normalizer = normalizer;
  const auto model = std::make_shared<Luong>(9, 7, options);
  model->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : model->parameters()) parameter.normal_(0, 0.5);
  return model;
}

const TokenBatch some_source{at::tensor({4, 8, 5, 6, 3, 7, 4, 5, 3, 0}, at::kLong).view({2, 5}), at::tensor({5, 4}, at::kLong)};
const TokenBatch some_target{at::tensor({2, 5, 4, 3, 2, 6, 3, 0}, at::kLong).view({2, 4}), at::tensor({4, 3}, at::kLong)};

TEST(GradientVariance, ABaselineLowersTheVarianceAndKeepsTheMean) {
  for (const bool input_feeding : {false, true}) {
    const std::shared_ptr<Luong> model = drawing_luong(input_feeding);
    const GradientVariance measured = gradient_variance(*model, some_source, some_target, {.draws = 400});
    EXPECT_LT(measured.baseline, -0.5) << "it settled on the mean log-likelihood";
    EXPECT_LT(measured.with_baseline.variance, 0.8 * measured.without_baseline.variance) << input_feeding;
    EXPECT_GT(measured.with_baseline.variance, 0);
    // the means differ by chance alone: ‖difference‖² is about the variance of the difference / N, at most the sum of both
    const double apart = (measured.with_baseline.mean - measured.without_baseline.mean).square().sum().item<double>();
    EXPECT_LT(apart, 4 * (measured.with_baseline.variance + measured.without_baseline.variance) / 400) << input_feeding;
    EXPECT_GT(measured.with_baseline.mean.norm().item<double>(), 0);
    EXPECT_EQ(measured.with_baseline.mean.sizes(), at::IntArrayRef({5 * 8}));
    EXPECT_EQ(measured.draws, 400);
  }
}

TEST(GradientVariance, EqualsTheMomentsOfItsGradients) {
  const std::shared_ptr<Luong> model = drawing_luong(false);
  const GradientVariance measured = gradient_variance(*model, some_source, some_target, {.draws = 5, .settle = 0, .seed = 7});
  EXPECT_EQ(measured.baseline, 0) << "a fresh model's";
  EXPECT_EQ(measured.with_baseline.variance, measured.without_baseline.variance);
  model->eval();
  const auto attention = model->named_modules()["attention"];
  attention->train();
  at::manual_seed(7);
  std::vector<Tensor> gradients;
  for (int draw = 0; draw < 5; ++draw) {
    const ModelOutput output = model->forward(some_source, some_target);
    gradients.push_back(torch::autograd::grad({output.losses[0].value + output.losses[1].value}, attention->parameters())[0].flatten());
  }
  const Tensor all = at::stack(gradients), mean = all.mean(0);
  EXPECT_TRUE(at::allclose(measured.with_baseline.mean, mean, 1e-12, 1e-12));
  EXPECT_NEAR(measured.with_baseline.variance, (all - mean).square().sum().item<double>() / 4, 1e-12);
}

TEST(GradientVariance, LeavesTheModelAndChanceAsTheyWere) {
  const std::shared_ptr<Luong> model = drawing_luong(true);
  model->train();
  model->named_modules()["decoder"]->eval();
  model->named_buffers()["score_function.baseline"].fill_(-0.25);
  NamedTensors before;
  for (const auto& [name, tensor] : module_tensors(*model)) before[name] = tensor.detach().clone();
  const Tensor state = at::globalContext().defaultGenerator(at::kCPU).get_state();
  const GradientVariance first = gradient_variance(*model, some_source, some_target, {.draws = 3, .settle = 2});
  EXPECT_TRUE(state.equal(at::globalContext().defaultGenerator(at::kCPU).get_state()));
  for (const auto& [name, tensor] : module_tensors(*model)) {
    EXPECT_TRUE(tensor.equal(before[name])) << name;
    EXPECT_FALSE(tensor.grad().defined()) << name;
  }
  EXPECT_TRUE(model->is_training());
  EXPECT_TRUE(model->named_modules()["encoder"]->is_training());
  EXPECT_FALSE(model->named_modules()["decoder"]->is_training());
  const GradientVariance again = gradient_variance(*model, some_source, some_target, {.draws = 3, .settle = 2});
  EXPECT_TRUE(first.with_baseline.mean.equal(again.with_baseline.mean)) << "the same seed measures the same";
}

TEST(GradientVariance, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::models::gradient_variance: " + message));
  };
  const auto model = drawing_luong(false), soft = drawing_luong(false, addressing::Normalizer::softmax);
  EXPECT_THAT([&] { gradient_variance(*model, some_source, some_target, {.draws = 1}); }, refuses("expected draws ≥ 2, got 1"));
  EXPECT_THAT([&] { gradient_variance(*model, some_source, some_target, {.settle = -1}); }, refuses("expected settle ≥ 0, got -1"));
  EXPECT_THAT([&] { gradient_variance(*soft, some_source, some_target); },
              refuses("expected a model whose attention draws, got one that doesn't; it needs attention normalizer \"hard-sample\""));
}

}  // namespace
}  // namespace attend::models
