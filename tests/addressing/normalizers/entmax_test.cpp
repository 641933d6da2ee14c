#include "attend/addressing/normalizers/entmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/addressing/normalizers/entmax15.h"
#include "attend/addressing/normalizers/softmax.h"
#include "attend/addressing/normalizers/sparsemax.h"
#include "attend/base/error.h"
#include "tests/addressing/normalizers/rows.h"
#include "tests/reference/normalizers.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(Entmax, EqualsItsFormulaForAnyAlpha) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf})
    for (const double alpha : {1.1, 1.25, 1.5, 2.0, 3.0})
      for (const std::int64_t Lk : {1, 2, 7, 100}) {
        const Tensor scores = peaky_scores({2, 2, 3, Lk}, 1.5).to(type), keep = some_hidden(2, 3, Lk);
        const auto row = [alpha](const auto& seen, auto, auto, auto) { return reference::entmax_row(seen, alpha); };
        EXPECT_EQ(weight_difference(entmax(scores, {}, alpha), weights_by_rows(scores, {}, row)), "") << type << " " << alpha << " " << Lk;
        EXPECT_EQ(weight_difference(entmax(scores, keep, alpha), weights_by_rows(scores, keep, row)), "") << type << " " << alpha << " " << Lk;
      }
}

TEST(Entmax, MeetsItsKinOnTheWay) {
  const Tensor scores = peaky_scores({2, 3, 4, 9});
  EXPECT_EQ(weight_difference(entmax(scores, {}, 1.5), entmax15(scores, {})), "");
  EXPECT_EQ(weight_difference(entmax(scores, {}, 2.0), sparsemax(scores, {})), "");
  // near 1 it tends to softmax, by a term of the order of alpha − 1
  EXPECT_LT((entmax(scores, {}, 1.0001) - masked_softmax(scores, {})).abs().max().item<double>(), 1e-3);
}

TEST(Entmax, HasTheDerivativesOfItsFormula) {
  const Tensor scores = peaky_scores({2, 2, 3, 5}, 0.7).set_requires_grad(true), keep = some_hidden(2, 3, 5);
  for (const double alpha : {1.1, 1.25, 1.5}) {
    EXPECT_EQ(derivative_difference([&](const Tensor& s) { return entmax(s, {}, alpha); }, scores), "") << alpha;
    EXPECT_EQ(derivative_difference([&](const Tensor& s) { return entmax(s, keep, alpha); }, scores), "") << alpha;
  }
  // between 1.5 and 2 second derivatives grow without bound towards the edge of the support: difference quotients can't follow
  for (const double alpha : {1.8, 3.0}) {
    const auto loss = [&] { return (entmax(scores, keep, alpha) * peaky_scores({2, 2, 3, 5}, 1, 9)).sum(); };
    EXPECT_EQ(reference::gradient_difference(loss, {scores}), "") << alpha;
  }
}

TEST(Entmax, ARowWithoutAVisibleKeyIsZeroAndNaNStaysInItsRow) {
  Tensor scores = peaky_scores({2, 3, 4, 5});
  scores[0][0][3].fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor weights = entmax(scores, some_hidden(2, 4, 5), 1.25);
  EXPECT_TRUE(weights.select(2, 1).equal(at::zeros({2, 3, 5}, at::kDouble)));
  EXPECT_TRUE(weights[0][0][3].isnan().all().item<bool>());
  EXPECT_EQ(weights.isnan().sum().item<int>(), 5);
  EXPECT_EQ(entmax(at::zeros({1, 2, 3, 0}), {}, 1.25).sizes(), at::IntArrayRef({1, 2, 3, 0}));
}

TEST(Entmax, RefusesWhatDoesntFit) {
  const auto refuses = [](const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::entmax: " + message)); };
  const auto with = [](double alpha) { return [alpha] { entmax(at::zeros({1, 1, 1, 2}), {}, alpha); }; };
  EXPECT_THAT(with(1), refuses("expected alpha above 1, got 1; what alpha = 1 stands for is softmax"));
  EXPECT_THAT(with(std::nan("")), refuses("expected alpha above 1, got nan; what alpha = 1 stands for is softmax"));
  EXPECT_THAT(with(HUGE_VAL), refuses("expected alpha above 1, got inf; what alpha = 1 stands for is softmax"));
  EXPECT_THAT([] { entmax(at::zeros({2, 3}), {}, 1.5); }, refuses("expected scores [B, H, Lq, Lk], got [2, 3]"));
}

}  // namespace
}  // namespace attend::addressing
