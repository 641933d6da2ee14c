// The additive score, also called concat.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// s(q, k) = vᵀ tanh(q + k)   (Bahdanau 2014 appendix A.1.2; Luong 2015 §3.1 "concat" with W = [W_q W_k])
//   query   [B, H, Lq, A]  already projected: W_q q
//   key     [B, H, Lk, A]  already projected: W_k k + b. The keys of a source are projected once for all queries.
//   weight  [A]            v
//   →       [B, H, Lq, Lk]
// Memory: B·H·Lq·Lk·A numbers in this composed form. InvalidArgument where the shapes don't fit.
ATTEND_API Tensor additive_score(const Tensor& query, const Tensor& key, const Tensor& weight);

}  // namespace attend::addressing
