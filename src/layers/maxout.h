// Maxout from libtorch's operations: the largest of each two neighbours (Goodfellow 2013). Private.
#pragma once

#include <tuple>

#include "attend/core/libtorch.h"

namespace attend::layers {

// [..., 2l] → [..., l]
inline Tensor maxout(const Tensor& pairs) { return std::get<0>(pairs.unflatten(-1, {pairs.size(-1) / 2, 2}).max(-1)); }

}  // namespace attend::layers
