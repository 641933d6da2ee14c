// The location score.
#pragma once

#include <cstdint>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

// s(q, j) = W_j q for the key at place j, whatever that key is   (Luong 2015 equation 8, where q is h_t and W is W_a)
//   query   [B, H, Lq, Dq]
//   keys    Lk, the number of places that are scored
//   weight  [P, Dq]         row j scores place j; P is the most keys there can be
//   →       [B, H, Lq, Lk]
// The paper's a_t has a fixed length, of which a short sentence uses the first places and a long one's last words get nothing; here
// the softmax runs over the Lk places, and Lk > P is InvalidArgument, as are shapes that don't fit.
ATTEND_API Tensor location_score(const Tensor& query, std::int64_t keys, const Tensor& weight);

}  // namespace attend::addressing
