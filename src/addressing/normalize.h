// The step from scores to weights: which normaliser the options name.
#pragma once

#include <optional>

#include "attend/addressing/read.h"

namespace attend::addressing {

struct Normalized {
  Tensor weights;                        // [B, H, Lq, Lk]
  Tensor log_probability = {}, entropy = {};  // [B, H, Lq]; of Normalizer::hard_sample alone
};

// Options that normalisers have. InvalidArgument where one is out of range.
void check_normalizer(const char* where, const ReadOptions& options);

// Draws one seed from the options' generator where a key is to be sampled.
Normalized normalize(const Tensor& scores, const std::optional<Tensor>& keep, const ReadOptions& options);

// Each row divided by its sum; a row of zeros stays one.
Tensor renormalised(const Tensor& weights);

}  // namespace attend::addressing
