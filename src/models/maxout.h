// Maxout: the largest of each two neighbours (Goodfellow 2013). Private.
#pragma once

#include "attend/core/libtorch.h"

namespace attend::models {

// [..., 2l] → [..., l]
inline Tensor maxout(const Tensor& pairs) { return pairs.unflatten(-1, {pairs.size(-1) / 2, 2}).amax(-1); }

}  // namespace attend::models
