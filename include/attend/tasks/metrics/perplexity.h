// Perplexity: how many tokens a model hesitates between, on average, when it reads the right target.
//
//   perplexity = exp( Σ −ln p(token | source, tokens before it) / number of tokens )
//
// The end of a sequence is a token, padding is none. A token outside of the vocabulary counts as <unk>.
// Source: Jelinek 1977; Sutskever 2014 section 3.2 for its use beside BLEU. Comparable only between models with the same tokens.
#pragma once

#include <cstdint>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::tasks {

// −ln p of each sequence: the sum over its tokens.
//   logits  floating point [B, L, V], scores before the softmax
//   target  int64 [B, L], padded by padding_token
//   → float64 [B]
// InvalidArgument where the shapes or types don't fit.
ATTEND_API Tensor negative_log_likelihood(const Tensor& logits, const Tensor& target);

class ATTEND_API Perplexity {
 public:
  // A sequence, or several. InvalidArgument where `tokens` is below 1.
  void add(double negative_log_likelihood, std::int64_t tokens);

  std::int64_t tokens() const { return tokens_; }
  // 1 or more; infinite where a token had the probability 0, NaN where one had none, 0 where nothing was added.
  double value() const;

 private:
  double sum_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace attend::tasks
