#include "attend/models/sequence_to_sequence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/gradients.h"

namespace attend::models {
namespace {

// −Σ q(v) log p(v) over the tokens that are not padding, q = (1 − ε) one-hot + ε / V, divided by their number.
double cross_entropy_by_loops(const Tensor& logits, const std::vector<std::vector<std::int64_t>>& target, double smoothing) {
  const std::int64_t V = logits.size(2);
  double sum = 0;
  int count = 0;
  for (std::size_t b = 0; b < target.size(); ++b)
    for (std::size_t t = 0; t < target[b].size(); ++t) {
      if (target[b][t] == padding_token) continue;
      const std::vector<double> scores = reference::numbers(logits[static_cast<std::int64_t>(b)][static_cast<std::int64_t>(t)]);
      double total = 0;
      for (const double score : scores) total += std::exp(score);
      for (std::int64_t v = 0; v < V; ++v) {
        const double wanted = (v == target[b][t] ? 1 - smoothing : 0) + smoothing / static_cast<double>(V);
        sum -= wanted * (scores[static_cast<std::size_t>(v)] - std::log(total));
      }
      ++count;
    }
  return sum / count;
}

Tensor tensor_of_tokens(const std::vector<std::vector<std::int64_t>>& rows) {
  std::vector<Tensor> tensors;
  for (const std::vector<std::int64_t>& row : rows) tensors.push_back(at::tensor(row, at::kLong));
  return at::stack(tensors);
}

TEST(CrossEntropy, IsTheMeanOverTokensThatAreNotPadding) {
  const Tensor logits = 2 * at::randn({3, 4, 6}, at::kDouble);
  const std::vector<std::vector<std::int64_t>> target = {{4, 5, 1, 3}, {2, 3, 0, 0}, {3, 0, 0, 0}};
  for (const double smoothing : {0.0, 0.1, 0.9})
    EXPECT_NEAR(cross_entropy(logits, tensor_of_tokens(target), smoothing).item<double>(),
                cross_entropy_by_loops(logits, target, smoothing), 1e-13)
        << "label smoothing " << smoothing;
}

TEST(CrossEntropy, OfNoKnowledgeIsTheLogarithmOfTheVocabulary) {
  for (const double smoothing : {0.0, 0.1})
    EXPECT_NEAR(cross_entropy(at::zeros({2, 3, 7}, at::kDouble), at::ones({2, 3}, at::kLong), smoothing).item<double>(), std::log(7.0),
                1e-14);
}

TEST(CrossEntropy, GivesPaddingNoGradient) {
  const Tensor logits = at::randn({2, 3, 5}, at::kDouble).set_requires_grad(true), target = tensor_of_tokens({{4, 3, 0}, {3, 0, 0}});
  for (const double smoothing : {0.0, 0.2}) {
    EXPECT_EQ(reference::gradient_difference([&] { return cross_entropy(logits, target, smoothing); }, {logits}), "");
    const Tensor gradient = torch::autograd::grad({cross_entropy(logits, target, smoothing)}, {logits})[0];
    EXPECT_EQ(gradient.abs().sum(-1).ne(0).to(at::kLong).sum().item<std::int64_t>(), 3);
    EXPECT_TRUE(gradient[1].slice(0, 1).equal(at::zeros({2, 5}, at::kDouble)));
  }
}

TEST(DecoderState, IsReorderedByTakingRowsOfEachOfItsTensors) {
  const DecoderState state{{at::arange(3, at::kDouble), at::arange(6, at::kLong).view({3, 2})}};
  const DecoderState reordered = SequenceToSequence::reorder(state, at::tensor({2, 0, 2, 1}, at::kLong));
  ASSERT_EQ(reordered.tensors.size(), 2u);
  EXPECT_TRUE(reordered.tensors[0].equal(at::tensor({2.0, 0.0, 2.0, 1.0}, at::kDouble)));
  EXPECT_TRUE(reordered.tensors[1].equal(tensor_of_tokens({{4, 5}, {0, 1}, {4, 5}, {2, 3}})));
  EXPECT_EQ(state.tensors[0].size(0), 3) << "the state itself stays";
  EXPECT_EQ(SequenceToSequence::reorder(state, at::empty({0}, at::kLong)).tensors[1].sizes(), at::IntArrayRef({0, 2}));
}

// What a model without attention need not say.
struct Silent : SequenceToSequence {
  ModelOutput forward(const TokenBatch&, const TokenBatch&) override { return {}; }
  DecoderState encode(const TokenBatch&) override { return {}; }
  Tensor step(const Tensor&, DecoderState&) override { return {}; }
};

TEST(SequenceToSequence, HasNoAlignmentUnlessTheModelNamesOne) { EXPECT_EQ(Silent().alignment_module(), ""); }

TEST(LossTerm, CountsOnceUnlessAWeightIsGiven) { EXPECT_EQ((LossTerm{"x", at::zeros({})}.weight), 1.0); }

}  // namespace
}  // namespace attend::models
