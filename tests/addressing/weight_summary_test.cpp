#include "attend/addressing/weight_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/addressing/windows/local_m.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"

namespace attend::addressing {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto summary_name = "f";

struct SummaryProblem {
  Tensor query, key, value;
  Mask mask;
  ReadOptions options;
};

// Four heads on two; 9 queries of 33 keys; with a window each query reads 13 keys.
SummaryProblem summary_problem(bool windowed) {
  at::manual_seed(1);
  SummaryProblem problem{at::randn({2, 4, 9, 6}, at::kDouble), at::randn({2, 2, 33, 6}, at::kDouble), at::randn({2, 2, 33, 3}, at::kDouble), {}, {}};
  problem.mask = Mask::causal() & Mask::lengths(at::tensor({33, 20}, at::kLong)) & Mask::bias(at::randn({1, 4, 9, 33}, at::kDouble)) &
                 Mask::keep(at::rand({2, 1, 1, 33}) > 0.2);
  if (windowed) problem.options.window = [](const Tensor& query) { return local_m_window(query.size(2), 33, {6, 3.0, 0}, query); };
  return problem;
}

Tensor all_weights(const SummaryProblem& problem, const DotForm& score) {
  ReadOptions options = problem.options;
  options.return_weights = true;
  return read(summary_name, problem.query, problem.key, problem.value, score, problem.mask, options).weights;
}

TEST(ChosenWeights, AreThoseOfTheWholeCall) {
  for (const bool windowed : {false, true}) {
    const SummaryProblem problem = summary_problem(windowed);
    const Tensor all = all_weights(problem, {1.5});
    const WeightSelection selection{{3, 0}, {8, 2, 5}};
    const Tensor got = chosen_weights(summary_name, problem.query, problem.key, DotForm{1.5}, selection, problem.mask, problem.options);
    const Tensor wanted = all.index_select(1, at::tensor(selection.heads)).index_select(2, at::tensor(selection.queries));
    EXPECT_EQ(reference::difference("weights", reference::numbers(got), reference::numbers(wanted), reference::tolerance(reference::Type::float64, 33)), "");
    EXPECT_EQ(chosen_weights(summary_name, problem.query, problem.key, DotForm{1.5}, {}, problem.mask, problem.options).sizes(), all.sizes());
  }
}

TEST(WeightSummary, SaysOfAllWeightsWhatTheyAre) {
  for (const bool windowed : {false, true}) {
    const SummaryProblem problem = summary_problem(windowed);
    const Tensor all = all_weights(problem, {1.5}).index_select(1, at::tensor({1, 3}));
    const WeightSummary got = summarise_weights(summary_name, problem.query, problem.key, DotForm{1.5}, problem.mask, problem.options,
                                                {.heads = {1, 3}, .top = 4, .rows = 4, .columns = 5});
    const auto expect = [](const char* name, const Tensor& have, const Tensor& wanted) {
      EXPECT_EQ(reference::difference(name, reference::numbers(have), reference::numbers(wanted), reference::tolerance(reference::Type::float64, 33)), "");
    };
    expect("entropy", got.entropy, -(all * all.clamp_min(1e-300).log()).sum(-1));
    expect("top weights", got.top_weights, std::get<0>(all.topk(4)));
    const Tensor found = all.gather(3, got.top_keys.clamp_min(0)).masked_fill(got.top_keys < 0, 0.0);
    expect("weights of the top keys", found, got.top_weights);
    EXPECT_TRUE(((got.top_keys < 0) == (got.top_weights == 0)).all().item<bool>());
    EXPECT_EQ(got.block_rows, 3);
    EXPECT_EQ(got.block_columns, 7);
    ASSERT_EQ(got.thumbnail.sizes(), at::IntArrayRef({2, 2, 3, 5})) << "of 9 queries and 33 keys";
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t c = 0; c < 5; ++c)
        expect("thumbnail", got.thumbnail.select(3, c).select(2, r),
               all.slice(2, r * 3, (r + 1) * 3).slice(3, c * 7, (c + 1) * 7).mean(at::IntArrayRef({2, 3})));
  }
}

TEST(WeightSummary, TakesLongInputsInParts) {
  at::manual_seed(1);
  const Tensor query = at::randn({1, 1, 3000, 4}), key = at::randn({1, 1, 2500, 4});  // 7.5 million pairs: four parts
  const WeightSummary got = summarise_weights(summary_name, query, key, DotForm{1.0}, Mask::causal());
  for (const std::int64_t i : {499, 500, 1700, 2999}) {
    const Tensor wanted = chosen_weights(summary_name, query, key, DotForm{1.0}, {{}, {i}}, Mask::causal())[0][0][0];
    EXPECT_EQ(got.top_weights[0][0][i][0].item<float>(), wanted.max().item<float>()) << i;
    EXPECT_EQ(got.top_keys[0][0][i][0].item<std::int64_t>(), i < 500 ? -1 : wanted.argmax().item<std::int64_t>()) << i;
  }
  EXPECT_EQ(got.thumbnail.sizes(), at::IntArrayRef({1, 1, 64, 63}));
  EXPECT_EQ(got.thumbnail[0][0][20][62].item<float>(), 0) << "what comes later isn't seen";
}

TEST(WeightSummary, TakesAnyScore) {
  at::manual_seed(1);
  const Tensor query = at::randn({1, 2, 3, 4}), key = at::randn({1, 2, 5, 4});
  const ScoreFunction nearness = [](const Tensor& q, const Tensor& k) { return -at::cdist(q, k); };
  const WeightSummary got = summarise_weights(summary_name, query, key, nearness);
  EXPECT_EQ(got.top_keys.sizes(), at::IntArrayRef({1, 2, 3, 5}));
  EXPECT_TRUE(at::allclose(got.top_weights.sum(-1), at::ones({1, 2, 3})));
}

TEST(WeightSummary, AcceptsSizesOfZero) {
  EXPECT_EQ(summarise_weights(summary_name, at::zeros({1, 2, 0, 4}), at::zeros({1, 2, 5, 4}), DotForm{}).entropy.sizes(), at::IntArrayRef({1, 2, 0}));
  const WeightSummary no_keys = summarise_weights(summary_name, at::zeros({1, 2, 3, 4}), at::zeros({1, 2, 0, 4}), DotForm{});
  EXPECT_EQ(no_keys.top_keys.sizes(), at::IntArrayRef({1, 2, 3, 0}));
  EXPECT_EQ(no_keys.entropy.sum().item<float>(), 0);
}

TEST(WeightSummary, RefusesWhatDoesntFit) {
  const Tensor query = at::zeros({1, 2, 3, 4}), key = at::zeros({1, 2, 5, 4});
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(HasSubstr("f: " + message)); };
  EXPECT_THAT([&] { chosen_weights(summary_name, query, key, DotForm{}, {{2}, {}}); }, refuses("expected a head from 0 to 1, got 2"));
  EXPECT_THAT([&] { chosen_weights(summary_name, query, key, DotForm{}, {{}, {-1}}); }, refuses("expected a query from 0 to 2, got -1"));
  EXPECT_THAT([&] { summarise_weights(summary_name, query, key, DotForm{}, {}, {}, {.top = 0}); }, refuses("expected top, rows and columns of at least 1"));
  EXPECT_THAT([&] { summarise_weights(summary_name, query, at::zeros({2, 2, 5, 4}), DotForm{}); }, refuses("expected key"));
  EXPECT_THROW(chosen_weights(summary_name, query, key, DotForm{}, {}, {}, {.normalizer = Normalizer::hard_sample}), NotSupported);
}

}  // namespace
}  // namespace attend::addressing
