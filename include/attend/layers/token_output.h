// The last layer of a decoder: scores of all tokens.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::layers {

// Whose rows the output's weight is: its own, or those of the embedding of the same tokens (Press and Wolf 2017 §3).
enum class OutputWeight { own, embedding };

// An embedding [V, E] of tokens: N(0, 1) as libtorch's; N(0, 1/√E) where an output shares it, so that scores begin small.
ATTEND_API torch::nn::Embedding token_embedding(std::int64_t vocabulary, std::int64_t width, OutputWeight weight = OutputWeight::own);

// o = W x + b
//   input      [..., width]
//   embedding  [V, width], read only with OutputWeight::embedding
//   →          [..., V]
// Parameters: `bias` [V] and, where it is its own, `weight` [V, width]; uniform in ±√(1 / width), as libtorch's Linear.
class ATTEND_API TokenOutputImpl : public torch::nn::Cloneable<TokenOutputImpl> {
 public:
  // InvalidArgument where a size is not positive.
  TokenOutputImpl(std::int64_t width, std::int64_t vocabulary, OutputWeight weight = OutputWeight::own);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // InvalidArgument where a shape doesn't fit.
  Tensor forward(const Tensor& input, const Tensor& embedding = {});

 private:
  std::int64_t width_, vocabulary_;
  OutputWeight kind_;
  Tensor weight_, bias_;
};
TORCH_MODULE(TokenOutput);

}  // namespace attend::layers
