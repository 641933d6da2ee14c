#include "attend/layers/deep_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "tests/reference/gradients.h"
#include "tests/reference/recurrent.h"

namespace attend::layers {
namespace {

using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

struct DeepSizes {
  std::int64_t batch = 3, steps = 4, state = 5, token = 3, context = 7, maxout = 19;  // no multiples of a vector's width
};

DeepOutputInput random_deep_input(at::ScalarType type, const DeepSizes& sizes = {}) {
  const auto random = [&](at::IntArrayRef shape) { return at::randn(shape, at::kDouble).to(type).set_requires_grad(true); };
  const std::int64_t B = sizes.batch, L = sizes.steps, pairs = 2 * sizes.maxout;
  return {.states = random({B, L, sizes.state}),
          .tokens = random({B, L, sizes.token}),
          .contexts = random({B, L, sizes.context}),
          .state_weight = random({pairs, sizes.state}),
          .token_weight = random({pairs, sizes.token}),
          .context_weight = random({pairs, sizes.context}),
          .bias = random({pairs})};
}

std::vector<Tensor> deep_leaves(const DeepOutputInput& input) {
  return {input.states, input.tokens, input.contexts, input.state_weight, input.token_weight, input.context_weight, input.bias};
}

Tensor deep_number(const Tensor& result) { return (result * at::arange(result.numel(), result.options()).sin().view_as(result)).sum(); }

void expect_deep_agreement(const std::string& name, const Tensor& got, const Tensor& wanted, bool gradient) {
  const reference::Type type = reference::type_of(got);
  constexpr std::int64_t terms = 64;
  EXPECT_EQ(reference::difference(name, reference::numbers(got), reference::numbers(wanted),
                                  gradient ? reference::gradient_tolerance(type, terms) : reference::tolerance(type, terms)),
            "");
}

TEST(DeepOutput, FusedAndComposedAgreeInEachTypeWithTheirGradients) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const DeepSizes& sizes :
         {DeepSizes{}, DeepSizes{.steps = 1}, DeepSizes{.batch = 15, .state = 33, .maxout = 1}, DeepSizes{.context = 80, .maxout = 64}}) {
      const DeepOutputInput input = random_deep_input(type, sizes);
      const Tensor got = deep_output(input, Path::fused), wanted = deep_output(input, Path::composed);
      ASSERT_EQ(got.sizes(), wanted.sizes());
      expect_deep_agreement("output", got, wanted, false);
      const std::vector<Tensor> of_fused = torch::autograd::grad({deep_number(got)}, deep_leaves(input)),
                                of_composed = torch::autograd::grad({deep_number(wanted)}, deep_leaves(input));
      for (std::size_t i = 0; i < of_fused.size(); ++i) expect_deep_agreement(format("gradient {}", i), of_fused[i], of_composed[i], true);
    }
}

// Against loops over doubles that share nothing with the library.
TEST(DeepOutput, IsItsEquations) {
  const DeepOutputInput input = random_deep_input(at::kDouble);
  const Tensor result = deep_output(input, Path::fused);
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto product = [&](const Tensor& weight, const Tensor& rows, const reference::Vector& bias) {
        return reference::affine(reference::numbers(weight), reference::numbers(rows[b][i]), bias);
      };
      const reference::Vector of_state = product(input.state_weight, input.states, reference::numbers(input.bias)),
                              of_token = product(input.token_weight, input.tokens, {}), of_context = product(input.context_weight, input.contexts, {});
      reference::Vector wanted;
      for (std::size_t j = 0; j < of_state.size(); j += 2) {
        const auto sum = [&](std::size_t at) { return of_state[at] + of_token[at] + of_context[at]; };
        wanted.push_back(std::max(sum(j), sum(j + 1)));
      }
      EXPECT_EQ(reference::difference("output", reference::numbers(result[b][i]), wanted, reference::tolerance(reference::Type::float64, 64)), "");
    }
}

TEST(DeepOutput, HasTheGradientsOfItsFormula) {
  for (const std::int64_t steps : {1, 3}) {
    const DeepOutputInput input = random_deep_input(at::kDouble, {.batch = 2, .steps = steps, .maxout = 3});
    EXPECT_EQ(reference::gradient_difference([&] { return deep_number(deep_output(input, Path::fused)); }, deep_leaves(input)), "");
  }
}

// The fused backward pass is written by hand: under create_graph it must hand over to a form that can be differentiated again.
TEST(DeepOutput, HasTheSecondDerivativesOfItsFormula) {
  const DeepOutputInput input = random_deep_input(at::kDouble, {.batch = 2, .steps = 2, .state = 2, .token = 2, .context = 3, .maxout = 2});
  const auto loss = [&] {
    const torch::AutoGradMode taking_gradients(true);
    Tensor sum = at::zeros({}, at::kDouble);
    const Tensor number = deep_output(input, Path::fused).pow(2).sum();
    for (const Tensor& gradient : torch::autograd::grad({number}, deep_leaves(input), {}, {}, /*create_graph=*/true)) sum = sum + gradient.pow(2).sum();
    return sum;
  };
  EXPECT_EQ(reference::gradient_difference(loss, deep_leaves(input)), "");
}

// As decoders store them: step by step, or one behind the other in one tensor; and gradients that are one number for all.
TEST(DeepOutput, TakesRowsThatLieApart) {
  const DeepOutputInput plain = random_deep_input(at::kDouble);
  DeepOutputInput apart = plain;
  apart.states = plain.states.transpose(0, 1).contiguous().transpose(0, 1);
  apart.tokens = at::cat({plain.tokens, plain.contexts}, 2).slice(2, 0, 3);
  apart.contexts = plain.contexts.transpose(1, 2).contiguous().transpose(1, 2);
  const Tensor got = deep_output(apart, Path::fused), wanted = deep_output(plain, Path::fused);
  EXPECT_TRUE(got.equal(wanted));
  const std::vector<Tensor> of_got = torch::autograd::grad({got.sum()}, deep_leaves(plain)),
                            of_wanted = torch::autograd::grad({wanted.sum()}, deep_leaves(plain));
  for (std::size_t i = 0; i < of_got.size(); ++i) EXPECT_TRUE(of_got[i].equal(of_wanted[i])) << i;
}

TEST(DeepOutput, ThreadsChangeNothing) {
  const DeepOutputInput input = random_deep_input(at::kFloat, {.batch = 19, .steps = 5, .state = 32, .token = 16, .context = 64, .maxout = 64});
  const int before = at::get_num_threads();
  std::vector<Tensor> runs;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    const Tensor result = deep_output(input, Path::fused);
    std::vector<Tensor> all = torch::autograd::grad({deep_number(result)}, {input.states, input.tokens, input.contexts});
    all.push_back(result);
    for (Tensor& tensor : all) tensor = tensor.flatten();
    runs.push_back(at::cat(all));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(runs[1].equal(runs[0]) && runs[2].equal(runs[0]));
}

TEST(DeepOutput, ANaNStaysInItsRow) {
  for (const Path path : {Path::fused, Path::composed}) {
    DeepOutputInput input = random_deep_input(at::kDouble);
    input.tokens = input.tokens.detach().clone();
    input.tokens[1][2][0] = std::nan("");
    const Tensor finite = at::isfinite(deep_output(input, path)).all(2);
    EXPECT_EQ(finite.sum().item<std::int64_t>(), 3 * 4 - 1) << name_of(path);
    EXPECT_FALSE(finite[1][2].item<bool>()) << name_of(path);
  }
}

TEST(DeepOutput, TakesAnEmptyBatch) {
  for (const Path path : {Path::fused, Path::composed})
    EXPECT_EQ(deep_output(random_deep_input(at::kFloat, {.batch = 0}), path).sizes(), at::IntArrayRef({0, 4, 19})) << name_of(path);
}

TEST(DeepOutput, RefusesWhatDoesntFit) {
  const auto with = [](void (*change)(DeepOutputInput&)) {
    return [change] {
      DeepOutputInput input = random_deep_input(at::kFloat);
      change(input);
      deep_output(input);
    };
  };
  const auto says = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StartsWith("attend::layers::deep_output: " + message)); };
  EXPECT_THAT(with([](DeepOutputInput& input) { input.tokens = at::zeros({3, 5, 3}); }), says("expected tokens [B, L, E] with B = 3, L = 4, got [3, 5, 3]"));
  EXPECT_THAT(with([](DeepOutputInput& input) { input.state_weight = at::zeros({37, 5}); }),
              says("expected state_weight [2l, D] with an even number of rows, got [37, 5]"));
  EXPECT_THAT(with([](DeepOutputInput& input) { input.context_weight = at::zeros({38, 6}); }),
              says("expected context_weight [2l, M] with 2l = 38, M = 7, got [38, 6]"));
  EXPECT_THAT(with([](DeepOutputInput& input) { input.bias = at::zeros({19}); }), says("expected bias [2l] with 2l = 38, got [19]"));
  EXPECT_THAT(with([](DeepOutputInput& input) { input.contexts = input.contexts.to(at::kDouble); }), says("expected contexts"));
}

TEST(DeepOutput, FusedWhereImpossibleSaysWhy) {
  EXPECT_THAT(([] { deep_output(random_deep_input(at::kBFloat16), Path::fused); }),
              ThrowsMessage<NotSupported>(StrEq("attend::layers::deep_output: path \"fused\" needs float32 or float64 on the CPU; use \"automatic\" or "
                                                "\"composed\"")));
}

}  // namespace
}  // namespace attend::layers
