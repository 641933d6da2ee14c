#include "attend/layers/token_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "attend/base/error.h"
#include "tests/reference/gradients.h"
#include "tests/reference/recurrent.h"

namespace attend::layers {
namespace {

TEST(TokenOutput, IsAffineInItsOwnWeightOrTheEmbeddings) {
  const Tensor input = at::randn({2, 3, 4}, at::kDouble);
  for (const OutputWeight kind : {OutputWeight::own, OutputWeight::embedding}) {
    TokenOutput output(4, 6, kind);
    torch::nn::Embedding embedding = token_embedding(6, 4, kind);
    output->to(at::kDouble), embedding->to(at::kDouble);
    const auto parameters = output->named_parameters();
    const Tensor weight = kind == OutputWeight::own ? parameters["weight"] : embedding->weight;
    const Tensor got = output(input, embedding->weight);
    ASSERT_EQ(got.sizes(), at::IntArrayRef({2, 3, 6}));
    for (std::int64_t row = 0; row < 2; ++row)
      for (std::int64_t place = 0; place < 3; ++place)
        EXPECT_EQ(reference::difference("scores", reference::numbers(got[row][place]),
                                        reference::affine(reference::numbers(weight), reference::numbers(input[row][place]), reference::numbers(parameters["bias"])),
                                        reference::tolerance(reference::Type::float64, 4)),
                  "");
  }
}

TEST(TokenOutput, AnEmbeddingThatItSharesIsAParameterOnceAndLearnsFromBothSides) {
  TokenOutput output(4, 6, OutputWeight::embedding);
  torch::nn::Embedding embedding = token_embedding(6, 4, OutputWeight::embedding);
  output->to(at::kDouble), embedding->to(at::kDouble);
  EXPECT_EQ(output->parameters().size(), 1u) << "the bias";
  const Tensor tokens = at::tensor({1, 5}, at::kLong), cotangent = at::randn({2, 6}, at::kDouble);
  const auto loss = [&] { return (output(embedding(tokens).tanh(), embedding->weight) * cotangent).sum(); };
  EXPECT_EQ(reference::gradient_difference(loss, {embedding->weight, output->parameters()[0]}), "");
}

TEST(TokenOutput, BeginsAsLibtorchsLinearDoes) {
  at::manual_seed(4);
  const torch::nn::Linear linear(4, 6);
  at::manual_seed(4);
  const TokenOutput output(4, 6);
  EXPECT_TRUE(output->named_parameters()["weight"].equal(linear->weight));
  EXPECT_TRUE(output->named_parameters()["bias"].equal(linear->bias));
  at::manual_seed(4);
  const torch::nn::Embedding plain(500, 64);
  at::manual_seed(4);
  EXPECT_TRUE(token_embedding(500, 64)->weight.equal(plain->weight));
  EXPECT_NEAR(token_embedding(500, 64, OutputWeight::embedding)->weight.std().item<double>(), 0.125, 0.005);
}

TEST(TokenOutput, PrintsWhatItIs) {
  std::ostringstream text;
  text << TokenOutput(4, 6) << " " << TokenOutput(4, 6, OutputWeight::embedding);
  EXPECT_EQ(text.str(), "attend::layers::TokenOutput(4, 6) attend::layers::TokenOutput(4, 6, the embedding's weight)");
}

TEST(TokenOutput, RefusesWhatDoesNotFit) {
  TokenOutput own(4, 6), shared(4, 6, OutputWeight::embedding);
  const auto says = [](const std::string& message) {
    return testing::ThrowsMessage<InvalidArgument>(testing::StrEq("attend::layers::TokenOutput: " + message));
  };
  EXPECT_THAT([] { TokenOutput(0, 6); }, says("expected positive sizes, got width 0 and vocabulary 6"));
  EXPECT_THAT([&] { own(at::zeros({2, 5})); }, says("expected input [..., width] with width = 4, got [2, 5]"));
  EXPECT_THAT([&] { shared(at::zeros({2, 4})); }, says("expected the embedding [V, width], whose weight it shares, got none"));
  EXPECT_THAT([&] { shared(at::zeros({2, 4}), at::zeros({5, 4})); }, says("expected embedding [V, width] with V = 6, width = 4, got [5, 4]"));
}

}  // namespace
}  // namespace attend::layers
