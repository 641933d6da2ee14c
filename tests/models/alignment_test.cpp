#include "attend/models/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "attend/addressing/attention.h"
#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "tests/reference/attention.h"
#include "tests/reference/gradients.h"

namespace attend::models {
namespace {

Alignment make_alignment() {
  Alignment alignment(3, 4, 5);
  alignment->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : alignment->parameters()) parameter.normal_(0, 1.5);
  return alignment;
}

TEST(Alignment, IsTheLoopOfItsFormula) {
  Alignment alignment = make_alignment();
  const Tensor query = at::randn({2, 3, 3}, at::kDouble), memory = at::randn({2, 6, 4}, at::kDouble), lengths = at::tensor({4, 6}, at::kLong);
  const auto parameters = alignment->named_parameters();
  const reference::PairScore score =
      reference::projected_additive(reference::numbers(parameters["query_projection"]), reference::numbers(parameters["key_projection"]),
                                    reference::numbers(parameters["bias"]), reference::numbers(parameters["energy"]));
  const reference::Outcome wanted =
      reference::attention({.B = 2, .Lq = 3, .Lk = 6, .Dq = 3, .Dk = 4, .Dv = 4}, reference::numbers(query), reference::numbers(memory),
                           reference::numbers(memory), score, {{reference::MaskPart::Kind::lengths, {2}, {4, 6}}});
  Recording recording(*alignment);
  const Tensor context = alignment(query, alignment->keys(memory), memory, Mask::lengths(lengths));
  const std::vector<Recording::Item> items = recording.take();
  const reference::Tolerance near = reference::tolerance(reference::Type::float64, 6);
  EXPECT_EQ(reference::difference("context", reference::numbers(context), wanted.context, near), "");
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(reference::difference("weights", reference::numbers(items[0].tensor), wanted.weights, near), "");
}

TEST(Alignment, HasTheGradientsOfItsFormula) {
  Alignment alignment = make_alignment();
  const Tensor query = at::randn({2, 2, 3}, at::kDouble).set_requires_grad(true), memory = at::randn({2, 3, 4}, at::kDouble).set_requires_grad(true);
  const Tensor cotangent = at::randn({2, 2, 4}, at::kDouble), lengths = at::tensor({3, 2}, at::kLong);
  std::vector<Tensor> inputs = alignment->parameters();
  inputs.push_back(query), inputs.push_back(memory);
  const auto loss = [&] { return (alignment(query, alignment->keys(memory), memory, Mask::lengths(lengths)) * cotangent).sum(); };
  EXPECT_EQ(reference::gradient_difference(loss, inputs), "");
}

TEST(Alignment, IsTheAttentionModuleWithKeysOfItsOwn) {
  Alignment alignment = make_alignment();
  addressing::Attention attention(3, 4, addressing::AttentionOptions{.score = addressing::Score::additive, .hidden = 5});
  attention->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  for (const auto& item : alignment->named_parameters()) attention->named_parameters()[item.key()].copy_(item.value());
  const Tensor query = at::randn({2, 3, 3}, at::kDouble), memory = at::randn({2, 6, 4}, at::kDouble);
  EXPECT_TRUE(at::allclose(alignment(query, alignment->keys(memory), memory), attention(query, memory, memory).context, 1e-12, 1e-12));
}

TEST(Alignment, SaysNothingOfPaddingAndTakesEmptyOnes) {
  Alignment alignment = make_alignment();
  const Tensor query = at::randn({2, 3, 3}, at::kDouble), lengths = at::tensor({2, 0}, at::kLong);
  Tensor memory = at::randn({2, 4, 4}, at::kDouble);
  const Tensor clean = alignment(query, alignment->keys(memory), memory, Mask::lengths(lengths));
  EXPECT_TRUE(clean[1].equal(at::zeros_like(clean[1]))) << "a row with nothing to attend to";
  memory[0].slice(0, 2).fill_(std::nan(""));
  EXPECT_TRUE(alignment(query, alignment->keys(memory), memory, Mask::lengths(lengths))[0].equal(clean[0]));
  const Tensor none = at::zeros({0, 4, 4}, at::kDouble);
  EXPECT_EQ(alignment(query.slice(0, 0, 0), alignment->keys(none), none).sizes(), at::IntArrayRef({0, 3, 4}));
}

TEST(Alignment, RefusesWhatDoesNotFit) {
  Alignment alignment(3, 4, 5);
  const Tensor query = at::zeros({2, 3, 3}), memory = at::zeros({2, 6, 4}), keys = alignment->keys(memory);
  const auto says = [](const std::string& message) {
    return testing::ThrowsMessage<InvalidArgument>(testing::StrEq("attend::models::Alignment: " + message));
  };
  EXPECT_THAT([] { Alignment(3, 0, 5); }, says("expected positive sizes, got query_size 3, memory_size 0, hidden 5"));
  EXPECT_THAT([&] { alignment->keys(query); }, says("expected memory [B, Lk, Dk] with Dk = 4, got [2, 3, 3]"));
  EXPECT_THAT([&] { alignment(memory, keys, memory); }, says("expected query [B, Lq, Dq] with Dq = 3, got [2, 6, 4]"));
  EXPECT_THAT([&] { alignment(query, memory, memory); }, says("expected keys [B, Lk, A] with B = 2, A = 5, got [2, 6, 4]"));
  EXPECT_THAT([&] { alignment(query, keys, memory.slice(1, 0, 5)); }, says("expected memory [B, Lk, Dk] with B = 2, Lk = 6, Dk = 4, got [2, 5, 4]"));
}

TEST(Alignment, PrintsWhatItIs) {
  std::ostringstream text;
  text << Alignment(3, 4, 5);
  EXPECT_EQ(text.str(), "attend::models::Alignment(query_size=3, memory_size=4, hidden=5)");
}

}  // namespace
}  // namespace attend::models
