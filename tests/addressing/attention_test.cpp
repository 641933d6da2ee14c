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

constexpr Score all_scores[] = {Score::dot, Score::scaled_dot, Score::general, Score::additive, Score::cosine, Score::location};

// Global, local-m, local-m with a ratio, local-p, local-p renormalised: small ones, so that they cut.
std::vector<AttentionOptions> all_windows() {
  return {{},
          {.window = Window::local_m, .window_width = 1},
          {.window = Window::local_m, .window_width = 1, .length_ratio = 1.4},
          {.window = Window::local_p, .window_width = 2},
          {.window = Window::local_p, .window_width = 2, .window_renormalised = true}};
}

// Each score with each window.
std::vector<AttentionOptions> all_options() {
  std::vector<AttentionOptions> all;
  for (const Score score : all_scores)
    for (AttentionOptions options : all_windows()) {
      options.score = score, options.hidden = 7, options.cosine_scale = 5, options.positions = 8;
      all.push_back(options);
    }
  return all;
}

std::string name_of_options(const AttentionOptions& options) {
  return std::string(name_of(options.score)) + ", " + std::string(name_of(options.window)) +
         (options.window_renormalised ? ", renormalised" : "");
}

// In float64, with parameters that are large enough to matter.
Attention make_attention(std::int64_t width, const AttentionOptions& options) {
  Attention attention(width, width, options);
  attention->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : attention->parameters()) parameter.normal_();
  return attention;
}

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
    case Score::cosine:
      return reference::cosine(width, attention->options().cosine_scale);
    case Score::location:
      return {};
  }
  return {};
}

// What the reference is told beside the score of pairs.
reference::Settings settings_of(const Attention& attention, std::int64_t width) {
  const AttentionOptions& options = attention->options();
  const auto parameters = attention->named_parameters();
  reference::Settings settings;
  if (options.score == Score::location) settings.place_score = reference::location(reference::numbers(parameters["location"]), width);
  const auto half_width = static_cast<double>(options.window_width);
  if (options.window == Window::local_m) settings.window = reference::local_m(half_width, options.length_ratio);
  if (options.window == Window::local_p)
    settings.window = reference::local_p(reference::numbers(parameters["centre_projection"]), reference::numbers(parameters["centre_energy"]),
                                         half_width, options.window_renormalised);
  return settings;
}

TEST(AttentionModule, HasTheParametersOfItsScore) {
  EXPECT_THAT(parameters_of(Attention(4, 4, AttentionOptions{.score = Score::dot})), IsEmpty());
  EXPECT_THAT(parameters_of(Attention(4, 4, AttentionOptions{.score = Score::scaled_dot})), IsEmpty());
  EXPECT_THAT(parameters_of(Attention(4, 6)), ElementsAre("weight [4, 6]"));
  EXPECT_THAT(parameters_of(Attention(4, 6, AttentionOptions{.score = Score::additive, .hidden = 5})),
              ElementsAre("query_projection [5, 4]", "key_projection [5, 6]", "bias [5]", "energy [5]"));
  EXPECT_THAT(parameters_of(Attention(4, 4, AttentionOptions{.score = Score::cosine})), IsEmpty());
  EXPECT_THAT(parameters_of(Attention(4, 6, AttentionOptions{.score = Score::location, .positions = 9})), ElementsAre("location [9, 4]"));
}

TEST(AttentionModule, HasTheParametersOfItsWindow) {
  EXPECT_THAT(parameters_of(Attention(4, 6, AttentionOptions{.window = Window::local_m})), ElementsAre("weight [4, 6]"));
  EXPECT_THAT(parameters_of(Attention(4, 6, AttentionOptions{.window = Window::local_p})),
              ElementsAre("weight [4, 6]", "centre_projection [4, 4]", "centre_energy [4]"));
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
  const Attention located(400, 2, AttentionOptions{.score = Score::location, .window = Window::local_p, .positions = 90});
  for (const Tensor& parameter : located->parameters()) {
    EXPECT_LE(parameter.abs().max().item<double>(), 0.05 * 1.0001);
    EXPECT_GE(parameter.abs().max().item<double>(), 0.05 * 0.9);
  }
}

TEST(AttentionModule, EqualsTheLoopsForEachScoreAndWindow) {
  const Tensor query = at::randn({2, 4, 6}, at::kDouble), key = at::randn({2, 5, 6}, at::kDouble),
               value = at::randn({2, 5, 3}, at::kDouble);
  for (const AttentionOptions& options : all_options()) {
    Attention attention = make_attention(6, options);
    const AttentionResult got = attention(query, key, value, Mask::lengths(at::tensor({5, 2}, at::kLong)), /*return_weights=*/true);
    const reference::Outcome wanted =
        reference::attention({2, 1, 1, 4, 5, 6, 6, 3}, reference::numbers(query), reference::numbers(key), reference::numbers(value),
                             pair_score(attention, 6), {{.kind = reference::MaskPart::Kind::lengths, .shape = {2}, .numbers = {5, 2}}},
                             settings_of(attention, 6));
    const reference::Tolerance near = reference::tolerance(reference::Type::float64, 5);
    EXPECT_EQ(reference::difference("context", reference::numbers(got.context), wanted.context, near), "") << name_of_options(options);
    EXPECT_EQ(reference::difference("weights", reference::numbers(got.weights), wanted.weights, near), "") << name_of_options(options);
    EXPECT_EQ(got.context.sizes(), at::IntArrayRef({2, 4, 3}));
    EXPECT_EQ(got.weights.sizes(), at::IntArrayRef({2, 1, 4, 5}));
  }
}

TEST(AttentionModule, ParametersHaveTheGradientsOfTheirFormula) {
  at::manual_seed(1);  // no key is so near the end of a window that a difference quotient would step over it
  const Tensor query = at::randn({2, 2, 3}, at::kDouble), key = at::randn({2, 4, 3}, at::kDouble),
               value = at::randn({2, 4, 2}, at::kDouble);
  const Tensor cotangent = at::randn({2, 2, 2}, at::kDouble);
  for (const AttentionOptions& options : all_options()) {
    Attention attention = make_attention(3, options);
    if (attention->parameters().empty()) continue;
    EXPECT_EQ(
        reference::gradient_difference([&] { return (attention(query, key, value).context * cotangent).sum(); }, attention->parameters()),
        "")
        << name_of_options(options);
  }
}

TEST(AttentionModule, StepsThatSayWhereTheyAreReadWhatOneCallReads) {
  const Tensor query = at::randn({2, 7, 6}, at::kDouble), memory = at::randn({2, 5, 6}, at::kDouble);
  const Mask mask = Mask::lengths(at::tensor({5, 3}, at::kLong));
  for (const AttentionOptions& options : all_options()) {
    Attention attention = make_attention(6, options);
    const AttentionResult whole = attention(query, memory, memory, mask, true);
    for (std::int64_t t = 0; t < 7; ++t) {
      const AttentionResult step = attention(query.narrow(1, t, 1), memory, memory, mask, true, AttentionPlace{.first_query = t});
      EXPECT_TRUE(at::allclose(step.context, whole.context.narrow(1, t, 1), 1e-13, 1e-13)) << name_of_options(options) << ", step " << t;
      EXPECT_TRUE(at::allclose(step.weights, whole.weights.narrow(2, t, 1), 1e-13, 1e-13)) << name_of_options(options) << ", step " << t;
    }
  }
}

TEST(AttentionModule, StepsDropWhatOneCallDrops) {
  Attention attention(3, 3, AttentionOptions{.dropout = 0.5});
  const Tensor query = at::randn({2, 6, 3}), memory = at::randn({2, 8, 3});
  at::manual_seed(5);
  const Tensor whole = attention(query, memory, memory).context;
  for (std::int64_t t = 0; t < 6; ++t) {
    at::manual_seed(5);
    const Tensor step = attention(query.narrow(1, t, 1), memory, memory, Mask(), false, AttentionPlace{.first_query = t}).context;
    EXPECT_TRUE(at::allclose(step, whole.narrow(1, t, 1), 1e-5, 1e-6)) << "step " << t;
  }
}

TEST(AttentionModule, ALocalWindowReadsWithinTheTrueLength) {
  // two rows of the same queries and keys, of which the second is padded: its centre is a share of 4, not of 9
  const Tensor query = at::randn({1, 3, 4}, at::kDouble), memory = at::randn({1, 9, 4}, at::kDouble);
  Attention attention = make_attention(4, {.window = Window::local_p, .window_width = 2});
  const Tensor padded = attention(query, memory, memory, Mask::lengths(at::tensor({4}, at::kLong)), true).weights;
  const Tensor short_memory = memory.narrow(1, 0, 4);
  const Tensor alone = attention(query, short_memory, short_memory, Mask(), true).weights;
  EXPECT_TRUE(at::allclose(padded.narrow(3, 0, 4), alone, 1e-13, 1e-13));
  EXPECT_TRUE(padded.narrow(3, 4, 5).equal(at::zeros({1, 1, 3, 5}, at::kDouble)));
  EXPECT_TRUE((alone.sum(-1) < 1).all().item<bool>()) << "not renormalised";
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

TEST(AttentionModule, ExplainsWhichPathItTakes) {
  const auto explained = [](const AttentionOptions& options) { return Attention(3, 3, options)->explain(); };
  EXPECT_THAT(explained({.score = Score::general}), testing::StartsWith("fused: on the CPU, for at least"));
  EXPECT_EQ(explained({.score = Score::additive}), "fused: on the CPU");
  EXPECT_EQ(explained({.score = Score::location}), "composed: no fused kernel of this mechanism exists in this version");
  EXPECT_EQ(explained({.score = Score::dot, .normalizer = Normalizer::sparsemax}), "composed: no fused kernel of this normalizer exists in this version");
  EXPECT_EQ(explained({.score = Score::dot, .path = Path::composed}), "composed: it was asked for");
}

TEST(AttentionModule, ACloneHasParametersOfItsOwn) {
  const torch::NoGradGuard no_gradient;  // which would take another kernel
  for (const AttentionOptions& options : all_options()) {
    Attention attention(3, 3, options);
    Attention copy(std::dynamic_pointer_cast<AttentionImpl>(attention->clone()));
    const Tensor x = at::randn({1, 2, 3});
    const Tensor before = copy(x, x, x).context;
    EXPECT_TRUE(before.equal(attention(x, x, x).context)) << name_of_options(options);
    for (Tensor& parameter : attention->parameters()) parameter.add_(1);
    EXPECT_TRUE(before.equal(copy(x, x, x).context)) << name_of_options(options);
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
  for (const AttentionOptions& options : all_options()) {
    Attention attention(3, 3, options);
    attention->to(at::kBFloat16);
    const Tensor x = at::randn({1, 2, 3}).to(at::kBFloat16);
    EXPECT_EQ(attention(x, x, x).context.scalar_type(), at::kBFloat16) << name_of_options(options);
  }
}

TEST(AttentionModule, ShowsParametersThatAreNaN) {
  for (const AttentionOptions& options : all_options()) {
    Attention attention = make_attention(3, options);
    const torch::NoGradGuard no_gradient;
    for (Tensor& parameter : attention->parameters()) {
      const Tensor sound = parameter.clone(), x = at::randn({1, 2, 3}, at::kDouble);
      parameter.fill_(std::nan(""));
      EXPECT_TRUE(attention(x, x, x).context.isnan().all().item<bool>()) << name_of_options(options);
      parameter.copy_(sound);
    }
  }
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
  EXPECT_THAT(making(3, 4, {.score = Score::cosine}),
              refuses("score \"cosine\" needs queries and keys of the same width, got 3 and 4; use \"general\" or \"additive\""));
  EXPECT_THAT(making(3, 4, {.score = Score::additive, .hidden = 0}), refuses("expected hidden ≥ 1, got 0"));
  EXPECT_THAT(making(3, 4, {.score = Score::location, .positions = 0}), refuses("expected positions ≥ 1, got 0"));
  EXPECT_THAT(making(3, 3, {.score = Score::cosine, .cosine_scale = HUGE_VAL}), refuses("expected a finite cosine_scale, got inf"));
  EXPECT_THAT(making(3, 4, {.window = Window::local_m, .window_width = -1}), refuses("expected window_width ≥ 0, got -1"));
  EXPECT_THAT(making(3, 4, {.window = Window::local_p, .window_width = 0}), refuses("expected window_width ≥ 1, got 0"));
  EXPECT_THAT(making(3, 4, {.window = Window::local_m, .length_ratio = 0}), refuses("expected a finite length_ratio > 0, got 0"));
  EXPECT_NO_THROW(making(3, 4, {.window = Window::local_m, .window_width = 0})()) << "one key for each query";
  EXPECT_NO_THROW(making(3, 4, {.positions = 0, .window_width = -3, .length_ratio = -1})()) << "nothing here uses them";
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
  EXPECT_THAT([&] { attention(query, key, value, Mask(), false, AttentionPlace{.first_query = -1}); },
              refuses("expected first_query ≥ 0, got -1"));
  Attention located(3, 4, AttentionOptions{.score = Score::location, .positions = 5});
  EXPECT_THAT([&] { located(query, key, value); },
              refuses("expected at most 5 keys, as many as the location score has positions, got key [2, 6, 4]; train with more positions"));
  EXPECT_NO_THROW(located(query, key.narrow(1, 0, 5), value.narrow(1, 0, 5)));
  Attention predicting(3, 4, AttentionOptions{.window = Window::local_p});
  EXPECT_THAT([&] { predicting(query, key, value, Mask::lengths(at::tensor({7, 6}, at::kLong))); },
              refuses("expected lengths from 0 to Lk = 6, got 6 to 7"));
  EXPECT_THAT([&] { predicting(query, key, value, Mask::lengths(at::tensor({6}, at::kLong))); },
              refuses("expected lengths [B] with B = 2, got [1]"));
  Attention fused(3, 4, AttentionOptions{.score = Score::location, .path = Path::fused});
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
            R"({"score":"scaled-dot","normalizer":"softmax","alpha":1.5,"expected":0.0,"window":"global","hidden":256,"cosine_scale":1.0,"positions":256,)"
            R"("window_width":10,"length_ratio":1.0,"window_renormalised":false,"dropout":0.0,"path":"automatic"})");
  EXPECT_EQ(name_of(Score::cosine), "cosine");
  EXPECT_EQ(name_of(Score::location), "location");
  EXPECT_EQ(name_of(Window::local_m), "local-m");
  EXPECT_EQ(name_of(Window::local_p), "local-p");
}

}  // namespace
}  // namespace attend::addressing
