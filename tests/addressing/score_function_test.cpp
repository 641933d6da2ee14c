#include "attend/addressing/score_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "attend/addressing/normalizers/hard_sample.h"
#include "attend/base/error.h"
#include "tests/addressing/normalizers/rows.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

// Two queries, each of which draws one of three keys; then what was drawn is paid by a reward that the parameters of the reader (here `values`)
// act on as well: L(draws) = −Σ_t R_t / 2, and what is minimised is its expectation.
struct TinyProblem {
  Tensor scores = peaky_scores({1, 1, 2, 3}, 1.0, 21).set_requires_grad(true), values = peaky_scores({2, 3}, 1.0, 22).set_requires_grad(true);

  // R of query t for key k: a log-likelihood.
  Tensor reward(std::int64_t t, std::int64_t k) const { return at::log_sigmoid(values[t][k] * 2); }

  // Σ over all nine pairs of draws of p(pair) · L(pair).
  Tensor expected_loss() const {
    const Tensor p = scores.softmax(-1)[0][0];  // [Lq, Lk]
    Tensor sum = at::zeros({}, at::kDouble);
    for (std::int64_t first = 0; first < 3; ++first)
      for (std::int64_t second = 0; second < 3; ++second)
        sum = sum - p[0][first] * p[1][second] * (reward(0, first) + reward(1, second)) / 2;
    return sum;
  }

  // The gradient of what is minimised when one pair was drawn: [scores, values].
  std::vector<Tensor> one_draw(std::int64_t first, std::int64_t second, double baseline) const {
    const Tensor log_p = scores.log_softmax(-1)[0][0];
    const Tensor log_probability = at::stack({log_p[0][first], log_p[1][second]}).view({1, 1, 2}), entropy = at::zeros({1, 1, 2}, at::kDouble);
    const Tensor rewards = at::stack({reward(0, first), reward(1, second)}).view({1, 2});
    const ScoreFunctionTerms terms =
        score_function_terms(log_probability, entropy, rewards, at::ones({1, 2}, at::kBool), at::scalar_tensor(baseline, at::kDouble));
    return torch::autograd::grad({terms.score_function - rewards.mean()}, {scores, values});
  }

  struct Moments {
    std::vector<Tensor> mean;
    double variance = 0;  // of the scores' gradient, summed over its elements
  };
  Moments over_all_draws(double baseline) const {
    const Tensor p = scores.detach().softmax(-1)[0][0];
    Moments moments{{at::zeros_like(scores), at::zeros_like(values)}};
    Tensor squares = at::zeros_like(scores);
    for (std::int64_t first = 0; first < 3; ++first)
      for (std::int64_t second = 0; second < 3; ++second) {
        const Tensor share = p[0][first] * p[1][second];
        const std::vector<Tensor> gradient = one_draw(first, second, baseline);
        for (std::size_t n = 0; n < 2; ++n) moments.mean[n] = moments.mean[n] + share * gradient[n];
        squares = squares + share * gradient[0].square();
      }
    moments.variance = (squares - moments.mean[0].square()).sum().item<double>();
    return moments;
  }
};

TEST(ScoreFunction, ItsMeanOverAllDrawsIsTheTrueGradient) {
  const TinyProblem problem;
  const std::vector<Tensor> wanted = torch::autograd::grad({problem.expected_loss()}, {problem.scores, problem.values});
  EXPECT_GT(wanted[0].abs().max().item<double>(), 0.01);
  for (const double baseline : {0.0, -0.7, -2.0, 5.0}) {
    const TinyProblem::Moments moments = problem.over_all_draws(baseline);
    for (std::size_t n = 0; n < 2; ++n)
      EXPECT_EQ(reference::difference("gradient", reference::numbers(moments.mean[n]), reference::numbers(wanted[n]),
                                      reference::gradient_tolerance(reference::Type::float64, 3)),
                "")
          << (n == 0 ? "scores" : "values") << ", baseline " << baseline;
  }
}

TEST(ScoreFunction, ABaselineChangesTheVarianceAndNotTheMean) {
  const TinyProblem problem;
  const Tensor p = problem.scores.detach().softmax(-1)[0][0];
  double mean_reward = 0;
  for (std::int64_t t = 0; t < 2; ++t)
    for (std::int64_t k = 0; k < 3; ++k) mean_reward += (p[t][k] * problem.reward(t, k)).item<double>() / 2;
  const double without = problem.over_all_draws(0).variance, with = problem.over_all_draws(mean_reward).variance;
  EXPECT_LT(with, 0.8 * without);
  EXPECT_GT(problem.over_all_draws(5).variance, without) << "a bad baseline makes it worse";
}

TEST(ScoreFunction, DrawsThroughReadHaveTheTrueGradientInTheMean) {
  // the whole chain: read() draws, its log_probability goes into the terms, gradients come back to the query
  const Tensor query = peaky_scores({1, 1, 1, 2}, 1.0, 31).set_requires_grad(true), key = peaky_scores({1, 1, 3, 2}, 1.0, 32),
               value = peaky_scores({1, 1, 3, 2}, 1.0, 33), target = at::tensor({0.3, -0.8}, at::kDouble);
  const auto score = [](const Tensor& q, const Tensor& k) { return at::matmul(q, k.transpose(2, 3)); };
  const auto paid = [&](const Tensor& context) { return -(context.flatten() - target).square().sum(); };
  Tensor expected = at::zeros({}, at::kDouble);
  const Tensor p = score(query, key).softmax(-1).flatten();
  for (std::int64_t k = 0; k < 3; ++k) expected = expected - p[k] * paid(value.select(2, k));
  const Tensor wanted = torch::autograd::grad({expected}, {query})[0];
  Tensor sum = at::zeros_like(query), share = at::zeros({3}, at::kDouble);
  const Tensor weight = p.detach();
  std::vector<bool> seen(3, false);
  for (std::uint64_t state = 0; !(seen[0] && seen[1] && seen[2]); ++state) {
    ASSERT_LT(state, 1000u) << "some key is never drawn";
    ReadOptions options{.normalizer = Normalizer::hard_sample, .generator = at::detail::createCPUGenerator(state), .return_weights = true};
    const AttentionResult result = read("mine", query, key, value, score, {}, options);
    EXPECT_FALSE(result.context.requires_grad()) << "nothing flows through the sampled place";
    const auto drawn = static_cast<std::size_t>(result.weights.argmax().item<std::int64_t>());
    if (seen[drawn]) continue;
    seen[drawn] = true;
    const Tensor reward = paid(result.context).view({1, 1});
    const Tensor counted = at::ones({1, 1}, at::kBool), baseline = at::scalar_tensor(-0.4, at::kDouble);
    const ScoreFunctionTerms terms = score_function_terms(result.log_probability, result.entropy, reward, counted, baseline);
    sum = sum + weight[static_cast<std::int64_t>(drawn)] * torch::autograd::grad({terms.score_function}, {query})[0];
  }
  EXPECT_EQ(reference::difference("gradient of query", reference::numbers(sum), reference::numbers(wanted),
                                  reference::gradient_tolerance(reference::Type::float64, 3)), "");
}

TEST(ScoreFunction, TermsAreMeansOverCountedQueriesAndSumsOverHeads) {
  const Tensor log_probability = at::tensor({-1.0, -2.0, -3.0, -0.5, -0.25, HUGE_VAL}, at::kDouble).view({1, 2, 3});
  const Tensor entropy = at::tensor({0.1, 0.2, HUGE_VAL, 0.4, 0.5, 0.6}, at::kDouble).view({1, 2, 3});
  const Tensor reward = at::tensor({-1.0, 4.0, std::nan("")}, at::kDouble).view({1, 3}), counted = (at::arange(3) < 2).view({1, 3});
  const ScoreFunctionTerms terms = score_function_terms(log_probability, entropy, reward, counted, at::scalar_tensor(1.0, at::kDouble));
  EXPECT_NEAR(terms.score_function.item<double>(), -(-2.0 * (-1.0 - 0.5) + 3.0 * (-2.0 - 0.25)) / 2, 1e-12);
  EXPECT_NEAR(terms.entropy.item<double>(), -(0.1 + 0.2 + 0.4 + 0.5) / 2, 1e-12);
  const ScoreFunctionTerms none =
      score_function_terms(log_probability, entropy, reward, at::zeros({1, 3}, at::kBool), at::scalar_tensor(1.0, at::kDouble));
  EXPECT_EQ(none.score_function.item<double>(), 0) << "nothing counted";
}

TEST(ScoreFunction, NoGradientFlowsThroughRewardAndBaseline) {
  const Tensor log_probability = peaky_scores({1, 1, 2}).set_requires_grad(true), reward = peaky_scores({1, 2}).set_requires_grad(true),
               baseline = at::zeros({}, at::kDouble).set_requires_grad(true);
  const ScoreFunctionTerms terms = score_function_terms(log_probability, log_probability, reward, at::ones({1, 2}, at::kBool), baseline);
  const Tensor sum = terms.score_function + terms.entropy;
  const auto gradients = torch::autograd::grad({sum}, {log_probability, reward, baseline}, {}, {}, false, /*allow_unused=*/true);
  EXPECT_TRUE(gradients[0].defined());
  EXPECT_FALSE(gradients[1].defined());
  EXPECT_FALSE(gradients[2].defined());
}

TEST(ScoreFunctionLoss, ItsBaselineFollowsTheMeanRewardWhileTraining) {
  ScoreFunctionLoss loss;
  loss->to(at::kDouble);
  const Tensor row = at::zeros({1, 1, 3}, at::kDouble), reward = at::tensor({-2.0, -4.0, 100.0}, at::kDouble).view({1, 3}),
               counted = (at::arange(3) < 2).view({1, 3});
  EXPECT_EQ(loss->baseline().item<double>(), 0);
  loss(row, row, reward, counted);
  EXPECT_NEAR(loss->baseline().item<double>(), 0.1 * -3, 1e-12);
  loss(row, row, reward, counted);
  EXPECT_NEAR(loss->baseline().item<double>(), 0.9 * 0.1 * -3 + 0.1 * -3, 1e-12);
  const double before = loss->baseline().item<double>();
  loss(row, row, reward, at::zeros_like(counted));
  EXPECT_EQ(loss->baseline().item<double>(), before) << "nothing counted";
  loss->eval();
  loss(row, row, reward, counted);
  EXPECT_EQ(loss->baseline().item<double>(), before) << "only while training";
  ScoreFunctionLoss without(ScoreFunctionOptions{.baseline = false});
  without(row, row, reward, counted);
  EXPECT_EQ(without->baseline().item<double>(), 0);
}

TEST(ScoreFunctionLoss, UsesTheBaselineAsItWasBeforeTheDraw) {
  ScoreFunctionLoss loss;
  loss->to(at::kDouble);
  const Tensor log_probability = at::full({1, 1, 1}, -0.5, at::kDouble), reward = at::full({1, 1}, -2.0, at::kDouble),
               counted = at::ones({1, 1}, at::kBool);
  EXPECT_NEAR(loss(log_probability, log_probability, reward, counted).score_function.item<double>(), -(-2.0 - 0) * -0.5, 1e-12);
  EXPECT_NEAR(loss(log_probability, log_probability, reward, counted).score_function.item<double>(), -(-2.0 + 0.2) * -0.5, 1e-12);
}

TEST(ScoreFunctionLoss, ItsBaselineIsABufferAndItPrintsWhatItIs) {
  ScoreFunctionLoss loss(ScoreFunctionOptions{.entropy = 0.25});
  EXPECT_EQ(loss->parameters().size(), 0u);
  EXPECT_EQ(loss->named_buffers().keys(), std::vector<std::string>{"baseline"});
  std::ostringstream text;
  text << loss;
  EXPECT_EQ(text.str(), "attend::addressing::ScoreFunctionLoss(baseline=true, decay=0.9, weight=1, entropy=0.25)");
}

TEST(ScoreFunctionLoss, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::ScoreFunctionLoss: " + message));
  };
  const auto making = [](const ScoreFunctionOptions& options) { return [options] { ScoreFunctionLoss{options}; }; };
  EXPECT_THAT(making({.decay = 1}), refuses("expected decay from 0 to below 1, got 1"));
  EXPECT_THAT(making({.decay = std::nan("")}), refuses("expected decay from 0 to below 1, got nan"));
  EXPECT_THAT(making({.weight = -1}), refuses("expected weight ≥ 0, got -1"));
  EXPECT_THAT(making({.entropy = HUGE_VAL}), refuses("expected entropy ≥ 0, got inf"));
  const auto terms = [](const Tensor& reward, const Tensor& counted) {
    return [=] { score_function_terms(at::zeros({2, 1, 3}), at::zeros({2, 1, 3}), reward, counted, at::zeros({})); };
  };
  constexpr auto where = "attend::addressing::score_function_terms: ";
  EXPECT_THAT(terms(at::zeros({2, 4}), at::ones({2, 3}, at::kBool)),
              ThrowsMessage<InvalidArgument>(StrEq(std::string(where) + "expected reward [B, Lq] with B = 2, Lq = 3, got [2, 4]")));
  EXPECT_THAT(terms(at::zeros({2, 3}), at::ones({3}, at::kBool)),
              ThrowsMessage<InvalidArgument>(StrEq(std::string(where) + "expected counted [B, Lq] with B = 2, Lq = 3, got [3]")));
}

}  // namespace
}  // namespace attend::addressing
