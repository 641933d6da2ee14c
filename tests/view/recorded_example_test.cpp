#include "attend/view/recorded_example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/addressing/multi_head.h"
#include "attend/base/error.h"

namespace attend::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Example texts() { return {"e", {"a", "b", "c"}, {"x", "y"}, {}}; }

const std::vector<std::string> pair_axes = {"batch", "head", "query", "key"};

TEST(RecordedExample, TakesARowWithoutItsPadding) {
  const Tensor weights = at::arange(2 * 2 * 3 * 4, at::kDouble).view({2, 2, 3, 4});
  const Example example = recorded_example({{"decoder.layers.3.attention", "alignment", pair_axes, weights, {}}}, texts(), 1);
  EXPECT_EQ(example.id, "e");
  ASSERT_EQ(example.items.size(), 1u);
  const Item& item = example.items[0];
  EXPECT_EQ(item.module, "decoder.layers.3.attention");
  EXPECT_EQ(item.layer, 3);
  EXPECT_EQ(item.heads, 2);
  EXPECT_EQ(item.kind, Kind::alignment);
  EXPECT_THAT(item.axes, ElementsAre("head", "target", "source"));
  EXPECT_THAT(item.shape, ElementsAre(2, 2, 3));
  EXPECT_THAT(item.weights, ElementsAre(24, 25, 26, 28, 29, 30, 36, 37, 38, 40, 41, 42));
}

TEST(RecordedExample, JoinsTheStepsOfDecoding) {
  std::vector<Recording::Item> steps;
  for (const double t : {0.0, 1.0}) {
    steps.push_back({"attention", "alignment", pair_axes, at::full({1, 1, 1, 3}, t), {}});
    steps.push_back({"other", "alignment", pair_axes, at::full({1, 1, 1, 3}, 5 + t), {}});
  }
  const Example example = recorded_example(steps, texts());
  ASSERT_EQ(example.items.size(), 2u);
  EXPECT_EQ(example.items[0].module, "attention");
  EXPECT_THAT(example.items[0].weights, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(example.items[1].weights, ElementsAre(5, 5, 5, 6, 6, 6));
}

TEST(RecordedExample, KnowsWhoseTextSelfAttentionReads) {
  const auto axes_of = [](const std::string& module, Example example) {
    return recorded_example({{module, "self", pair_axes, at::zeros({1, 1, 3, 3}), {}}}, std::move(example)).items.at(0).axes[1];
  };
  EXPECT_EQ(axes_of("encoder.layers.0", texts()), "source");
  EXPECT_EQ(axes_of("decoder.layers.0", texts()), "target");
  EXPECT_EQ(axes_of("decoder.layers.0", {"e", {"a"}, {}, {}}), "source");
  EXPECT_EQ(axes_of("layers.0", {"e", {}, {"a"}, {}}), "target");
}

TEST(RecordedExample, KeepsFreeAxes) {
  const Example example = recorded_example({{"attention", "spatial", {"batch", "query", "row", "column"}, at::ones({1, 2, 4, 5}), {}}}, texts());
  EXPECT_THAT(example.items[0].axes, ElementsAre("target", "row", "column"));
  EXPECT_THAT(example.items[0].shape, ElementsAre(2, 4, 5));
}

TEST(RecordedExample, RefusesWhatDoesNotFit) {
  const std::vector<Recording::Item> reports = {{"m", "alignment", pair_axes, at::zeros({2, 1, 1, 3}), {}}};
  EXPECT_THAT([&] { recorded_example(reports, texts(), 2); }, ThrowsMessage<InvalidArgument>(HasSubstr("\"m\" (alignment): expected a row of the batch from 0 to 1, got 2")));
  EXPECT_THAT([&] { recorded_example(reports, texts()); }, ThrowsMessage<InvalidArgument>(HasSubstr("expected at most 1 target tokens, as many as were read, got 2")));
  EXPECT_THAT([&] { recorded_example({{"m", "look", {"x"}, at::zeros({2}), {}}}, texts()); }, ThrowsMessage<InvalidArgument>(HasSubstr("unknown kind \"look\"")));
}

// Self-attention on many places: the largest weights of each row, as a full recording has them.
TEST(RecordedExample, TakesTheLargestOfManyWeights) {
  at::manual_seed(3);
  addressing::MultiHead attention(8, addressing::MultiHeadOptions{.heads = 2});
  attention->eval();
  const Tensor input = at::randn({2, 70, 8}) * 3;
  const std::vector<std::string> tokens(60, "t");
  const auto recorded = [&](std::int64_t most_pairs) {
    const torch::NoGradGuard no_gradient;
    Recording recording(*attention, {.most_pairs = most_pairs, .top = 4});
    attention->self(input, Mask::lengths(at::tensor({70, 60}, at::kLong)));
    return recorded_example(recording.take(), {"e", tokens, {}, {}}, 1).items.at(0);
  };
  const Item all = recorded(0), some = recorded(4899);
  EXPECT_EQ(recorded(4900).form, Form::all);
  ASSERT_EQ(some.form, Form::top_k);
  EXPECT_THAT(some.shape, ElementsAre(2, 60, 60));
  EXPECT_EQ(some.k, 4);
  ASSERT_EQ(some.entropy.size(), 120u);
  for (std::size_t row = 0; row < 120; ++row) {
    std::vector<float> weights(all.weights.begin() + static_cast<std::ptrdiff_t>(60 * row), all.weights.begin() + static_cast<std::ptrdiff_t>(60 * (row + 1)));
    double entropy = 0;
    for (const float weight : weights) entropy -= weight > 0 ? weight * std::log2(static_cast<double>(weight)) : 0;
    EXPECT_NEAR(some.entropy[row], entropy, 1e-4);
    for (std::size_t n = 0; n < 4; ++n) EXPECT_NEAR(some.weights[4 * row + n], weights[static_cast<std::size_t>(some.keys[4 * row + n])], 1e-6);
    std::sort(weights.rbegin(), weights.rend());
    EXPECT_NEAR(some.weights[4 * row + 3], weights[3], 1e-6);
  }
}

}  // namespace
}  // namespace attend::view
