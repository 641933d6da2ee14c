// Dot-product attention.
#pragma once

#include <optional>

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"
#include "attend/core/result.h"

namespace attend::addressing {

struct DotProductOptions {
  // What q·k is multiplied by. Empty: 1/√Dk (Vaswani 2017 §3.2.1). 1 is the plain form (Luong 2015 §3.1).
  std::optional<double> scale = {};
  ReadOptions read = {};
};

// context_i = Σ_j softmax_j(scale · q_i·k_j) v_j   (Vaswani 2017 equation 1)
//   query  [B, Hq, Lq, Dk]
//   key    [B, Hkv, Lk, Dk]
//   value  [B, Hkv, Lk, Dv]
//   →      context [B, Hq, Lq, Dv], weights [B, Hq, Lq, Lk] where asked for
// Masks, edge cases, types, exceptions: see read().
ATTEND_API AttentionResult dot_product(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask = {},
                                       const DotProductOptions& options = {});

}  // namespace attend::addressing
