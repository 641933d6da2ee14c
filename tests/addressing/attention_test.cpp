#include "attend/addressing/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/core/shapes.h"
#include "attend/io/json.h"
#include "tests/reference/attention.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StrEq;
using testing::ThrowsMessage;

constexpr Score all_scores[] = {Score::dot, Score::scaled_dot, Score::general, Score::additive};

// "name [sizes]" of each parameter, in their order.
std::vector<std::string> parameters_of(const Attention& attention) {
  std::vector<std::string> parameters;
  for (const auto& item : attention->named_parameters()) parameters.push_back(item.key() + " " + shape_text(item.value()));
  return parameters;
}

reference::PairScore pair_score(const Attention& attention, std::int64_t width) {
  std::vector<std::vector<double>> p;
  for (const Tensor& parameter : attention->parameters()) p.push_back(reference::numbers(parameter));
  switch (attention->options().score) {
    case Score::dot:
      return reference::dot(width, 1);
    case Score::scaled_dot:
      return reference::dot(width, 1 / std::sqrt(static_cast<double>(width)));
    case Score::general:
      return reference::general(p[0], width, width);
    case Score::additive:
      return reference::projected_additive(p[0], p[1], p[2], p[3]);
  }
  return {};
}

TEST(AttentionModule, HasTheParametersOfItsScore) {
  EXPECT_THAT(parameters_of(Attention(4, 4, AttentionOptions{.score = Score::dot})), IsEmpty());
  EXPECT_THAT(parameters_of(Attention(4, 4, AttentionOptions{.score = Score::scaled_dot})), IsEmpty());
  EXPECT_THAT(parameters_of(Attention(4, 6)), ElementsAre("weight [4, 6]"));
  EXPECT_THAT(parameters_of(Attention(4, 6, AttentionOptions{.score = Score::additive, .hidden = 5})),
              ElementsAre("query_projection [5, 4]", "key_projection [5, 6]", "bias [5]", "energy [5]"));
}

TEST(AttentionModule, BeginsWithParametersWithinTheRootOfTheirFanIn) {
  const Attention general(300, 100);
  EXPECT_LE(general->parameters()[0].abs().max().item<double>(), 0.1);
  EXPECT_GT(general->parameters()[0].abs().max().item<double>(), 0.09);
  const Attention additive(100, 400, AttentionOptions{.score = Score::additive, .hidden = 900});
  const double bounds[] = {0.1, 0.05, 0, 1 / 30.0};
  for (std::size_t i = 0; i < 4; ++i) {
    const double largest = additive->parameters()[i].abs().max().item<double>();
    EXPECT_LE(largest, bounds[i] * 1.0001);
    EXPECT_GE(largest, bounds[i] * 0.9);
  }
}

TEST(AttentionModule, EqualsTheLoopsForEachScore) {
  const Tensor query = at::randn({2, 4, 6}, at::kDouble), key = at::randn({2, 5, 6}, at::kDouble),
               value = at::randn({2, 5, 3}, at::kDouble);
  for (const Score score : all_scores) {
    Attention attention(6, 6, AttentionOptions{.score = score, .hidden = 7});
    attention->to(at::kDouble);
    const torch::NoGradGuard no_gradient;
    for (Tensor& parameter : attention->parameters()) parameter.normal_();
    const AttentionResult got = attention(query, key, value, Mask::lengths(at::tensor({5, 2}, at::kLong)), /*return_weights=*/true);
    const reference::Outcome wanted =
        reference::attention({2, 1, 1, 4, 5, 6, 6, 3}, reference::numbers(query), reference::numbers(key), reference::numbers(value),
                             pair_score(attention, 6), {{.kind = reference::MaskPart::Kind::lengths, .shape = {2}, .numbers = {5, 2}}});
    const reference::Tolerance near = reference::tolerance(reference::Type::float64, 5);
    EXPECT_EQ(reference::difference("context", reference::numbers(got.context), wanted.context, near), "") << name_of(score);
    EXPECT_EQ(reference::difference("weights", reference::numbers(got.weights), wanted.weights, near), "") << name_of(score);
    EXPECT_EQ(got.context.sizes(), at::IntArrayRef({2, 4, 3}));
    EXPECT_EQ(got.weights.sizes(), at::IntArrayRef({2, 1, 4, 5}));
  }
}

TEST(AttentionModule, ParametersHaveTheGradientsOfTheirFormula) {
  const Tensor query = at::randn({2, 2, 3}, at::kDouble), key = at::randn({2, 4, 3}, at::kDouble),
               value = at::randn({2, 4, 2}, at::kDouble);
  const Tensor cotangent = at::randn({2, 2, 2}, at::kDouble);
  for (const Score score : {Score::general, Score::additive}) {
    Attention attention(3, 3, AttentionOptions{.score = score, .hidden = 4});
    attention->to(at::kDouble);
    EXPECT_EQ(
        reference::gradient_difference([&] { return (attention(query, key, value).context * cotangent).sum(); }, attention->parameters()),
        "");
  }
}

TEST(AttentionModule, ReturnsWeightsOnlyWhereTheyAreAskedFor) {
  Attention attention(3, 3);
  const Tensor x = at::randn({1, 2, 3});
  EXPECT_FALSE(attention(x, x, x).weights.defined());
  EXPECT_TRUE(attention(x, x, x, Mask(), true).weights.defined());
}

TEST(AttentionModule, PrintsWhatItIs) {
  std::ostringstream text;
  text << Attention(4, 6, AttentionOptions{.score = Score::additive});
  EXPECT_EQ(text.str(), "attend::addressing::Attention(query_size=4, key_size=6, score=additive, normalizer=softmax, window=global)");
}

TEST(AttentionModule, ACloneHasParametersOfItsOwn) {
  for (const Score score : all_scores) {
    Attention attention(3, 3, AttentionOptions{.score = score, .hidden = 4});
    Attention copy(std::dynamic_pointer_cast<AttentionImpl>(attention->clone()));
    const Tensor x = at::randn({1, 2, 3});
    const Tensor before = copy(x, x, x).context;
    EXPECT_TRUE(before.equal(attention(x, x, x).context)) << name_of(score);
    const torch::NoGradGuard no_gradient;
    for (Tensor& parameter : attention->parameters()) parameter.add_(1);
    EXPECT_TRUE(before.equal(copy(x, x, x).context)) << name_of(score);
  }
}

TEST(AttentionModule, DropsWeightsOnlyWhileTraining) {
  Attention attention(3, 3, AttentionOptions{.dropout = 0.5});
  const Tensor query = at::randn({4, 8, 3}), memory = at::randn({4, 8, 3});
  attention->eval();
  const Tensor plain = attention(query, memory, memory).context;
  EXPECT_TRUE(plain.equal(attention(query, memory, memory).context));
  attention->train();
  const Tensor dropped = attention(query, memory, memory).context;
  EXPECT_FALSE(plain.equal(dropped));
  EXPECT_FALSE(dropped.equal(attention(query, memory, memory).context)) << "each call draws anew";
  Attention without(3, 3);
  EXPECT_TRUE(without(query, memory, memory).context.equal(without(query, memory, memory).context));
}

TEST(AttentionModule, ReportsItsWeightsToARecording) {
  Attention attention(3, 3, AttentionOptions{.dropout = 0.5});
  const Tensor x = at::randn({2, 4, 3});
  Recording recording(*attention);
  const AttentionResult result = attention(x, x, x);
  EXPECT_FALSE(result.weights.defined()) << "a recording doesn't change what is returned";
  const std::vector<Recording::Item> items = recording.take();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].kind, "alignment");
  EXPECT_THAT(items[0].axes, ElementsAre("batch", "head", "query", "key"));
  EXPECT_TRUE(items[0].tensor.equal(attention(x, x, x, Mask(), true).weights)) << "before dropout";
}

TEST(AttentionModule, TakesHalfTypes) {
  Attention attention(3, 3);
  attention->to(at::kBFloat16);
  const Tensor x = at::randn({1, 2, 3}).to(at::kBFloat16);
  EXPECT_EQ(attention(x, x, x).context.scalar_type(), at::kBFloat16);
}

TEST(AttentionModule, RefusesOptionsThatDontFit) {
  const auto making = [](std::int64_t query_size, std::int64_t key_size, const AttentionOptions& options) {
    return [=] { Attention(query_size, key_size, options); };
  };
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::Attention: " + message));
  };
  EXPECT_THAT(making(0, 3, {}), refuses("expected positive sizes, got query_size 0 and key_size 3"));
  EXPECT_THAT(making(3, -1, {}), refuses("expected positive sizes, got query_size 3 and key_size -1"));
  EXPECT_THAT(making(3, 4, {.score = Score::dot}),
              refuses("score \"dot\" needs queries and keys of the same width, got 3 and 4; use \"general\" or \"additive\""));
  EXPECT_THAT(making(3, 4, {.score = Score::scaled_dot}),
              refuses("score \"scaled-dot\" needs queries and keys of the same width, got 3 and 4; use \"general\" or \"additive\""));
  EXPECT_THAT(making(3, 4, {.score = Score::additive, .hidden = 0}), refuses("expected hidden ≥ 1, got 0"));
  EXPECT_THAT(making(3, 4, {.dropout = 1}), refuses("expected dropout from 0 to below 1, got 1"));
  EXPECT_THAT(making(3, 4, {.dropout = -0.5}), refuses("expected dropout from 0 to below 1, got -0.5"));
  EXPECT_THAT(making(3, 4, {.normalizer = Normalizer::entmax, .alpha = 1}),
              refuses("expected alpha above 1, got 1; what alpha = 1 stands for is normalizer \"softmax\""));
  EXPECT_THAT(making(3, 4, {.expected = 1.5}), refuses("expected a probability from 0 to 1 in `expected`, got 1.5"));
  EXPECT_NO_THROW(making(3, 4, {.score = Score::general, .hidden = 0})()) << "other scores have no hidden width";
}

TEST(AttentionModule, RefusesInputsThatDontFit) {
  Attention attention(3, 4);
  const Tensor query = at::zeros({2, 5, 3}), key = at::zeros({2, 6, 4}), value = at::zeros({2, 6, 7});
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::Attention: " + message));
  };
  EXPECT_THAT([&] { attention(query.unsqueeze(1), key, value); }, refuses("expected query [B, Lq, Eq] with Eq = 3, got [2, 1, 5, 3]"));
  EXPECT_THAT(
      [&] {
        attention(query, at::zeros({2, 6, 3}), value);
      },
      refuses("expected key [B, Lk, Ek] with B = 2, Ek = 4, got [2, 6, 3]"));
  EXPECT_THAT(
      [&] {
        attention(query, key, at::zeros({2, 5, 7}));
      },
      refuses("expected value [B, Lk, Ev] with B = 2, Lk = 6, got [2, 5, 7]"));
  EXPECT_THAT([&] { attention(query, key.to(at::kDouble), value); }, refuses("expected key of the type of query (Float), got Double"));
  EXPECT_THAT(
      [&] {
        attention(query, key, value, Mask::keep(at::ones({5, 5}, at::kBool)));
      },
      refuses("expected a boolean mask that broadcasts to [B, H, Lq, Lk] = [2, 1, 5, 6], got [5, 5]"));
  Attention fused(3, 4, AttentionOptions{.path = Path::fused});
  EXPECT_THAT([&] { fused(query, key, value); },
              ThrowsMessage<NotSupported>(StrEq("attend::addressing::Attention: path \"fused\" is impossible: no fused kernel of this "
                                                "mechanism exists in this version; use \"automatic\" or \"composed\"")));
}

TEST(AttentionModule, TakesEveryNormaliser) {
  const Tensor query = at::randn({2, 4, 3}), key = at::randn({2, 5, 3}), value = at::randn({2, 5, 6});
  const Mask padding = Mask::lengths(at::tensor({5, 2}, at::kLong));
  for (const EnumName<Normalizer>& entry : EnumNames<Normalizer>::values) {
    Attention attention(3, 3, AttentionOptions{.normalizer = entry.value});
    const AttentionResult result = attention(query, key, value, padding, /*return_weights=*/true);
    EXPECT_TRUE(at::allclose(result.weights.sum(-1), at::ones({2, 1, 4}))) << entry.name;
    EXPECT_TRUE(at::allclose(at::matmul(result.weights.squeeze(1), value), result.context)) << entry.name;
    EXPECT_EQ(result.weights[1].slice(-1, 2).abs().max().item<double>(), 0) << entry.name;
    const bool draws = entry.value == Normalizer::hard_sample;
    EXPECT_EQ(result.log_probability.defined(), draws) << entry.name;
    EXPECT_EQ(result.entropy.defined(), draws) << entry.name;
    EXPECT_EQ(attention->parameters().size(), entry.value == Normalizer::uniform ? 0u : 1u) << entry.name;
  }
}

TEST(AttentionModule, DrawsWhileTrainingAndReadsTheModeInEvaluation) {
  Attention attention(3, 3, AttentionOptions{.normalizer = Normalizer::hard_sample});
  Attention best(3, 3, AttentionOptions{.normalizer = Normalizer::hard_max});
  const Tensor query = at::randn({2, 50, 3}), key = at::randn({2, 5, 3});
  {
    const torch::NoGradGuard no_gradient;
    best->parameters()[0].copy_(attention->parameters()[0]);
  }
  at::manual_seed(4);
  const Tensor drawn = attention(query, key, key).context;
  EXPECT_FALSE(drawn.equal(attention(query, key, key).context)) << "each call draws anew";
  at::manual_seed(4);
  EXPECT_TRUE(drawn.equal(attention(query, key, key).context)) << "the same seed draws the same";
  attention->eval();
  const AttentionResult mode = attention(query, key, key);
  EXPECT_TRUE(mode.context.equal(best(query, key, key).context));
  EXPECT_EQ(mode.log_probability.sizes(), at::IntArrayRef({2, 1, 50}));
  EXPECT_EQ(mode.entropy.sizes(), at::IntArrayRef({2, 1, 50}));
}

TEST(AttentionModule, ReadsTheExpectedValueAsOftenAsItIsAskedWhileTraining) {
  Attention attention(3, 3, AttentionOptions{.normalizer = Normalizer::hard_sample, .expected = 1});
  Attention soft(3, 3);
  const Tensor query = at::randn({2, 5, 3}), key = at::randn({2, 5, 3});
  {
    const torch::NoGradGuard no_gradient;
    soft->parameters()[0].copy_(attention->parameters()[0]);
  }
  EXPECT_TRUE(at::allclose(attention(query, key, key).context, soft(query, key, key).context, 1e-5, 1e-6));
  attention->eval();
  EXPECT_EQ(attention(query, key, key, Mask(), true).weights.amax(-1).min().item<double>(), 1) << "in evaluation the mode";
}

TEST(AttentionOptions, HaveOneNameEachInARecipe) {
  EXPECT_EQ(io::to_json(write_options(AttentionOptions{.score = Score::scaled_dot})),
            R"({"score":"scaled-dot","normalizer":"softmax","alpha":1.5,"expected":0.0,"window":"global","hidden":256,"dropout":0.0,"path":"automatic"})");
}

}  // namespace
}  // namespace attend::addressing
