#include "attend/addressing/normalizers/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

std::string compare_weights(const Tensor& got, const std::vector<double>& wanted) {
  return reference::difference("weights", reference::numbers(got), wanted, reference::tolerance(reference::Type::float64, 4));
}

TEST(MaskedSoftmax, GivesEachKeyItsShareOfTheExponentials) {
  const Tensor scores = at::tensor({0.0, std::log(2.0), std::log(5.0)}, at::kDouble).view({1, 1, 1, 3});
  EXPECT_EQ(compare_weights(masked_softmax(scores, {}), {0.125, 0.25, 0.625}), "");
}

TEST(MaskedSoftmax, SharesAmongVisibleKeysOnly) {
  const Tensor scores = at::tensor({0.0, std::log(3.0), 1e300, 7.0}, at::kDouble).view({1, 1, 1, 4});
  const Tensor keep = (at::arange(4) < 2).view({1, 1, 1, 4});
  EXPECT_EQ(compare_weights(masked_softmax(scores, keep), {0.25, 0.75, 0, 0}), "");
}

TEST(MaskedSoftmax, IsNotDisturbedByTheSizeOfScores) {
  const Tensor scores = at::tensor({1000.0, 1000.0, -1e300, -1e300}, at::kDouble).view({1, 1, 2, 2});
  EXPECT_EQ(compare_weights(masked_softmax(scores, {}), {0.5, 0.5, 0.5, 0.5}), "");
}

TEST(MaskedSoftmax, ARowWithoutAVisibleKeyIsZero) {
  const Tensor scores = at::randn({2, 3, 2, 4}, at::kDouble), keep = (at::arange(2) < 1).view({1, 1, 2, 1});
  const Tensor weights = masked_softmax(scores, keep);
  EXPECT_EQ(weights.sizes(), scores.sizes()) << "the mask broadcasts";
  EXPECT_EQ(compare_weights(weights.select(2, 0), reference::numbers(scores.select(2, 0).softmax(-1))), "");
  EXPECT_TRUE(weights.select(2, 1).equal(at::zeros({2, 3, 4}, at::kDouble)));
}

TEST(MaskedSoftmax, WithoutAKeyThereAreNoWeights) {
  EXPECT_EQ(masked_softmax(at::zeros({1, 2, 3, 0}), {}).sizes(), at::IntArrayRef({1, 2, 3, 0}));
  EXPECT_EQ(masked_softmax(at::zeros({1, 2, 3, 0}), at::ones({1, 1, 3, 0}, at::kBool)).sizes(), at::IntArrayRef({1, 2, 3, 0}));
}

TEST(MaskedSoftmax, HasTheGradientOfItsFormulaAlsoWhereRowsAreHidden) {
  const Tensor scores = at::randn({1, 2, 3, 4}, at::kDouble).set_requires_grad(true), cotangent = at::randn({1, 2, 3, 4}, at::kDouble);
  Tensor keep = at::ones({1, 1, 3, 4}, at::kBool);
  keep[0][0][1].fill_(false);
  keep[0][0][2][3].fill_(false);
  const auto loss = [&] { return (masked_softmax(scores, keep) * cotangent).sum(); };
  EXPECT_EQ(reference::gradient_difference(loss, {scores}), "");
  const Tensor gradient = torch::autograd::grad({loss()}, {scores}, {}, {}, /*create_graph=*/true)[0];
  EXPECT_TRUE(gradient.select(2, 1).equal(at::zeros({1, 2, 4}, at::kDouble)));
  const Tensor second = torch::autograd::grad({gradient.pow(2).sum()}, {scores})[0];
  EXPECT_TRUE(at::isfinite(second).all().item<bool>());
  EXPECT_TRUE(second.select(2, 1).equal(at::zeros({1, 2, 4}, at::kDouble)));
}

}  // namespace
}  // namespace attend::addressing
