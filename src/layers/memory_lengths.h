// The lengths that decoders take of the memory they read. Private.
#pragma once

#include "attend/core/libtorch.h"

namespace attend::layers {

// int64 [B] on the device of `keys` [B, Lk, A], 1 to Lk each; undefined: all Lk. InvalidArgument of `where` where they don't fit.
Tensor lengths_of_memory(const char* where, const Tensor& lengths, const Tensor& keys);

}  // namespace attend::layers
