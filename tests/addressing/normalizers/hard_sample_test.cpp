#include "attend/addressing/normalizers/hard_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/addressing/normalizers/hard_max.h"
#include "attend/addressing/normalizers/softmax.h"
#include "attend/base/error.h"
#include "tests/addressing/normalizers/rows.h"
#include "tests/reference/normalizers.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

constexpr std::int64_t draw_seed = 0x5edcba9876543210;

Tensor hard_sample_rows(const Tensor& scores, const std::optional<Tensor>& keep) {
  return weights_by_rows(scores, keep, [](const auto& seen, auto b, auto h, auto i) {
    return reference::hard_sample_row(seen, static_cast<std::uint64_t>(draw_seed), b, h, i);
  });
}

TEST(HardSample, TakesTheKeyThatTheWordsOfItsRowChoose) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16})
    for (const std::int64_t Lk : {1, 2, 9, 65}) {
      const Tensor scores = peaky_scores({2, 3, 40, Lk}).to(type), keep = some_hidden(2, 40, Lk);
      EXPECT_TRUE(hard_sample(scores, {}, {.seed = draw_seed}).weights.to(at::kDouble).equal(hard_sample_rows(scores, {}))) << type << " " << Lk;
      EXPECT_TRUE(hard_sample(scores, keep, {.seed = draw_seed}).weights.to(at::kDouble).equal(hard_sample_rows(scores, keep))) << type << " " << Lk;
    }
}

TEST(HardSample, DrawsEachKeyAsOftenAsItsWeightSays) {
  const Tensor scores = at::tensor({0.0, 1.0, -1.0, 2.0, 0.5}, at::kDouble);
  constexpr std::int64_t rows = 20000;
  const Tensor drawn = hard_sample(scores.expand({1, 1, rows, 5}), {}, {.seed = draw_seed}).weights;
  const std::vector<double> share = reference::numbers(drawn.mean(2)), p = reference::softmax_row(reference::numbers(scores));
  double chi_squared = 0;
  for (std::size_t j = 0; j < 5; ++j) chi_squared += rows * (share[j] - p[j]) * (share[j] - p[j]) / p[j];
  EXPECT_LT(chi_squared, 18.5) << "0.999 of all samples lie below, with four degrees of freedom";
  EXPECT_GT(chi_squared, 0.09) << "0.999 lie above";
}

TEST(HardSample, GivesTheLogProbabilityOfTheDrawAndTheEntropyOfTheRow) {
  const Tensor scores = peaky_scores({2, 3, 4, 6}), keep = some_hidden(2, 4, 6);
  const HardSample drawn = hard_sample(scores, keep, {.seed = draw_seed});
  std::vector<double> log_probability(24, 0), entropy(24, 0);
  weights_by_rows(scores, keep, [&](const std::vector<double>& seen, auto b, auto h, auto i) {
    const double share = reference::row_draw(static_cast<std::uint64_t>(draw_seed), b, h, i).share;
    const auto row = static_cast<std::size_t>((b * 3 + h) * 4 + i);
    log_probability[row] = std::log(reference::softmax_row(seen)[reference::drawn_place(seen, share)]);
    entropy[row] = reference::entropy_of(seen);
    return reference::softmax_row(seen);
  });
  const reference::Tolerance near = reference::tolerance(reference::Type::float64, 6);
  EXPECT_EQ(reference::difference("log_probability", reference::numbers(drawn.log_probability), log_probability, near), "");
  EXPECT_EQ(reference::difference("entropy", reference::numbers(drawn.entropy), entropy, near), "");
  EXPECT_EQ(drawn.entropy.sizes(), at::IntArrayRef({2, 3, 4}));
}

TEST(HardSample, NeitherPaddingNorThreadsNorCuttingChangeADraw) {
  const Tensor scores = peaky_scores({3, 2, 50, 9}), whole = hard_sample(scores, {}, {.seed = draw_seed}).weights;
  const Tensor junk = peaky_scores({3, 2, 50, 4}, 20, 12), wide = at::cat({junk, scores, junk}, 3);
  const Tensor inside = (at::arange(17) >= 4) & (at::arange(17) < 13);
  EXPECT_TRUE(hard_sample(wide, inside, {.seed = draw_seed}).weights.slice(3, 4, 13).equal(whole));
  EXPECT_TRUE(hard_sample(scores.slice(0, 1, 2).slice(1, 1).slice(2, 7, 30), {}, {.seed = draw_seed, .origin = {.batch = 1, .head = 1, .query = 7}})
                  .weights.equal(whole.slice(0, 1, 2).slice(1, 1).slice(2, 7, 30)));
  const int before = at::get_num_threads();
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    EXPECT_TRUE(hard_sample(scores, {}, {.seed = draw_seed}).weights.equal(whole)) << threads;
  }
  at::set_num_threads(before);
  EXPECT_FALSE(hard_sample(scores, {}, {.seed = draw_seed + 1}).weights.equal(whole));
}

TEST(HardSample, WithoutASeedItTakesTheMode) {
  const Tensor scores = peaky_scores({2, 3, 4, 9}).round(), keep = some_hidden(2, 4, 9);
  const HardSample mode = hard_sample(scores, keep, {});
  EXPECT_TRUE(mode.weights.equal(hard_max(scores, keep)));
  const Tensor best = masked_softmax(scores, keep).amax(-1).log();
  EXPECT_TRUE(at::allclose(mode.log_probability.masked_fill(best.isinf(), 0), best.masked_fill(best.isinf(), 0)));
}

TEST(HardSample, TakesTheExpectedValueAsOftenAsItIsAsked) {
  const Tensor scores = peaky_scores({1, 1, 4000, 5}).set_requires_grad(true);
  const HardSample drawn = hard_sample(scores, {}, {.seed = draw_seed, .expected = 0.5}), all = hard_sample(scores, {}, {.seed = draw_seed, .expected = 1});
  const Tensor soft = masked_softmax(scores, {});
  EXPECT_TRUE(at::allclose(all.weights, soft, 1e-14, 1e-14));
  EXPECT_TRUE(all.log_probability.equal(at::zeros_like(all.log_probability))) << "nothing was drawn";
  const Tensor expected = drawn.log_probability == 0;
  EXPECT_NEAR(expected.to(at::kDouble).mean().item<double>(), 0.5, 0.03);
  EXPECT_TRUE(drawn.weights.index({expected}).equal(all.weights.index({expected})));
  EXPECT_TRUE(drawn.weights.index({expected.logical_not()}).equal(hard_sample_rows(scores, {}).index({expected.logical_not()}))) << "the others draw as ever";
  for (std::int64_t i = 0; i < 4000; ++i)
    ASSERT_EQ(expected[0][0][i].item<bool>(), reference::row_draw(static_cast<std::uint64_t>(draw_seed), 0, 0, i).word < 2147483648u) << i;
}

TEST(HardSample, GradientsFlowThroughProbabilitiesAndNotThroughTheDraw) {
  const Tensor scores = peaky_scores({2, 2, 3, 5}, 1.0).set_requires_grad(true), keep = some_hidden(2, 3, 5);
  EXPECT_FALSE(hard_sample(scores, keep, {.seed = draw_seed}).weights.requires_grad());
  const auto rows = [&](const Tensor& s) {
    const HardSample drawn = hard_sample(s, keep, {.seed = draw_seed});
    return at::stack({drawn.log_probability, drawn.entropy, drawn.log_probability * drawn.entropy, drawn.entropy, drawn.log_probability}, -1);
  };
  EXPECT_EQ(derivative_difference(rows, scores), "");
  const auto soft = [&](const Tensor& s) { return hard_sample(s, keep, {.seed = draw_seed, .expected = 1}).weights; };
  EXPECT_EQ(derivative_difference(soft, scores), "");
  const Tensor gradient = torch::autograd::grad({rows(scores).sum()}, {scores})[0];
  EXPECT_TRUE(gradient.select(2, 1).equal(at::zeros({2, 2, 5}, at::kDouble))) << "of a row without a visible key";
}

TEST(HardSample, EmptyRowsAndNaNAreThoseOfTheOtherNormalisers) {
  Tensor scores = peaky_scores({1, 1, 3, 4});
  scores[0][0][1].fill_(-std::numeric_limits<double>::infinity());
  scores[0][0][2][3] = std::numeric_limits<double>::quiet_NaN();
  for (const std::optional<std::int64_t> seed : {std::optional<std::int64_t>(draw_seed), std::optional<std::int64_t>()}) {
    const HardSample drawn = hard_sample(scores, {}, {.seed = seed});
    EXPECT_EQ(drawn.weights[0][0][0].sum().item<double>(), 1);
    EXPECT_TRUE(drawn.weights[0][0][1].equal(at::zeros({4}, at::kDouble)));
    EXPECT_EQ(drawn.log_probability[0][0][1].item<double>(), 0);
    EXPECT_EQ(drawn.entropy[0][0][1].item<double>(), 0);
    EXPECT_TRUE(drawn.weights[0][0][2].isnan().all().item<bool>());
    EXPECT_TRUE(std::isnan(drawn.log_probability[0][0][2].item<double>()));
    EXPECT_TRUE(std::isnan(drawn.entropy[0][0][2].item<double>()));
  }
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {1, 1, 0, 3}, {1, 2, 3, 0}}) {
    const HardSample drawn = hard_sample(at::zeros(sizes), {}, {.seed = draw_seed});
    EXPECT_EQ(drawn.weights.sizes(), at::IntArrayRef(sizes));
    EXPECT_EQ(drawn.log_probability.sizes(), at::IntArrayRef(sizes).slice(0, 3));
    EXPECT_EQ(drawn.entropy.sizes(), at::IntArrayRef(sizes).slice(0, 3));
  }
}

TEST(HardSample, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::hard_sample: " + message)); };
  const auto with = [](const HardSampleOptions& options) { return [options] { hard_sample(at::zeros({1, 1, 1, 2}), {}, options); }; };
  EXPECT_THAT(with({.seed = 1, .expected = 1.5}), refuses("expected a probability from 0 to 1 in `expected`, got 1.5"));
  EXPECT_THAT(with({.seed = 1, .expected = std::nan("")}), refuses("expected a probability from 0 to 1 in `expected`, got nan"));
  EXPECT_THAT(with({.expected = 0.5}), refuses("expected a seed where `expected` is 0.5, got none; without one nothing is drawn"));
  EXPECT_THAT([] { hard_sample(at::zeros({2, 3}), {}, {}); }, refuses("expected scores [B, H, Lq, Lk], got [2, 3]"));
}

}  // namespace
}  // namespace attend::addressing
