#include "attend/addressing/read.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "attend/addressing/normalizers/hard_sample.h"
#include "attend/addressing/scores/dot.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

constexpr double read_nan = std::numeric_limits<double>::quiet_NaN();

// A read whose scores are given: one query, values 1, 10, 100.
struct GivenScores {
  std::vector<double> scores;

  AttentionResult read_with(const Mask& mask, ReadOptions options) const {
    options.return_weights = true;
    const Tensor query = at::zeros({1, 1, 1, 1}, at::kDouble), key = at::zeros({1, 1, 3, 1}, at::kDouble);
    const Tensor value = at::tensor({1.0, 10.0, 100.0}, at::kDouble).view({1, 1, 3, 1});
    const auto score = [this](const Tensor&, const Tensor&) { return reference::tensor_of(scores, {1, 1, 1, 3}, at::kDouble); };
    return read("mine", query, key, value, score, mask, options);
  }
};

void expect_weights(const AttentionResult& result, std::vector<double> shares) {
  const double sum = shares[0] + shares[1] + shares[2];
  for (double& share : shares) share /= sum;
  const reference::Tolerance near = reference::tolerance(reference::Type::float64, 3);
  EXPECT_EQ(reference::difference("weights", reference::numbers(result.weights), shares, near), "");
  EXPECT_EQ(reference::difference("context", reference::numbers(result.context), {shares[0] + 10 * shares[1] + 100 * shares[2]}, near), "");
}

TEST(Read, WeighsValuesBySoftmaxedScores) { expect_weights(GivenScores{{0, std::log(2.0), std::log(5.0)}}.read_with({}, {}), {1, 2, 5}); }

TEST(Read, CapsScoresBeforeTheBiasAndMasksAfterIt) {
  const Tensor bias = at::tensor({3.0, 0.0, 0.0}, at::kDouble).view({1, 1, 1, 3});
  const auto capped = [](double score) { return 2 * std::tanh(score / 2); };
  expect_weights(GivenScores{{1, 5, -4}}.read_with(Mask::bias(bias), {.soft_cap = 2}),
                 {std::exp(capped(1) + 3), std::exp(capped(5)), std::exp(capped(-4))});
  expect_weights(GivenScores{{1, 5, -4}}.read_with(Mask::bias(bias) & Mask::lengths(at::tensor({2}, at::kLong)), {.soft_cap = 2}),
                 {std::exp(capped(1) + 3), std::exp(capped(5)), 0});
}

TEST(Read, DropsWeightsAfterTheSoftmaxAndReturnsThemAsTheyWereBefore) {
  const GivenScores given{{0, std::log(2.0), std::log(5.0)}};
  int dropped = 0;
  for (std::uint64_t state = 0; state < 8; ++state) {
    at::Generator generator = at::detail::createCPUGenerator(state), same = at::detail::createCPUGenerator(state);
    const AttentionResult result = given.read_with({}, {.dropout = 0.5, .generator = generator});
    const Tensor multipliers = dropout_multipliers({1, 1, 1, 3}, 0.5, draw_dropout_seed(same), result.weights);
    dropped += (multipliers == 0).sum().item<int>();
    EXPECT_TRUE(result.weights.equal(given.read_with({}, {}).weights));
    EXPECT_NEAR(result.context.item<double>(),
                (result.weights * multipliers).flatten().dot(at::tensor({1.0, 10.0, 100.0}, at::kDouble)).item<double>(), 1e-12);
  }
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, 24);
}

TEST(Read, DrawsFromItsGeneratorOnlyToDrop) {
  at::Generator generator = at::detail::createCPUGenerator(3);
  const Tensor before = generator.get_state();
  GivenScores{{0, 1, 2}}.read_with({}, {.generator = generator});
  EXPECT_TRUE(generator.get_state().equal(before));
  GivenScores{{0, 1, 2}}.read_with({}, {.dropout = 0.5, .generator = generator});
  EXPECT_FALSE(generator.get_state().equal(before));
}

TEST(Read, AnOriginDropsWhatTheWholeWouldHaveDropped) {
  const Tensor query = at::randn({2, 2, 6, 4}, at::kDouble), key = at::randn({2, 2, 5, 4}, at::kDouble),
               value = at::randn({2, 2, 5, 3}, at::kDouble);
  const auto part = [&](std::int64_t first, std::int64_t last) {
    ReadOptions options{.dropout = 0.5, .generator = at::detail::createCPUGenerator(8), .dropout_origin = {.query = first}};
    return read(
               "mine", query.slice(2, first, last), key, value, [](const Tensor& q, const Tensor& k) { return dot_score(q, k); }, {},
               options)
        .context;
  };
  EXPECT_TRUE(at::allclose(at::cat({part(0, 2), part(2, 6)}, 2), part(0, 6), 1e-13, 1e-13));
}

TEST(Read, TheScoreGetsFiniteInputs) {
  Tensor query = at::ones({1, 1, 2, 2}, at::kDouble), key = at::ones({1, 1, 3, 2}, at::kDouble),
         value = at::ones({1, 1, 3, 2}, at::kDouble);
  key[0][0][2][0] = read_nan;
  value[0][0][2][1] = HUGE_VAL;
  query[0][0][1][0] = -HUGE_VAL;
  bool called = false;
  const auto score = [&](const Tensor& q, const Tensor& k) {
    called = true;
    EXPECT_TRUE(at::isfinite(q).all().item<bool>());
    EXPECT_TRUE(at::isfinite(k).all().item<bool>());
    return dot_score(q, k);
  };
  const AttentionResult result =
      read("mine", query, key, value, score, Mask::lengths(at::tensor({2}, at::kLong)), {.return_weights = true});
  EXPECT_TRUE(called);
  EXPECT_TRUE(result.context[0][0][0].equal(at::ones({2}, at::kDouble))) << "what is masked can't be seen";
  EXPECT_TRUE(at::isnan(result.context[0][0][1]).all().item<bool>()) << "the query itself is not finite";
}

TEST(Read, ARowWithNothingToReadIsZero) {
  const AttentionResult result = GivenScores{{0, 1, 2}}.read_with(Mask::lengths(at::tensor({0}, at::kLong)), {});
  EXPECT_EQ(result.context.item<double>(), 0);
  EXPECT_TRUE(result.weights.equal(at::zeros({1, 1, 1, 3}, at::kDouble)));
}

TEST(Read, HalfTypesAreScoredInFloat32) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const Tensor x = at::randn({1, 1, 3, 4}).to(type);
    const auto score = [](const Tensor& q, const Tensor& k) {
      EXPECT_EQ(q.scalar_type(), at::kFloat);
      return dot_score(q, k);
    };
    const AttentionResult result = read("mine", x, x, x, score, {}, {.return_weights = true});
    EXPECT_EQ(result.context.scalar_type(), type);
    EXPECT_EQ(result.weights.scalar_type(), type);
  }
}

// A window that says the same of each query.
WindowFunction given_window(const std::vector<double>& keep, const std::vector<double>& factors) {
  return [=](const Tensor& query) {
    WindowTensors window{reference::tensor_of(keep, {1, 1, 1, 3}, at::kBool), {}};
    if (!factors.empty()) window.factors = reference::tensor_of(factors, {1, 1, 1, 3}, query.scalar_type());
    return window;
  };
}

TEST(Read, AWindowHidesKeysBeforeTheSoftmaxAndWeighsTheOthersAfterIt) {
  const GivenScores given{{0, std::log(2.0), std::log(5.0)}};
  const reference::Tolerance near = reference::tolerance(reference::Type::float64, 3);
  expect_weights(given.read_with({}, {.window = given_window({1, 1, 0}, {})}), {1, 2, 0});
  const AttentionResult result = given.read_with({}, {.window = given_window({1, 1, 0}, {0.5, 0.25, 1})});
  EXPECT_EQ(reference::difference("weights", reference::numbers(result.weights), {0.5 / 3, 0.5 / 3, 0}, near), "");
  EXPECT_EQ(reference::difference("context", reference::numbers(result.context), {5.5 / 3}, near), "");
  expect_weights(given.read_with({}, {.window = given_window({1, 1, 0}, {0.5, 0.75, 1}), .renormalised = true}), {0.5, 1.5, 0});
  expect_weights(given.read_with(Mask::lengths(at::tensor({1}, at::kLong)), {.window = given_window({1, 1, 0}, {})}), {1, 0, 0});
  const AttentionResult nothing = given.read_with(Mask::lengths(at::tensor({1}, at::kLong)),
                                                  {.window = given_window({0, 1, 1}, {1, 1, 1}), .renormalised = true});
  EXPECT_TRUE(nothing.weights.equal(at::zeros({1, 1, 1, 3}, at::kDouble)));
  EXPECT_EQ(nothing.context.item<double>(), 0);
}

TEST(Read, FactorsComeBeforeDropout) {
  const GivenScores given{{0, std::log(2.0), std::log(5.0)}};
  const auto dropping = [](const WindowFunction& window) {
    return ReadOptions{.window = window, .dropout = 0.5, .generator = at::detail::createCPUGenerator(3)};
  };
  const AttentionResult plain = given.read_with({}, {.window = given_window({1, 1, 1}, {0.5, 0.5, 0.5})}),
                        dropped = given.read_with({}, dropping(given_window({1, 1, 1}, {0.5, 0.5, 0.5}))),
                        without = given.read_with({}, dropping({}));
  EXPECT_TRUE(dropped.weights.equal(plain.weights)) << "returned before dropout, with the factors";
  EXPECT_NE(without.context.item<double>(), given.read_with({}, {}).context.item<double>()) << "this seed drops something";
  EXPECT_NEAR(dropped.context.item<double>(), without.context.item<double>() / 2, 1e-12);
}

TEST(Read, AWindowGetsFiniteQueriesAndWhatLiesOutsideIsNotSeen) {
  Tensor query = at::ones({1, 1, 2, 2}, at::kDouble), key = at::ones({1, 1, 3, 2}, at::kDouble), value = key.clone();
  query[0][0][1][0] = read_nan;
  key[0][0][2][1] = read_nan;
  value[0][0][2][0] = HUGE_VAL;
  query.set_requires_grad(true), key.set_requires_grad(true), value.set_requires_grad(true);
  int calls = 0;
  ReadOptions options{.return_weights = true};
  options.window = [&](const Tensor& q) -> WindowTensors {
    ++calls;
    EXPECT_TRUE(q.detach()[0][0][0].equal(at::ones({2}, at::kDouble)));
    EXPECT_TRUE(q.detach()[0][0][1].equal(at::zeros({2}, at::kDouble)));
    return {(at::arange(3, at::kLong) < 2).view({1, 1, 1, 3}), at::arange(1, 4, q.options()).view({1, 1, 1, 3}) * q.sum(-1, true)};
  };
  const auto score = [](const Tensor& q, const Tensor& k) { return dot_score(q, k); };
  const AttentionResult result = read("mine", query, key, value, score, {}, options);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(result.weights.detach()[0][0][0].equal(at::tensor({1.0, 2.0, 0.0}, at::kDouble)));
  EXPECT_TRUE(result.context.detach()[0][0][0].equal(at::tensor({3.0, 3.0}, at::kDouble))) << "neither NaN nor infinity is in the window";
  EXPECT_TRUE(result.context.detach()[0][0][1].isnan().all().item<bool>()) << "the query itself is not finite";
  for (const Tensor& gradient : torch::autograd::grad({result.context[0][0][0].sum()}, {query, key, value}))
    EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
}

TEST(Read, RefusesAWindowThatDoesntFit) {
  const auto reading = [](const WindowTensors& window) {
    return [window] { GivenScores{{0, 1, 2}}.read_with({}, {.window = [window](const Tensor&) { return window; }}); };
  };
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq(message)); };
  EXPECT_THAT(reading({at::ones({1, 1, 1, 4}, at::kBool), {}}),
              refuses("mine: expected a boolean mask that broadcasts to [B, H, Lq, Lk] = [1, 1, 1, 3], got [1, 1, 1, 4]"));
  EXPECT_THAT(reading({at::ones({1, 1, 1, 3}), {}}),
              refuses("attend::Mask::keep: expected a boolean tensor (true = may be attended to), got Float [1, 1, 1, 3]"));
  EXPECT_THAT(reading({{}, at::ones({1, 3}, at::kDouble)}),
              refuses("mine: expected factors of the window that broadcast to [B, H, Lq, Lk] = [1, 1, 1, 3], got [1, 3]"));
  EXPECT_THAT(reading({{}, at::ones({1, 1, 2, 3}, at::kDouble)}),
              refuses("mine: expected factors of the window that broadcast to [B, H, Lq, Lk] = [1, 1, 1, 3], got [1, 1, 2, 3]"));
  EXPECT_THAT(reading({{}, at::ones({1, 1, 1, 3})}), refuses("mine: expected factors of the window of the type of query (Double), got Float"));
}

TEST(Read, RefusesOptionsOutOfRange) {
  const auto reading = [](const ReadOptions& options) { return [options] { GivenScores{{0, 1, 2}}.read_with({}, options); }; };
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("mine: " + message)); };
  EXPECT_THAT(reading({.dropout = 1.5}), refuses("expected dropout from 0 to 1, got 1.5"));
  EXPECT_THAT(reading({.dropout = read_nan}), refuses("expected dropout from 0 to 1, got nan"));
  EXPECT_THAT(reading({.normalizer = Normalizer::entmax, .alpha = 1}),
              refuses("expected alpha above 1, got 1; what alpha = 1 stands for is normalizer \"softmax\""));
  EXPECT_THAT(reading({.expected = -0.5}), refuses("expected a probability from 0 to 1 in `expected`, got -0.5"));
  EXPECT_THAT(reading({.soft_cap = -1}), refuses("expected soft_cap ≥ 0, got -1"));
  EXPECT_THAT(reading({.soft_cap = HUGE_VAL}), refuses("expected soft_cap ≥ 0, got inf"));
  EXPECT_THAT(
      reading({.path = Path::fused}),
      ThrowsMessage<NotSupported>(StrEq("mine: path \"fused\" is impossible: no fused kernel of this mechanism exists in this version; "
                                        "use \"automatic\" or \"composed\"")));
}

TEST(Read, WeighsByTheNormaliserThatIsNamed) {
  const auto weights = [](Normalizer normalizer, double alpha = 1.5) {
    ReadOptions options{.normalizer = normalizer, .alpha = alpha, .generator = at::detail::createCPUGenerator(1)};
    return GivenScores{{0.5, 0.3, -0.4}}.read_with({}, options);
  };
  expect_weights(weights(Normalizer::sparsemax), {0.6, 0.4, 0});
  expect_weights(weights(Normalizer::entmax, 2), {0.6, 0.4, 0});
  EXPECT_TRUE(at::allclose(weights(Normalizer::entmax15).weights, weights(Normalizer::entmax).weights, 1e-13, 1e-13));
  expect_weights(weights(Normalizer::uniform), {1, 1, 1});
  expect_weights(weights(Normalizer::hard_max), {1, 0, 0});
  const AttentionResult drawn = weights(Normalizer::hard_sample);
  EXPECT_EQ(drawn.weights.sum().item<double>(), 1);
  EXPECT_EQ(drawn.weights.max().item<double>(), 1);
}

TEST(Read, AUniformReadAsksForNoScore) {
  const Tensor query = at::zeros({1, 1, 2, 3}), key = at::zeros({1, 1, 4, 3});
  const auto score = [](const Tensor&, const Tensor&) -> Tensor { throw std::runtime_error("was asked"); };
  EXPECT_NO_THROW(read("mine", query, key, key, score, {}, {.normalizer = Normalizer::uniform}));
  EXPECT_THROW(read("mine", query, key, key, score, {}, {}), std::runtime_error);
}

TEST(Read, ADrawTakesOneSeedBeforeThatOfDropoutAndTheModeTakesNone) {
  const GivenScores given{{0.5, 0.3, -0.4}};
  const auto state_after = [&](ReadOptions options) {
    options.generator = at::detail::createCPUGenerator(3);
    options.normalizer = Normalizer::hard_sample;
    given.read_with({}, options);
    return options.generator->get_state();
  };
  at::Generator generator = at::detail::createCPUGenerator(3);
  EXPECT_TRUE(state_after({.draw = Draw::mode}).equal(generator.get_state()));
  const std::int64_t seed = draw_dropout_seed(generator);
  EXPECT_TRUE(state_after({}).equal(generator.get_state()));
  draw_dropout_seed(generator);
  EXPECT_TRUE(state_after({.dropout = 0.5}).equal(generator.get_state()));
  const Tensor scores = reference::tensor_of(given.scores, {1, 1, 1, 3}, at::kDouble);
  const AttentionResult result = given.read_with({}, {.normalizer = Normalizer::hard_sample, .generator = at::detail::createCPUGenerator(3)});
  const HardSample wanted = hard_sample(scores, {}, {.seed = seed});
  EXPECT_TRUE(result.weights.equal(wanted.weights));
  EXPECT_TRUE(result.log_probability.equal(wanted.log_probability));
  EXPECT_TRUE(result.entropy.equal(wanted.entropy));
}

TEST(Read, ARowThatIsNaNHasNoLogProbabilityAndOtherRowsKeepTheirs) {
  Tensor query = at::ones({1, 1, 2, 2}, at::kDouble), key = at::ones({1, 1, 3, 2}, at::kDouble);
  query[0][0][1][0] = read_nan;
  const auto score = [](const Tensor& q, const Tensor& k) { return dot_score(q, k); };
  const AttentionResult result = read("mine", query, key, key, score, {}, {.normalizer = Normalizer::hard_sample});
  EXPECT_NEAR(result.log_probability[0][0][0].item<double>(), -std::log(3.0), 1e-12);
  EXPECT_NEAR(result.entropy[0][0][0].item<double>(), std::log(3.0), 1e-12);
  EXPECT_TRUE(std::isnan(result.log_probability[0][0][1].item<double>()));
  EXPECT_TRUE(std::isnan(result.entropy[0][0][1].item<double>()));
}

TEST(Explain, SaysWhichPathRunsAndWhy) {
  EXPECT_EQ(explain({}), "composed: no fused kernel of this mechanism exists in this version");
  EXPECT_EQ(explain({.path = Path::composed}), "composed: it was asked for");
  EXPECT_EQ(explain({.path = Path::fused}), "refused: no fused kernel of this mechanism exists in this version");
  EXPECT_EQ(explain({}, ScoreForm::dot), "fused: on the CPU, for at least 8 queries and 48 keys, and for steps of decoding, without gradients and weights, of at most 8 queries that share keys");
  EXPECT_EQ(explain({.path = Path::fused}, ScoreForm::dot), "fused: it was asked for");
  EXPECT_EQ(explain({.normalizer = Normalizer::sparsemax}, ScoreForm::dot), "composed: no fused kernel of this normalizer exists in this version");
  EXPECT_EQ(explain({.normalizer = Normalizer::sparsemax, .path = Path::fused}, ScoreForm::dot), "refused: no fused kernel of this normalizer exists in this version");
  EXPECT_EQ(explain({.dropout = 0.5}, ScoreForm::additive), "fused: on the CPU");
  EXPECT_EQ(explain({.path = Path::fused}, ScoreForm::additive), "fused: it was asked for");
  EXPECT_EQ(explain({.normalizer = Normalizer::entmax}, ScoreForm::additive), "fused: on the CPU; the score alone, this normalizer is composed");
  EXPECT_EQ(explain({.normalizer = Normalizer::uniform}, ScoreForm::additive), "composed: a uniform read has no score to fuse");
}

}  // namespace
}  // namespace attend::addressing
