// What the machine can do at most, to measure kernels against: multiply-adds without memory, and memory without arithmetic. One thread each.
#pragma once

#include <cstdint>

#include "attend/base/api.h"

namespace attend::kernels {

// Chains of multiply-adds that don't wait for one another: two units with a latency of five need ten, and twelve with two factors fit into sixteen registers.
inline constexpr std::int64_t multiply_add_chains_count = 12;

struct MultiplyAdds {
  double operations;  // two for each multiply-add
  double sum;         // of all lanes of all chains, so that none can be left out
};

// Each lane of chain i begins at i and takes x ← x/2 + 1 for `rounds` rounds, in registers, at the widest vectors of float32 that this machine has.
ATTEND_API MultiplyAdds multiply_add_chains(std::int64_t rounds);

// Σ data, in the order that reads fastest.
ATTEND_API double read_sweep(std::int64_t count, const float* data);

}  // namespace attend::kernels
