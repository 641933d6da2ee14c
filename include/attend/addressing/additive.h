// Additive attention.
#pragma once

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"
#include "attend/core/result.h"

namespace attend::addressing {

// context_i = Σ_j softmax_j(vᵀ tanh(q_i + k_j)) v_j   (Bahdanau 2014 appendix A.1.2)
//   query   [B, H, Lq, A]   projected: W_q q
//   key     [B, H, Lk, A]   projected: W_k k + b
//   value   [B, H, Lk, Dv]
//   weight  [A]             v of the formula
//   →       context [B, H, Lq, Dv], weights [B, H, Lq, Lk] where asked for
// Masks, edge cases, types, exceptions: see read(). Grouped heads are not part of this form: all three have the same H.
ATTEND_API AttentionResult additive(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& weight,
                                    const Mask& mask = {}, const ReadOptions& options = {});

}  // namespace attend::addressing
