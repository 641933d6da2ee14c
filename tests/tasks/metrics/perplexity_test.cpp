#include "attend/tasks/metrics/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "attend/core/tokens.h"
#include "tests/reference/tensors.h"
#include "tests/reference/tolerance.h"

namespace attend::tasks {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// −ln softmax(logits)[target], position by position.
std::vector<double> by_loop(const Tensor& logits, const Tensor& target) {
  std::vector<double> sums;
  for (std::int64_t b = 0; b < logits.size(0); ++b) {
    double sum = 0;
    for (std::int64_t t = 0; t < logits.size(1); ++t) {
      const auto token = target[b][t].item<std::int64_t>();
      if (token == padding_token) continue;
      double all = 0;
      for (std::int64_t v = 0; v < logits.size(2); ++v) all += std::exp(logits[b][t][v].item<double>());
      sum += std::log(all) - logits[b][t][token].item<double>();
    }
    sums.push_back(sum);
  }
  return sums;
}

TEST(NegativeLogLikelihood, EqualsALoop) {
  torch::manual_seed(1);
  const Tensor target = at::tensor({4, 5, 3, 0, 1, 2, 3, 0, 0, 0, 0, 0}, at::kLong).view({3, 4});
  for (const auto& [type, name] : {std::pair(at::kDouble, reference::Type::float64), std::pair(at::kFloat, reference::Type::float32)}) {
    const Tensor logits = at::randn({3, 4, 6}, at::kDouble).mul(5).to(type);
    const Tensor got = negative_log_likelihood(logits, target);
    EXPECT_EQ(got.scalar_type(), at::kDouble);
    EXPECT_EQ(
        reference::difference("sums", reference::numbers(got), by_loop(logits.to(at::kDouble), target), reference::tolerance(name, 24)),
        "");
    const Tensor strided = logits.transpose(0, 1).contiguous().transpose(0, 1);
    EXPECT_EQ(reference::difference("strided", reference::numbers(negative_log_likelihood(strided, target)), reference::numbers(got),
                                    reference::tolerance(name, 24)),
              "");
  }
  EXPECT_EQ(negative_log_likelihood(at::randn({3, 0, 6}), at::zeros({3, 0}, at::kLong)).sum().item<double>(), 0);
}

TEST(NegativeLogLikelihood, PaddingThatHoldsNoNumberDoesNotCount) {
  Tensor logits = at::zeros({1, 2, 6});
  logits[0][1].fill_(std::numeric_limits<double>::quiet_NaN());
  const Tensor target = at::tensor({4, 0}, at::kLong).view({1, 2});
  EXPECT_TRUE(reference::is_near(negative_log_likelihood(logits, target).item<double>(), std::log(6.0),
                                 reference::tolerance(reference::Type::float32, 6)));
}

TEST(NegativeLogLikelihood, RefusesWhatDoesNotFit) {
  const Tensor logits = at::zeros({2, 3, 6}), target = at::zeros({2, 3}, at::kLong);
  EXPECT_THAT([&] { negative_log_likelihood(logits, target.slice(1, 1)); }, ThrowsMessage<InvalidArgument>(HasSubstr("target")));
  EXPECT_THAT([&] { negative_log_likelihood(logits[0], target); }, ThrowsMessage<InvalidArgument>(HasSubstr("logits")));
  EXPECT_THAT([&] { negative_log_likelihood(logits, target.to(at::kFloat)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("expected logits in floating point and an int64 target, got Float and Float")));
}

TEST(Perplexity, IsTheNumberOfEqualChoices) {
  Perplexity perplexity;
  EXPECT_EQ(perplexity.value(), 0);
  perplexity.add(3 * std::log(8.0), 3);
  EXPECT_DOUBLE_EQ(perplexity.value(), 8);
  perplexity.add(0, 3);  // as many that were certain
  EXPECT_DOUBLE_EQ(perplexity.value(), std::sqrt(8.0));
  EXPECT_EQ(perplexity.tokens(), 6);
  perplexity.add(std::numeric_limits<double>::infinity(), 1);
  EXPECT_TRUE(std::isinf(perplexity.value()));
  EXPECT_THAT([&] { perplexity.add(1, 0); }, ThrowsMessage<InvalidArgument>(HasSubstr("at least one token, got 0")));
}

}  // namespace
}  // namespace attend::tasks
