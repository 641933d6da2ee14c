// The dot-product score.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// s(q, k) = scale · q·k
//   query  [B, Hq, Lq, D]
//   key    [B, Hkv, Lk, D]; where Hkv < Hq, head h reads key head h / (Hq / Hkv)
//   →      [B, Hq, Lq, Lk]
// Floating-point types; scale 1 is the plain form (Luong 2015 §3.1), 1/√D the scaled one (Vaswani 2017 §3.2.1).
// InvalidArgument where the shapes don't fit. `where` names the public function in that message.
ATTEND_API Tensor dot_score(const Tensor& query, const Tensor& key, double scale = 1.0,
                            const char* where = "attend::addressing::dot_score");

// Repeats each of Hkv heads Hq / Hkv times, so that head h of the result is head h / (Hq / Hkv): [B, Hkv, …] → [B, Hq, …].
// InvalidArgument where Hq is no multiple of Hkv; `where` names the public function in that message.
ATTEND_API Tensor repeat_heads(const Tensor& tensor, std::int64_t query_heads, const char* where = "attend::addressing::repeat_heads");

}  // namespace attend::addressing
