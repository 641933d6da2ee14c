#include "attend/layers/input_feeding_decoder.h"

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

struct FeedingForm {
  Cell cell = Cell::gru;
  bool additive = false, dropout = false;
  std::int64_t batch = 3, steps = 4, state = 5, keys = 6, hidden = 19;  // no multiples of a vector's width
};

std::string text_of(const FeedingForm& form) {
  return format("{}{}{}, L = {}, D = {}", name_of(form.cell), form.additive ? ", additive" : "", form.dropout ? ", dropout" : "", form.steps, form.state);
}

std::vector<FeedingForm> feeding_forms(const FeedingForm& like = {}) {
  std::vector<FeedingForm> forms;
  for (const Cell cell : {Cell::gru, Cell::lstm})
    for (const bool additive : {false, true})
      for (const bool dropout : {false, true}) {
        forms.push_back(like);
        forms.back().cell = cell, forms.back().additive = additive, forms.back().dropout = dropout;
      }
  return forms;
}

// Random numbers that make the weights peaky; lengths of 6, 1 and 4.
InputFeedingInput feeding_input(at::ScalarType type, const FeedingForm& form = {}) {
  const auto random = [&](at::IntArrayRef shape, double deviation = 1.0) {
    return (at::randn(shape, at::kDouble) * deviation).to(type).set_requires_grad(true);
  };
  const std::int64_t B = form.batch, L = form.steps, D = form.state, Lk = form.keys, A = form.additive ? form.hidden : D;
  const std::int64_t width = (form.cell == Cell::gru ? 3 : 4) * D;
  InputFeedingInput input;
  input.cell = form.cell;
  input.projected = random({B, L, width});
  input.hidden = random({B, D});
  if (form.cell == Cell::lstm) input.cell_state = random({B, D});
  input.keys = random({B, Lk, A}, form.additive ? 1 : 2 * std::min(1.0, 2 / std::sqrt(static_cast<double>(D))));
  input.values = random({B, Lk, D});
  if (B == 3) input.lengths = at::tensor({6, 1, 4}, at::kLong);
  const double spread = std::min(1.0, 2 / std::sqrt(static_cast<double>(D)));  // wide states don't amplify rounding from step to step
  input.feed_weight = random({width, D}, spread), input.recurrent_weight = random({width, D}, spread), input.combine_weight = random({D, D}, spread);
  if (form.cell == Cell::gru) input.recurrent_bias = random({width});
  if (form.additive) input.query_weight = random({A, D}, spread), input.energy = random({A});
  input.scale = form.additive ? 1.0 : 1.5;
  const auto multipliers = [&] { return (at::rand({L, B, D}) < 0.7).to(type) / 0.7; };
  if (form.dropout) input.hidden_multipliers = multipliers(), input.vector_multipliers = multipliers();
  return input;
}

std::vector<Tensor> leaves_of(const InputFeedingInput& input) {
  std::vector<Tensor> leaves = {input.projected, input.hidden, input.keys, input.values, input.feed_weight, input.recurrent_weight, input.combine_weight};
  for (const Tensor& tensor : {input.cell_state, input.recurrent_bias, input.query_weight, input.energy})
    if (tensor.defined()) leaves.push_back(tensor);
  return leaves;
}

// A number that all vectors go into.
Tensor number_of_vectors(const InputFeedingResult& result) {
  const Tensor& vectors = result.vectors;
  return (vectors * at::arange(vectors.numel(), vectors.options()).sin().view_as(vectors)).sum();
}

void expect_near(const std::string& name, const Tensor& got, const Tensor& wanted, bool gradient) {
  const reference::Type type = reference::type_of(got);
  constexpr std::int64_t terms = 64;
  EXPECT_EQ(reference::difference(name, reference::numbers(got), reference::numbers(wanted),
                                  gradient ? reference::gradient_tolerance(type, terms) : reference::tolerance(type, terms)),
            "");
}

// By the formulas, number by number; GRU with the dot score alone, which needs neither module nor operation of ours.
TEST(InputFeedingDecoder, EqualsItsFormulas) {
  const FeedingForm form{.batch = 2, .steps = 3, .state = 2, .keys = 3};
  const InputFeedingInput input = feeding_input(at::kDouble, form);
  const auto x = input.projected.accessor<double, 3>(), keys = input.keys.accessor<double, 3>(), values = input.values.accessor<double, 3>();
  const auto F = input.feed_weight.accessor<double, 2>(), U = input.recurrent_weight.accessor<double, 2>(), W = input.combine_weight.accessor<double, 2>();
  const auto bias = input.recurrent_bias.accessor<double, 1>();
  std::vector<double> wanted, weights;
  for (int b = 0; b < 2; ++b) {
    double h[2] = {input.hidden[b][0].item<double>(), input.hidden[b][1].item<double>()}, fed[2] = {0, 0};
    for (int t = 0; t < 3; ++t) {
      double next[2];
      const auto in = [&](int i) { return x[b][t][i] + F[i][0] * fed[0] + F[i][1] * fed[1]; };
      const auto of_state = [&](int i) { return bias[i] + U[i][0] * h[0] + U[i][1] * h[1]; };
      for (int c = 0; c < 2; ++c) {
        const double r = 1 / (1 + std::exp(-in(c) - of_state(c))), z = 1 / (1 + std::exp(-in(2 + c) - of_state(2 + c)));
        next[c] = (1 - z) * std::tanh(in(4 + c) + r * of_state(4 + c)) + z * h[c];
      }
      h[0] = next[0], h[1] = next[1];
      double e[3], sum = 0;
      for (int s = 0; s < 3; ++s) sum += e[s] = std::exp(1.5 * (h[0] * keys[b][s][0] + h[1] * keys[b][s][1]));
      for (const double number : e) weights.push_back(number / sum);
      for (int c = 0; c < 2; ++c) {
        double pre = W[c][0] * h[0] + W[c][1] * h[1];
        for (int s = 0; s < 3; ++s) pre += e[s] / sum * values[b][s][c];
        wanted.push_back(std::tanh(pre));
      }
      fed[0] = wanted[wanted.size() - 2], fed[1] = wanted.back();
    }
  }
  for (const Path path : {Path::fused, Path::composed}) {
    const InputFeedingResult got = input_feeding_decoder(input, path);
    expect_near("vectors", got.vectors, at::tensor(wanted, at::kDouble).view_as(got.vectors), false);
    expect_near("weights", got.weights, at::tensor(weights, at::kDouble).view_as(got.weights), false);
  }
}

TEST(InputFeedingDecoder, FusedAndComposedAgreeInEachTypeWithTheirGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const FeedingForm& like : {FeedingForm{}, FeedingForm{.batch = 2}, FeedingForm{.steps = 2, .state = 80, .hidden = 16}})
      for (const FeedingForm& form : feeding_forms(like)) {
        SCOPED_TRACE(text_of(form));
        const InputFeedingInput input = feeding_input(type, form);
        const InputFeedingResult got = input_feeding_decoder(input, Path::fused), wanted = input_feeding_decoder(input, Path::composed);
        expect_near("vectors", got.vectors, wanted.vectors, false);
        expect_near("weights", got.weights, wanted.weights, false);
        const std::vector<Tensor> of_fused = torch::autograd::grad({number_of_vectors(got)}, leaves_of(input)),
                                  of_composed = torch::autograd::grad({number_of_vectors(wanted)}, leaves_of(input));
        for (std::size_t i = 0; i < of_fused.size(); ++i) expect_near(format("gradient {}", i), of_fused[i], of_composed[i], true);
      }
}

TEST(InputFeedingDecoder, HasTheGradientsOfItsFormula) {
  for (const FeedingForm& form : feeding_forms({.steps = 3, .state = 3, .hidden = 4})) {
    const InputFeedingInput input = feeding_input(at::kDouble, form);
    EXPECT_EQ(reference::gradient_difference([&] { return number_of_vectors(input_feeding_decoder(input, Path::fused)); }, leaves_of(input)), "") << text_of(form);
  }
}

// The fused backward pass is written by hand: under create_graph it must hand over to a form that can be differentiated again.
TEST(InputFeedingDecoder, HasTheSecondDerivativesOfItsFormula) {
  for (const FeedingForm& form : feeding_forms({.steps = 2, .state = 2, .hidden = 2})) {
    if (!form.dropout) continue;
    const InputFeedingInput input = feeding_input(at::kDouble, form);
    const auto loss = [&] {
      const torch::AutoGradMode taking_gradients(true);
      Tensor sum = at::zeros({}, at::kDouble);
      for (const Tensor& gradient :
           torch::autograd::grad({number_of_vectors(input_feeding_decoder(input, Path::fused))}, leaves_of(input), {}, {}, /*create_graph=*/true))
        sum = sum + gradient.pow(2).sum();
      return sum;
    };
    EXPECT_EQ(reference::gradient_difference(loss, leaves_of(input)), "") << text_of(form);
  }
}

TEST(InputFeedingDecoder, ASingleStepFeedsNothing) {
  for (const FeedingForm& form : feeding_forms({.steps = 1}))
    for (const Path path : {Path::fused, Path::composed}) {
      const InputFeedingInput input = feeding_input(at::kDouble, form);
      const std::vector<Tensor> gradients = torch::autograd::grad({number_of_vectors(input_feeding_decoder(input, path))}, {input.feed_weight, input.hidden});
      EXPECT_EQ(gradients[0].abs().max().item<double>(), 0) << text_of(form);
      EXPECT_GT(gradients[1].abs().max().item<double>(), 0) << text_of(form);
    }
}

TEST(InputFeedingDecoder, GradientsAreTakenOfWhatNeedsThem) {
  InputFeedingInput input = feeding_input(at::kDouble, {.additive = true});
  const std::vector<Tensor> all = torch::autograd::grad({number_of_vectors(input_feeding_decoder(input))}, {input.projected, input.recurrent_weight});
  input.values = input.values.detach(), input.hidden = input.hidden.detach(), input.energy = input.energy.detach(), input.feed_weight = input.feed_weight.detach();
  const std::vector<Tensor> some = torch::autograd::grad({number_of_vectors(input_feeding_decoder(input))}, {input.projected, input.recurrent_weight});
  EXPECT_TRUE(some[0].equal(all[0]) && some[1].equal(all[1]));
}

TEST(InputFeedingDecoder, WhatStandsInPaddingReachesNeitherOutputsNorGradients) {
  for (const FeedingForm& form : feeding_forms()) {
    const InputFeedingInput clean = feeding_input(at::kDouble, form);
    InputFeedingInput dirty = clean;
    dirty.keys = clean.keys.detach().clone(), dirty.values = clean.values.detach().clone();
    for (Tensor* tensor : {&dirty.keys, &dirty.values}) {
      tensor->slice(0, 1, 2).slice(1, 1).fill_(std::nan(""));
      tensor->slice(0, 2, 3).slice(1, 4).fill_(std::nan(""));
      tensor->set_requires_grad(true);
    }
    for (const Path path : {Path::fused, Path::composed}) {
      SCOPED_TRACE(text_of(form) + ", " + std::string(name_of(path)));
      const InputFeedingResult got = input_feeding_decoder(dirty, path), wanted = input_feeding_decoder(clean, path);
      EXPECT_TRUE(got.vectors.equal(wanted.vectors) && got.weights.equal(wanted.weights));
      EXPECT_EQ(got.weights[1].slice(1, 1).abs().max().item<double>(), 0);
      const std::vector<Tensor> of_dirty = torch::autograd::grad({number_of_vectors(got)}, leaves_of(dirty)),
                                of_clean = torch::autograd::grad({number_of_vectors(wanted)}, leaves_of(clean));
      for (std::size_t i = 0; i < of_dirty.size(); ++i) EXPECT_TRUE(of_dirty[i].equal(of_clean[i])) << "input " << i;
    }
  }
}

TEST(InputFeedingDecoder, ANaNIsSeenFromItsStepOnInItsRow) {
  for (const FeedingForm& form : feeding_forms())
    for (const Path path : {Path::fused, Path::composed}) {
      if (form.dropout) continue;  // what is dropped is 0 in one path and NaN in none
      InputFeedingInput input = feeding_input(at::kDouble, form);
      input.projected = input.projected.detach().clone();
      input.projected[2][1].fill_(std::nan(""));
      const InputFeedingResult result = input_feeding_decoder(input, path);
      SCOPED_TRACE(text_of(form) + ", " + std::string(name_of(path)));
      EXPECT_TRUE(at::isfinite(result.vectors.slice(0, 0, 2)).all().item<bool>());
      EXPECT_TRUE(at::isfinite(result.vectors[2][0]).all().item<bool>());
      EXPECT_TRUE(at::isnan(result.vectors[2].slice(0, 1)).all().item<bool>());
    }
}

TEST(InputFeedingDecoder, NeitherThreadsNorOtherRowsChangeARow) {
  for (const FeedingForm& form : feeding_forms({.batch = 29, .steps = 5, .state = 40, .keys = 20, .hidden = 64})) {
    const InputFeedingInput input = feeding_input(at::kFloat, form);
    const int before = at::get_num_threads();
    std::vector<Tensor> runs;
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      const InputFeedingResult result = input_feeding_decoder(input, Path::fused);
      const std::vector<Tensor> gradients = torch::autograd::grad({number_of_vectors(result)}, {input.projected, input.keys, input.values, input.hidden});
      runs.push_back(at::cat({result.vectors.flatten(), result.weights.flatten(), gradients[0].flatten(), gradients[1].flatten(), gradients[2].flatten(),
                              gradients[3].flatten()}));
    }
    at::set_num_threads(before);
    EXPECT_TRUE(runs[1].equal(runs[0]) && runs[2].equal(runs[0])) << text_of(form);
    InputFeedingInput some = input;
    for (Tensor* tensor : {&some.projected, &some.hidden, &some.cell_state, &some.keys, &some.values})
      if (tensor->defined()) *tensor = tensor->slice(0, 3, 20);
    for (Tensor* tensor : {&some.hidden_multipliers, &some.vector_multipliers})
      if (tensor->defined()) *tensor = tensor->slice(1, 3, 20);
    EXPECT_TRUE(input_feeding_decoder(some, Path::fused).vectors.equal(input_feeding_decoder(input, Path::fused).vectors.slice(0, 3, 20))) << text_of(form);
  }
}

TEST(InputFeedingDecoder, TakesAnEmptyBatch) {
  for (const FeedingForm& form : feeding_forms({.batch = 0}))
    for (const Path path : {Path::fused, Path::composed}) {
      const InputFeedingInput input = feeding_input(at::kFloat, form);
      const InputFeedingResult result = input_feeding_decoder(input, path);
      EXPECT_EQ(result.vectors.sizes(), at::IntArrayRef({0, 4, 5}));
      EXPECT_EQ(result.weights.sizes(), at::IntArrayRef({0, 4, 6}));
      EXPECT_EQ(torch::autograd::grad({number_of_vectors(result)}, {input.recurrent_weight})[0].abs().max().item<float>(), 0);
    }
}

TEST(InputFeedingDecoder, RefusesWhatDoesntFit) {
  const auto with = [](void (*change)(InputFeedingInput&), bool additive = false) {
    return [change, additive] {
      InputFeedingInput input = feeding_input(at::kFloat, {.cell = additive ? Cell::lstm : Cell::gru, .additive = additive});
      change(input);
      input_feeding_decoder(input);
    };
  };
  const auto says = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(testing::StartsWith("attend::layers::input_feeding_decoder: " + message)); };
  EXPECT_THAT(with([](InputFeedingInput& input) { input.hidden = at::zeros({3, 4}); }), says("expected projected [B, L, G·D] with B = 3, G·D = 12, got [3, 4, 15]"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.keys = at::zeros({3, 6, 4}); }), says("expected keys [B, Lk, D] with B = 3, D = 5, got [3, 6, 4]"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.values = at::zeros({3, 5, 5}); }), says("expected values [B, Lk, D] with B = 3, Lk = 6, D = 5, got [3, 5, 5]"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.feed_weight = at::zeros({15, 4}); }), says("expected feed_weight"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.recurrent_weight = at::zeros({12, 5}); }), says("expected recurrent_weight"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.recurrent_bias = Tensor(); }), says("expected recurrent_bias"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.combine_weight = at::zeros({5, 10}); }), says("expected combine_weight"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.values = input.values.to(at::kDouble); }), says("expected values"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.vector_multipliers = at::ones({3, 4, 5}); }), says("expected vector_multipliers"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.cell_state = Tensor(); }, true), says("expected cell_state"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.query_weight = at::zeros({19, 4}); }, true), says("expected query_weight"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.energy = at::zeros({18}); }, true), says("expected energy"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.lengths = at::tensor({6, 0, 4}, at::kLong); }), says("expected lengths from 1 to Lk = 6, got 0 to 6"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.lengths = input.lengths.to(at::kInt); }), says("expected lengths of type int64, got Int"));
  EXPECT_THAT(with([](InputFeedingInput& input) { input.projected = at::zeros({3, 0, 15}); }), says("expected at least one step and one key"));
}

TEST(InputFeedingDecoder, FusedWhereImpossibleSaysWhy) {
  const InputFeedingInput input = feeding_input(at::kBFloat16);
  EXPECT_THAT(([&] { input_feeding_decoder(input, Path::fused); }),
              ThrowsMessage<NotSupported>(StrEq("attend::layers::input_feeding_decoder: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or "
                                                "\"composed\"")));
}

}  // namespace
}  // namespace attend::layers
