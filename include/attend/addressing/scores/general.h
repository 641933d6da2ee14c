// The general (bilinear) score.
#pragma once

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// s(q, k) = qᵀ W k   (Luong 2015 §3.1, where h_t is the query and h_s the key)
//   query   [B, H, Lq, Dq]
//   key     [B, H, Lk, Dk]
//   weight  [Dq, Dk], shared by all heads
//   →       [B, H, Lq, Lk]
// InvalidArgument where the shapes don't fit.
ATTEND_API Tensor general_score(const Tensor& query, const Tensor& key, const Tensor& weight);

// The same for read(): a dot product of keys and projected queries, which the fused kernels take. The weight comes in any floating-point type.
ATTEND_API DotForm general_form(const Tensor& weight);

}  // namespace attend::addressing
