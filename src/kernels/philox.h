#pragma once
#include <cstdint>
namespace attend::kernels {
void dropout_multipliers(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row, std::int64_t first_column, std::int64_t count, float* out);
void dropout_multipliers(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row, std::int64_t first_column, std::int64_t count, double* out);
}
