#include "attend/layers/attentive_gru.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "tests/reference/gradients.h"

namespace attend::layers {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

struct AttentiveSizes {
  std::int64_t batch = 3, steps = 4, state = 5, keys = 6, hidden = 19, memory = 7;  // no multiples of a vector's width
};

// Random numbers that make the weights peaky; lengths of 6, 1 and 4.
AttentiveGruInput random_input(at::ScalarType type, const AttentiveSizes& sizes = {}, double scale = 1.0) {
  const auto random = [&](at::IntArrayRef shape, double deviation = 1.0) {
    return (at::randn(shape, at::kDouble) * deviation).to(type).set_requires_grad(true);
  };
  const std::int64_t D = sizes.state;
  return {.projected = random({sizes.batch, sizes.steps, 3 * D}),
          .first = random({sizes.batch, D}),
          .keys = random({sizes.batch, sizes.keys, sizes.hidden}, scale),
          .memory = random({sizes.batch, sizes.keys, sizes.memory}),
          .lengths = sizes.batch == 3 ? at::tensor({6, 1, 4}, at::kLong) : Tensor(),
          .query_weight = random({sizes.hidden, D}, scale),
          .energy = random({sizes.hidden}),
          .context_weight = random({3 * D, sizes.memory}, 0.5),
          .state_weight = random({3 * D, D})};
}

std::vector<Tensor> leaves(const AttentiveGruInput& input) {
  return {input.projected, input.first, input.keys, input.memory, input.query_weight, input.energy, input.context_weight, input.state_weight};
}

// A number that all states and contexts go into.
Tensor number_of(const AttentiveGruResult& result) {
  const auto weighed = [](const Tensor& tensor) { return (tensor * at::arange(tensor.numel(), tensor.options()).sin().view_as(tensor)).sum(); };
  return weighed(result.states) + weighed(result.contexts);
}

void expect_agreement(const char* name, const Tensor& got, const Tensor& wanted, bool gradient) {
  const reference::Type type = reference::type_of(got);
  constexpr std::int64_t terms = 64;
  EXPECT_EQ(reference::difference(name, reference::numbers(got), reference::numbers(wanted),
                                  gradient ? reference::gradient_tolerance(type, terms) : reference::tolerance(type, terms)),
            "");
}

TEST(AttentiveGru, FusedAndComposedAgreeInEachTypeWithTheirGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const AttentiveSizes& sizes : {AttentiveSizes{}, AttentiveSizes{.batch = 2}, AttentiveSizes{.steps = 2, .state = 16, .memory = 80}}) {
      const AttentiveGruInput input = random_input(type, sizes);
      const AttentiveGruResult got = attentive_gru(input, Path::fused), wanted = attentive_gru(input, Path::composed);
      expect_agreement("states", got.states, wanted.states, false);
      expect_agreement("contexts", got.contexts, wanted.contexts, false);
      expect_agreement("weights", got.weights, wanted.weights, false);
      const std::vector<Tensor> of_fused = torch::autograd::grad({number_of(got)}, leaves(input)),
                                of_composed = torch::autograd::grad({number_of(wanted)}, leaves(input));
      for (std::size_t i = 0; i < of_fused.size(); ++i) expect_agreement(format("gradient {}", i).c_str(), of_fused[i], of_composed[i], true);
    }
}

TEST(AttentiveGru, ASingleStepReadsAndEnds) {
  const AttentiveGruInput input = random_input(at::kDouble, {.steps = 1});
  for (const Path path : {Path::fused, Path::composed}) {
    const AttentiveGruResult result = attentive_gru(input, path);
    EXPECT_TRUE(result.states.squeeze(1).equal(input.first));
    const std::vector<Tensor> inputs = {input.first, input.keys, input.memory, input.query_weight, input.energy};
    EXPECT_EQ(reference::gradient_difference([&] { return number_of(attentive_gru(input, path)); }, inputs), "") << name_of(path);
  }
}

TEST(AttentiveGru, HasTheGradientsOfItsFormula) {
  for (const double scale : {1.0, 60.0}) {  // 60: queries and keys whose exponentials don't fit
    AttentiveGruInput input = random_input(at::kDouble, {.hidden = 3, .memory = 2}, scale);
    if (scale > 1) {
      const torch::NoGradGuard no_gradient;
      input.query_weight.div_(scale), input.keys.slice(2, 0, 2).div_(scale), input.keys.select(2, 2).add_(320);
    }
    EXPECT_EQ(reference::gradient_difference([&] { return number_of(attentive_gru(input, Path::fused)); }, leaves(input)), "") << scale;
  }
}

// The fused backward pass is written by hand: under create_graph it must hand over to a form that can be differentiated again.
TEST(AttentiveGru, HasTheSecondDerivativesOfItsFormula) {
  const AttentiveGruInput input = random_input(at::kDouble, {.steps = 2, .state = 2, .hidden = 3, .memory = 2});
  const auto loss = [&] {
    const torch::AutoGradMode taking_gradients(true);
    Tensor sum = at::zeros({}, at::kDouble);
    for (const Tensor& gradient : torch::autograd::grad({number_of(attentive_gru(input, Path::fused))}, leaves(input), {}, {}, /*create_graph=*/true))
      sum = sum + gradient.pow(2).sum();
    return sum;
  };
  EXPECT_EQ(reference::gradient_difference(loss, leaves(input)), "");
}

TEST(AttentiveGru, GradientsAreTakenOfWhatNeedsThem) {
  AttentiveGruInput input = random_input(at::kDouble);
  const std::vector<Tensor> all = torch::autograd::grad({number_of(attentive_gru(input))}, leaves(input));
  input.memory = input.memory.detach(), input.first = input.first.detach(), input.energy = input.energy.detach();
  const std::vector<Tensor> some = torch::autograd::grad({number_of(attentive_gru(input))}, {input.projected, input.state_weight});
  EXPECT_TRUE(some[0].equal(all[0]));
  EXPECT_TRUE(some[1].equal(all[7]));
}

TEST(AttentiveGru, WhatStandsInPaddingReachesNeitherOutputsNorGradients) {
  const AttentiveGruInput clean = random_input(at::kDouble);
  AttentiveGruInput dirty = clean;
  dirty.keys = clean.keys.detach().clone(), dirty.memory = clean.memory.detach().clone();
  for (Tensor* tensor : {&dirty.keys, &dirty.memory}) {
    tensor->slice(0, 1, 2).slice(1, 1).fill_(std::nan(""));
    tensor->slice(0, 2, 3).slice(1, 4).fill_(std::nan(""));
    tensor->set_requires_grad(true);
  }
  for (const Path path : {Path::fused, Path::composed}) {
    const AttentiveGruResult got = attentive_gru(dirty, path), wanted = attentive_gru(clean, path);
    EXPECT_TRUE(got.states.equal(wanted.states) && got.contexts.equal(wanted.contexts) && got.weights.equal(wanted.weights)) << name_of(path);
    EXPECT_EQ(got.weights[1].slice(1, 1).abs().max().item<double>(), 0);
    const std::vector<Tensor> of_dirty = torch::autograd::grad({number_of(got)}, leaves(dirty)),
                              of_clean = torch::autograd::grad({number_of(wanted)}, leaves(clean));
    for (std::size_t i = 0; i < of_dirty.size(); ++i) EXPECT_TRUE(of_dirty[i].equal(of_clean[i])) << name_of(path) << ", input " << i;
  }
}

TEST(AttentiveGru, ANaNIsSeenFromItsPlaceOnInItsRow) {
  for (const Path path : {Path::fused, Path::composed}) {
    AttentiveGruInput input = random_input(at::kDouble);
    input.projected = input.projected.detach().clone();
    input.projected[2][1][0] = std::nan("");
    const AttentiveGruResult result = attentive_gru(input, path);
    EXPECT_TRUE(at::isfinite(result.contexts.slice(0, 0, 2)).all().item<bool>()) << name_of(path);
    EXPECT_TRUE(at::isfinite(result.contexts[2].slice(0, 0, 2)).all().item<bool>()) << name_of(path);
    EXPECT_TRUE(at::isnan(result.contexts[2].slice(0, 2)).all().item<bool>()) << name_of(path);
  }
}

TEST(AttentiveGru, ThreadsChangeNothing) {
  const AttentiveGruInput input = random_input(at::kFloat, {.batch = 9, .steps = 5, .state = 32, .keys = 20, .hidden = 64, .memory = 64});
  const int before = at::get_num_threads();
  std::vector<Tensor> runs;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    const AttentiveGruResult result = attentive_gru(input, Path::fused);
    std::vector<Tensor> all = torch::autograd::grad({number_of(result)}, {input.projected, input.first, input.keys, input.memory});
    all.push_back(result.weights), all.push_back(result.states), all.push_back(result.contexts);
    for (Tensor& tensor : all) tensor = tensor.flatten();
    runs.push_back(at::cat(all));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(runs[1].equal(runs[0]) && runs[2].equal(runs[0]));
}

TEST(AttentiveGru, TakesAnEmptyBatch) {
  for (const Path path : {Path::fused, Path::composed}) {
    const AttentiveGruResult result = attentive_gru(random_input(at::kFloat, {.batch = 0}), path);
    EXPECT_EQ(result.states.sizes(), at::IntArrayRef({0, 4, 5}));
    EXPECT_EQ(result.contexts.sizes(), at::IntArrayRef({0, 4, 7}));
    EXPECT_EQ(result.weights.sizes(), at::IntArrayRef({0, 4, 6}));
  }
}

TEST(AttentiveGru, RefusesWhatDoesntFit) {
  const auto with = [](void (*change)(AttentiveGruInput&), Path path = Path::automatic) {
    return [change, path] {
      AttentiveGruInput input = random_input(at::kFloat);
      change(input);
      attentive_gru(input, path);
    };
  };
  const auto says = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(testing::StartsWith("attend::layers::attentive_gru: " + message)); };
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.first = at::zeros({3, 4}); }), says("expected projected [B, L, 3D] with B = 3, 3D = 12, got [3, 4, 15]"));
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.energy = at::zeros({18}); }), says("expected energy [A] with A = 19, got [18]"));
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.memory = input.memory.to(at::kDouble); }), says("expected memory"));
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.lengths = at::tensor({6, 0, 4}, at::kLong); }),
              says("expected lengths from 1 to Lk = 6, got 0 to 6"));
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.lengths = at::tensor({6, 7, 4}, at::kLong); }),
              says("expected lengths from 1 to Lk = 6, got 4 to 7"));
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.lengths = input.lengths.to(at::kInt); }), says("expected lengths of type int64, got Int"));
  EXPECT_THAT(with([](AttentiveGruInput& input) { input.projected = at::zeros({3, 0, 15}); }), says("expected at least one step and one key"));
}

TEST(AttentiveGru, FusedWhereImpossibleSaysWhy) {
  AttentiveGruInput input = random_input(at::kBFloat16);
  EXPECT_THAT(([&] { attentive_gru(input, Path::fused); }),
              ThrowsMessage<NotSupported>(StrEq("attend::layers::attentive_gru: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or "
                                                "\"composed\"")));
}

}  // namespace
}  // namespace attend::layers
