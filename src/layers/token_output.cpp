#include "attend/layers/token_output.h"

#include <torch/nn/init.h>

#include <cmath>

#include "attend/core/shapes.h"

namespace attend::layers {

namespace {
constexpr auto token_output_name = "attend::layers::TokenOutput";
}

torch::nn::Embedding token_embedding(std::int64_t vocabulary, std::int64_t width, OutputWeight weight) {
  torch::nn::Embedding embedding(vocabulary, width);
  const torch::NoGradGuard no_gradient;
  if (weight == OutputWeight::embedding) embedding->weight.normal_(0, 1 / std::sqrt(static_cast<double>(width)));
  return embedding;
}

TokenOutputImpl::TokenOutputImpl(std::int64_t width, std::int64_t vocabulary, OutputWeight weight)
    : width_(width), vocabulary_(vocabulary), kind_(weight) {
  if (width < 1 || vocabulary < 1)
    throw InvalidArgument(format("{}: expected positive sizes, got width {} and vocabulary {}", token_output_name, width, vocabulary));
  reset();
}

void TokenOutputImpl::reset() {
  const double bound = std::sqrt(1.0 / static_cast<double>(width_));
  // drawn as libtorch's Linear draws them: a seed gives the same model as one with that layer
  if (kind_ == OutputWeight::own) {
    weight_ = register_parameter("weight", torch::empty({vocabulary_, width_}));
    torch::nn::init::kaiming_uniform_(weight_, std::sqrt(5));
  }
  bias_ = register_parameter("bias", torch::empty({vocabulary_}).uniform_(-bound, bound));
}

void TokenOutputImpl::pretty_print(std::ostream& stream) const {
  stream << token_output_name << "(" << width_ << ", " << vocabulary_ << (kind_ == OutputWeight::embedding ? ", the embedding's weight" : "") << ")";
}

Tensor TokenOutputImpl::forward(const Tensor& input, const Tensor& embedding) {
  if (input.dim() < 1 || input.size(-1) != width_)
    throw InvalidArgument(format("{}: expected input [..., width] with width = {}, got {}", token_output_name, width_, shape_text(input)));
  if (kind_ == OutputWeight::own) return at::linear(input, weight_, bias_);
  if (!embedding.defined())
    throw InvalidArgument(format("{}: expected the embedding [V, width], whose weight it shares, got none", token_output_name));
  check_shape(token_output_name, "embedding", embedding, {{"V", vocabulary_}, {"width", width_}});
  return at::linear(input, embedding, bias_);
}

}  // namespace attend::layers
