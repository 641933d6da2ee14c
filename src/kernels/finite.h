// Whether numbers are all finite, at the speed of the memory that they lie in.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Neither NaN nor infinite.
bool all_finite(std::int64_t count, const float* numbers);
bool all_finite(std::int64_t count, const double* numbers);

}  // namespace attend::kernels
