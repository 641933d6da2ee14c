// The cosine score.
#pragma once

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// s(q, k) = scale · q·k / (|q| |k|)   (Graves 2014 equations 5 and 6, where the scale is the key strength β)
//   query  [B, Hq, Lq, D]
//   key    [B, Hkv, Lk, D]; where Hkv < Hq, head h reads key head h / (Hq / Hkv)
//   →      [B, Hq, Lq, Lk], from −scale to scale
// A vector of zeros has no direction: its scores are 0, and so is its gradient. Vectors of any other length are safe: each is divided by its
// largest element before its length is taken.
// Floating-point types. InvalidArgument where the shapes don't fit or the scale isn't finite. `where` names the public function in that
// message.
ATTEND_API Tensor cosine_score(const Tensor& query, const Tensor& key, double scale = 1.0,
                               const char* where = "attend::addressing::cosine_score");

// The same for read(): a dot product of directions, which the fused kernels take.
ATTEND_API DotForm cosine_form(double scale = 1.0);

}  // namespace attend::addressing
