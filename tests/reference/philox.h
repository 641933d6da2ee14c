// Philox4x32-10 (Salmon 2011, "Parallel random numbers: as easy as 1, 2, 3"), one block at a time.
#pragma once

#include <array>
#include <cstdint>

namespace attend::reference {

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Whether weight (b, h, i, j) is dropped with probability p: word j mod 4 of the block with counter (b, h, i, j div 4) is below ⌊p·2³²⌋.
bool is_dropped(std::uint64_t seed, double probability, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j);

}  // namespace attend::reference
