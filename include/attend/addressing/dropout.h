// Dropout of attention weights that doesn't depend on padding, path or threads.
#pragma once

#include <cstdint>
#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// Where a call that computes a part of a larger one begins, so that the parts drop what the whole would have dropped.
struct DropoutOrigin {
  std::int64_t batch = 0, head = 0, query = 0, key = 0;
};

// Draws the 64-bit seed of one call from `generator` (libtorch's default one where empty).
ATTEND_API std::int64_t draw_dropout_seed(const std::optional<at::Generator>& generator);

// What weights are multiplied by: 0 where dropped, 1 / (1 − p) elsewhere. Weight (b, h, i, j) is decided by word j mod 4 of Philox4x32-10
// (Salmon 2011) with counter words (b, h, i, j div 4) and the seed's halves as key words: dropped when word < ⌊p · 2³²⌋.
//   sizes        [B, H, Lq, Lk]
//   probability  p, from 0 to 1
//   like         gives type and device; no gradient
ATTEND_API Tensor dropout_multipliers(at::IntArrayRef sizes, double probability, std::int64_t seed, const Tensor& like,
                                      const DropoutOrigin& origin = {});

}  // namespace attend::addressing
