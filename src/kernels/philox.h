// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and the dropout of attention
// weights that it decides: counter-based, so that path, threads, padding and order of evaluation don't matter (semantics, rule 16).
#pragma once

#include <array>
#include <cstdint>

namespace attend::kernels {

// Ten rounds: four random words for a counter and a key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// What weights (batch, head, row, first_column … first_column + count - 1) are multiplied by: 0 where they are dropped, else
// 1 / (1 - probability). Weight j is dropped where word j mod 4 for the counter (batch, head, row, j div 4) and the key (low half of the
// seed, high half) is below floor(probability · 2^32). 0 <= probability <= 1 (with 1 all are 0); 0 <= first_column. Any part of a row
// equals that part of the whole row, on every SIMD target.
void dropout_multipliers(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row,
                         std::int64_t first_column, std::int64_t count, float* out);
void dropout_multipliers(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row,
                         std::int64_t first_column, std::int64_t count, double* out);

}  // namespace attend::kernels
