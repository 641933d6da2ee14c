// Maxout of one row: the larger of each two neighbours, and its backward pass.
#pragma once

#include <cstdint>

namespace attend::kernels {

// largest_j = max(pairs_2j, pairs_2j+1), second_j = 1 where that is the second, 0 where it is the first, as of two equal ones. A NaN is the largest.
// pairs [2 · size], largest and second [size].
template <class T>
struct MaxoutForward {
  const T* pairs;
  T *largest, *second;
};
void maxout_forward(std::int64_t size, const MaxoutForward<float>& row);
void maxout_forward(std::int64_t size, const MaxoutForward<double>& row);

// The gradient of the pairs from that of the largest: 0 for the other one.
template <class T>
struct MaxoutBackward {
  const T *second, *largest_gradient;
  T* pairs_gradient;
};
void maxout_backward(std::int64_t size, const MaxoutBackward<float>& row);
void maxout_backward(std::int64_t size, const MaxoutBackward<double>& row);

}  // namespace attend::kernels
