// Whether numbers are all finite, and how long rows of them are at most, at the speed of the memory that they lie in.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Neither NaN nor infinite.
bool all_finite(std::int64_t count, const float* numbers);
bool all_finite(std::int64_t count, const double* numbers);

// The largest Σ_c x_ic² of rows `stride` apart. Not finite where a number isn't, or where squares overflow.
float largest_square(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride);
double largest_square(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride);

}  // namespace attend::kernels
