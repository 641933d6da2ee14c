#include "attend/addressing/normalizers/sparsemax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "attend/base/error.h"
#include "tests/addressing/normalizers/rows.h"
#include "tests/reference/normalizers.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

Tensor sparsemax_rows(const Tensor& scores, const std::optional<Tensor>& keep) {
  return weights_by_rows(scores, keep, [](const auto& row, auto, auto, auto) { return reference::entmax_row(row, 2.0); });
}

TEST(Sparsemax, IsTheNearestPointOfTheSimplex) {
  const Tensor scores = at::tensor({0.5, 0.3, -0.4, 0.1, 0.1, -9.0, 1.0, 1.0, 1.0}, at::kDouble).view({1, 1, 3, 3});
  // by hand: (0.5 + 0.3 − 1) / 2 = −0.1, and −0.4 lies below it; likewise (0.2 − 1) / 2 = −0.4; thirds
  const Tensor wanted = at::tensor({0.6, 0.4, 0.0, 0.5, 0.5, 0.0, 1 / 3.0, 1 / 3.0, 1 / 3.0}, at::kDouble).view({1, 1, 3, 3});
  EXPECT_EQ(weight_difference(sparsemax(scores, {}), wanted), "");
}

TEST(Sparsemax, EqualsBisectionForAnyNumberOfKeysAndSpread) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16})
    for (const std::int64_t Lk : {1, 2, 7, 64, 300})
      for (const double spread : {0.01, 0.5, 3.0}) {
        const Tensor scores = peaky_scores({2, 3, 4, Lk}, spread).to(type), keep = some_hidden(2, 4, Lk);
        EXPECT_EQ(weight_difference(sparsemax(scores, {}), sparsemax_rows(scores, {})), "") << type << " " << Lk << " " << spread;
        EXPECT_EQ(weight_difference(sparsemax(scores, keep), sparsemax_rows(scores, keep)), "") << type << " " << Lk << " " << spread;
        EXPECT_EQ(sparsemax(scores, keep).scalar_type(), type);
      }
}

TEST(Sparsemax, ARowWithoutAVisibleKeyIsZero) {
  const Tensor weights = sparsemax(peaky_scores({2, 3, 4, 5}), some_hidden(2, 4, 5));
  EXPECT_TRUE(weights.select(2, 1).equal(at::zeros({2, 3, 5}, at::kDouble)));
  EXPECT_TRUE(weights.select(2, 0).select(-1, 4).equal(at::ones({2, 3}, at::kDouble))) << "the one visible key has all the weight";
}

TEST(Sparsemax, IsNotDisturbedByTheSizeOfScores) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor scores = at::tensor({1e300, 1e300, -1e300, -infinity, 1e4, 1e4 + 0.5, -1e5, 0.0}, at::kDouble).view({1, 1, 2, 4});
  EXPECT_EQ(weight_difference(sparsemax(scores, {}), at::tensor({0.5, 0.5, 0.0, 0.0, 0.25, 0.75, 0.0, 0.0}, at::kDouble).view({1, 1, 2, 4})), "");
}

TEST(Sparsemax, NaNStaysInItsRowAndMinusInfinityHides) {
  Tensor scores = peaky_scores({1, 1, 4, 3});
  scores[0][0][1][2] = scores[0][0][2][2] = std::numeric_limits<double>::quiet_NaN();
  scores[0][0][3].fill_(-std::numeric_limits<double>::infinity());
  Tensor keep = at::ones({1, 1, 4, 3}, at::kBool);
  keep[0][0][2][2] = false;
  const Tensor weights = sparsemax(scores, keep);
  EXPECT_TRUE(weights[0][0][0].isfinite().all().item<bool>());
  EXPECT_TRUE(weights[0][0][1].isnan().all().item<bool>());
  EXPECT_TRUE(weights[0][0][2].isfinite().all().item<bool>()) << "a hidden NaN isn't seen";
  EXPECT_TRUE(weights[0][0][3].equal(at::zeros({3}, at::kDouble)));
}

TEST(Sparsemax, HasTheDerivativesOfItsFormula) {
  const Tensor scores = peaky_scores({2, 2, 3, 5}, 0.5).set_requires_grad(true), keep = some_hidden(2, 3, 5);
  EXPECT_EQ(derivative_difference([](const Tensor& s) { return sparsemax(s, {}); }, scores), "");
  EXPECT_EQ(derivative_difference([&](const Tensor& s) { return sparsemax(s, keep); }, scores), "");
  const Tensor gradient = torch::autograd::grad({(sparsemax(scores, keep) * peaky_scores({2, 2, 3, 5}, 1, 9)).sum()}, {scores})[0];
  EXPECT_TRUE(gradient.select(2, 1).equal(at::zeros({2, 2, 5}, at::kDouble))) << "of a row without a visible key";
}

TEST(Sparsemax, MemoryLayoutAndEmptySizesDontMatter) {
  const Tensor scores = peaky_scores({2, 3, 4, 5});
  EXPECT_TRUE(sparsemax(scores.transpose(2, 3).contiguous().transpose(2, 3), {}).equal(sparsemax(scores, {})));
  for (const std::vector<std::int64_t>& sizes : std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {1, 1, 0, 3}, {1, 2, 3, 0}})
    EXPECT_EQ(sparsemax(at::zeros(sizes), {}).sizes(), at::IntArrayRef(sizes));
  EXPECT_EQ(sparsemax(at::zeros({1, 2, 3, 0}), at::ones({3, 0}, at::kBool)).sizes(), at::IntArrayRef({1, 2, 3, 0}));
}

// Of all normalisers that begin with the same checks.
TEST(Sparsemax, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::sparsemax: " + message)); };
  EXPECT_THAT([] { sparsemax(at::zeros({2, 3}), {}); }, refuses("expected scores [B, H, Lq, Lk], got [2, 3]"));
  EXPECT_THAT([] { sparsemax(Tensor(), {}); }, refuses("expected scores [B, H, Lq, Lk], got an undefined tensor"));
  const auto with = [](const Tensor& keep) { return [keep] { sparsemax(at::zeros({1, 2, 3, 4}), keep); }; };
  constexpr auto keep = "expected keep, bool, that broadcasts to [B, H, Lq, Lk] = [1, 2, 3, 4], got ";
  EXPECT_THAT(with(at::ones({3, 5}, at::kBool)), refuses(std::string(keep) + "Bool [3, 5]"));
  EXPECT_THAT(with(at::ones({1, 1, 2, 3, 4}, at::kBool)), refuses(std::string(keep) + "Bool [1, 1, 2, 3, 4]"));
  EXPECT_THAT(with(at::ones({3, 4})), refuses(std::string(keep) + "Float [3, 4]"));
  EXPECT_THAT(with(Tensor()), refuses(std::string(keep) + "an undefined tensor"));
  EXPECT_THAT([] { sparsemax(at::zeros({1, 2, 3, 4}, at::kLong), {}); },
              ThrowsMessage<NotSupported>(
                  StrEq("attend::addressing::sparsemax: expected scores of a floating-point type, got Long; convert it first")));
}

}  // namespace
}  // namespace attend::addressing
