#include "attend/layers/attentive_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "tests/reference/gradients.h"
#include "tests/reference/recurrent.h"

namespace attend::layers {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

struct AttentiveSizes {
  Cell cell = Cell::gru;
  std::int64_t batch = 3, steps = 4, state = 5, keys = 6, hidden = 19, memory = 7, tokens = 4;  // no multiples of a vector's width
};

// Random numbers that make the weights peaky; lengths of 6, 1 and 4.
AttentiveDecoderInput random_input(at::ScalarType type, const AttentiveSizes& sizes = {}, double scale = 1.0) {
  const auto random = [&](at::IntArrayRef shape, double deviation = 1.0) {
    return (at::randn(shape, at::kDouble) * deviation).to(type).set_requires_grad(true);
  };
  const std::int64_t D = sizes.state, gates = (sizes.cell == Cell::lstm ? 4 : 3) * D;
  return {.cell = sizes.cell,
          .tokens = random({sizes.batch, sizes.steps, sizes.tokens}),
          .token_weight = random({gates, sizes.tokens}, 0.5),
          .token_bias = random({gates}),
          .first = random({sizes.batch, D}),
          .first_cell = sizes.cell == Cell::lstm ? random({sizes.batch, D}) : Tensor(),
          .keys = random({sizes.batch, sizes.keys, sizes.hidden}, scale),
          .memory = random({sizes.batch, sizes.keys, sizes.memory}),
          .lengths = sizes.batch == 3 ? at::tensor({6, 1, 4}, at::kLong) : Tensor(),
          .query_weight = random({sizes.hidden, D}, scale),
          .energy = random({sizes.hidden}),
          .context_weight = random({gates, sizes.memory}, 0.5),
          .state_weight = random({gates, D})};
}

std::vector<Tensor> leaves(const AttentiveDecoderInput& input) {
  std::vector<Tensor> all = {input.tokens, input.token_weight, input.token_bias, input.first,          input.keys,
                             input.memory, input.query_weight, input.energy,     input.context_weight, input.state_weight};
  if (input.cell == Cell::lstm) all.push_back(input.first_cell);
  return all;
}

// A number that all states and contexts go into.
Tensor number_of(const AttentiveDecoderResult& result) {
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

void expect_near_numbers(const Tensor& got, const reference::Vector& wanted) {
  EXPECT_EQ(reference::difference("numbers", reference::numbers(got), wanted, reference::tolerance(reference::type_of(got), 64)), "");
}

TEST(AttentiveDecoder, FusedAndComposedAgreeInEachTypeWithTheirGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const AttentiveSizes& sizes :
         {AttentiveSizes{}, AttentiveSizes{.batch = 2}, AttentiveSizes{.steps = 2, .state = 16, .memory = 80}, AttentiveSizes{.cell = Cell::lstm},
          AttentiveSizes{.cell = Cell::lstm, .batch = 2}, AttentiveSizes{.cell = Cell::lstm, .steps = 2, .state = 16, .memory = 80}}) {
      const AttentiveDecoderInput input = random_input(type, sizes);
      const AttentiveDecoderResult got = attentive_decoder(input, Path::fused), wanted = attentive_decoder(input, Path::composed);
      expect_agreement("states", got.states, wanted.states, false);
      expect_agreement("contexts", got.contexts, wanted.contexts, false);
      expect_agreement("weights", got.weights, wanted.weights, false);
      const std::vector<Tensor> of_fused = torch::autograd::grad({number_of(got)}, leaves(input)),
                                of_composed = torch::autograd::grad({number_of(wanted)}, leaves(input));
      for (std::size_t i = 0; i < of_fused.size(); ++i) expect_agreement(format("gradient {}", i).c_str(), of_fused[i], of_composed[i], true);
    }
}

// Against loops over doubles that share nothing with the library.
TEST(AttentiveDecoder, AnLstmIsItsEquations) {
  const AttentiveDecoderInput input = random_input(at::kDouble, {.cell = Cell::lstm});
  const AttentiveDecoderResult result = attentive_decoder(input, Path::fused);
  const std::int64_t steps = 4, D = 5, A = 19, M = 7, lengths[] = {6, 1, 4};
  for (std::int64_t b = 0; b < 3; ++b) {
    reference::Vector s = reference::numbers(input.first[b]), m = reference::numbers(input.first_cell[b]);
    const reference::Vector C = reference::numbers(input.context_weight), U = reference::numbers(input.state_weight),
                            W_a = reference::numbers(input.query_weight), v = reference::numbers(input.energy);
    for (std::int64_t i = 0; i < steps; ++i) {
      expect_near_numbers(result.states[b][i], s);
      const reference::Vector query = reference::affine(W_a, s, {});
      reference::Vector scores, context(M, 0.0);
      for (std::int64_t j = 0; j < lengths[b]; ++j) {
        const reference::Vector key = reference::numbers(input.keys[b][j]);
        double score = 0;
        for (std::int64_t a = 0; a < A; ++a) score += v[a] * std::tanh(query[a] + key[a]);
        scores.push_back(std::exp(score));
      }
      const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
      for (std::int64_t j = 0; j < lengths[b]; ++j) {
        const reference::Vector place = reference::numbers(input.memory[b][j]);
        for (std::int64_t d = 0; d < M; ++d) context[d] += scores[j] / sum * place[d];
      }
      expect_near_numbers(result.contexts[b][i], context);
      const reference::Vector x = reference::affine(reference::numbers(input.token_weight), reference::numbers(input.tokens[b][i]),
                                                    reference::numbers(input.token_bias)),
                              of_state = reference::affine(U, s, {}),
                              of_context = reference::affine(C, context, {});
      const auto logistic = [](double of) { return 1 / (1 + std::exp(-of)); };
      for (std::int64_t d = 0; d < D; ++d) {
        const auto gate = [&](std::int64_t which) { return x[which * D + d] + of_state[which * D + d] + of_context[which * D + d]; };
        m[d] = logistic(gate(1)) * m[d] + logistic(gate(0)) * std::tanh(gate(2));
        s[d] = logistic(gate(3)) * std::tanh(m[d]);
      }
    }
  }
}

TEST(AttentiveDecoder, ASingleStepReadsAndEnds) {
  for (const Cell cell : {Cell::gru, Cell::lstm})
    for (const Path path : {Path::fused, Path::composed}) {
      const AttentiveDecoderInput input = random_input(at::kDouble, {.cell = cell, .steps = 1});
      const AttentiveDecoderResult result = attentive_decoder(input, path);
      EXPECT_TRUE(result.states.squeeze(1).equal(input.first));
      const std::vector<Tensor> inputs = {input.first, input.keys, input.memory, input.query_weight, input.energy};
      EXPECT_EQ(reference::gradient_difference([&] { return number_of(attentive_decoder(input, path)); }, inputs), "")
          << name_of(cell) << ' ' << name_of(path);
    }
}

TEST(AttentiveDecoder, HasTheGradientsOfItsFormula) {
  for (const Cell cell : {Cell::gru, Cell::lstm})
    for (const double scale : {1.0, 60.0}) {  // 60: queries and keys whose exponentials don't fit
      AttentiveDecoderInput input = random_input(at::kDouble, {.cell = cell, .hidden = 3, .memory = 2}, scale);
      if (scale > 1) {
        const torch::NoGradGuard no_gradient;
        input.query_weight.div_(scale), input.keys.slice(2, 0, 2).div_(scale), input.keys.select(2, 2).add_(320);
      }
      EXPECT_EQ(reference::gradient_difference([&] { return number_of(attentive_decoder(input, Path::fused)); }, leaves(input)), "")
          << name_of(cell) << ' ' << scale;
    }
}

// The fused backward pass is written by hand: under create_graph it must hand over to a form that can be differentiated again.
TEST(AttentiveDecoder, HasTheSecondDerivativesOfItsFormula) {
  for (const Cell cell : {Cell::gru, Cell::lstm}) {
    const AttentiveDecoderInput input = random_input(at::kDouble, {.cell = cell, .steps = 2, .state = 2, .hidden = 3, .memory = 2});
    const auto loss = [&] {
      const torch::AutoGradMode taking_gradients(true);
      Tensor sum = at::zeros({}, at::kDouble);
      for (const Tensor& gradient : torch::autograd::grad({number_of(attentive_decoder(input, Path::fused))}, leaves(input), {}, {}, /*create_graph=*/true))
        sum = sum + gradient.pow(2).sum();
      return sum;
    };
    EXPECT_EQ(reference::gradient_difference(loss, leaves(input)), "") << name_of(cell);
  }
}

TEST(AttentiveDecoder, GradientsAreTakenOfWhatNeedsThem) {
  for (const Cell cell : {Cell::gru, Cell::lstm}) {
    AttentiveDecoderInput input = random_input(at::kDouble, {.cell = cell});
    const std::vector<Tensor> all = torch::autograd::grad({number_of(attentive_decoder(input))}, leaves(input));
    input.memory = input.memory.detach(), input.first = input.first.detach(), input.energy = input.energy.detach();
    if (cell == Cell::lstm) input.first_cell = input.first_cell.detach();
    const std::vector<Tensor> some = torch::autograd::grad({number_of(attentive_decoder(input))}, {input.tokens, input.state_weight});
    EXPECT_TRUE(some[0].equal(all[0])) << name_of(cell);
    EXPECT_TRUE(some[1].equal(all[9])) << name_of(cell);
  }
}

TEST(AttentiveDecoder, WhatStandsInPaddingReachesNeitherOutputsNorGradients) {
  for (const Cell cell : {Cell::gru, Cell::lstm}) {
    const AttentiveDecoderInput clean = random_input(at::kDouble, {.cell = cell});
    AttentiveDecoderInput dirty = clean;
    dirty.keys = clean.keys.detach().clone(), dirty.memory = clean.memory.detach().clone();
    for (Tensor* tensor : {&dirty.keys, &dirty.memory}) {
      tensor->slice(0, 1, 2).slice(1, 1).fill_(std::nan(""));
      tensor->slice(0, 2, 3).slice(1, 4).fill_(std::nan(""));
      tensor->set_requires_grad(true);
    }
    for (const Path path : {Path::fused, Path::composed}) {
      const AttentiveDecoderResult got = attentive_decoder(dirty, path), wanted = attentive_decoder(clean, path);
      EXPECT_TRUE(got.states.equal(wanted.states) && got.contexts.equal(wanted.contexts) && got.weights.equal(wanted.weights))
          << name_of(cell) << ' ' << name_of(path);
      EXPECT_EQ(got.weights[1].slice(1, 1).abs().max().item<double>(), 0);
      const std::vector<Tensor> of_dirty = torch::autograd::grad({number_of(got)}, leaves(dirty)),
                                of_clean = torch::autograd::grad({number_of(wanted)}, leaves(clean));
      for (std::size_t i = 0; i < of_dirty.size(); ++i) EXPECT_TRUE(of_dirty[i].equal(of_clean[i])) << name_of(cell) << ' ' << name_of(path) << ", input " << i;
    }
  }
}

TEST(AttentiveDecoder, ANaNIsSeenFromItsPlaceOnInItsRow) {
  for (const Cell cell : {Cell::gru, Cell::lstm})
    for (const Path path : {Path::fused, Path::composed}) {
      AttentiveDecoderInput input = random_input(at::kDouble, {.cell = cell});
      input.tokens = input.tokens.detach().clone();
      input.tokens[2][1][0] = std::nan("");
      const AttentiveDecoderResult result = attentive_decoder(input, path);
      EXPECT_TRUE(at::isfinite(result.contexts.slice(0, 0, 2)).all().item<bool>()) << name_of(cell) << ' ' << name_of(path);
      EXPECT_TRUE(at::isfinite(result.contexts[2].slice(0, 0, 2)).all().item<bool>()) << name_of(cell) << ' ' << name_of(path);
      EXPECT_TRUE(at::isnan(result.contexts[2].slice(0, 2)).all().item<bool>()) << name_of(cell) << ' ' << name_of(path);
    }
}

TEST(AttentiveDecoder, ThreadsChangeNothing) {
  for (const Cell cell : {Cell::gru, Cell::lstm}) {
    const AttentiveDecoderInput input = random_input(at::kFloat, {.cell = cell, .batch = 9, .steps = 5, .state = 32, .keys = 20, .hidden = 64, .memory = 64});
    const int before = at::get_num_threads();
    std::vector<Tensor> runs;
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      const AttentiveDecoderResult result = attentive_decoder(input, Path::fused);
      std::vector<Tensor> inputs = {input.tokens, input.first, input.keys, input.memory};
      if (cell == Cell::lstm) inputs.push_back(input.first_cell);
      std::vector<Tensor> all = torch::autograd::grad({number_of(result)}, inputs);
      all.push_back(result.weights), all.push_back(result.states), all.push_back(result.contexts);
      for (Tensor& tensor : all) tensor = tensor.flatten();
      runs.push_back(at::cat(all));
    }
    at::set_num_threads(before);
    EXPECT_TRUE(runs[1].equal(runs[0]) && runs[2].equal(runs[0])) << name_of(cell);
  }
}

TEST(AttentiveDecoder, TakesAnEmptyBatch) {
  for (const Cell cell : {Cell::gru, Cell::lstm})
    for (const Path path : {Path::fused, Path::composed}) {
      const AttentiveDecoderResult result = attentive_decoder(random_input(at::kFloat, {.cell = cell, .batch = 0}), path);
      EXPECT_EQ(result.states.sizes(), at::IntArrayRef({0, 4, 5}));
      EXPECT_EQ(result.contexts.sizes(), at::IntArrayRef({0, 4, 7}));
      EXPECT_EQ(result.weights.sizes(), at::IntArrayRef({0, 4, 6}));
    }
}

TEST(AttentiveDecoder, RefusesWhatDoesntFit) {
  const auto with = [](void (*change)(AttentiveDecoderInput&), Path path = Path::automatic) {
    return [change, path] {
      AttentiveDecoderInput input = random_input(at::kFloat);
      change(input);
      attentive_decoder(input, path);
    };
  };
  const auto says = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(testing::StartsWith("attend::layers::attentive_decoder: " + message));
  };
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.first = at::zeros({3, 4}); }),
              says("expected token_weight [3D, E] with 3D = 12, E = 4, got [15, 4]"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.energy = at::zeros({18}); }), says("expected energy [A] with A = 19, got [18]"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.memory = input.memory.to(at::kDouble); }), says("expected memory"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.lengths = at::tensor({6, 0, 4}, at::kLong); }),
              says("expected lengths from 1 to Lk = 6, got 0 to 6"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.lengths = at::tensor({6, 7, 4}, at::kLong); }),
              says("expected lengths from 1 to Lk = 6, got 4 to 7"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.lengths = input.lengths.to(at::kInt); }), says("expected lengths of type int64, got Int"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.tokens = at::zeros({3, 0, 4}); }), says("expected at least one step and one key"));
  EXPECT_THAT(with([](AttentiveDecoderInput& input) { input.cell = Cell::lstm; }), says("expected token_weight [4D, E] with 4D = 20, E = 4, got [15, 4]"));
  AttentiveDecoderInput lstm = random_input(at::kFloat, {.cell = Cell::lstm});
  lstm.first_cell = at::zeros({3, 4});
  EXPECT_THAT([&] { attentive_decoder(lstm); }, says("expected first_cell [B, D] with B = 3, D = 5, got [3, 4]"));
}

TEST(AttentiveDecoder, FusedWhereImpossibleSaysWhy) {
  AttentiveDecoderInput input = random_input(at::kBFloat16);
  EXPECT_THAT(([&] { attentive_decoder(input, Path::fused); }),
              ThrowsMessage<NotSupported>(StrEq("attend::layers::attentive_decoder: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or "
                                                "\"composed\"")));
}

}  // namespace
}  // namespace attend::layers
