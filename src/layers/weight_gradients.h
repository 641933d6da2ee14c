// Gradients of the weights that all steps of a recurrent layer share, from the gradients of its rows. Private.
#pragma once

#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::layers {

// The rows first … end − 1 of a weight, which multiplied `rows`.
struct WeightShare {
  std::int64_t first = 0, end = 0;  // columns of the gradients
  Tensor rows;                      // [L, B, m]
  Tensor out;                       // [end − first, m], its rows whole
};

// out_ij = Σ_l Σ_b gradients_l,b,first+i · rows_lbj for each share, [L, B, n] the gradients: what stands in several shares is read and packed once. Both are on the CPU, in
// float32 or float64, as by with_whole_rows(). The same to the bit for any number of threads.
ATTEND_API void fill_weight_gradients(const Tensor& gradients, const std::vector<WeightShare>& shares);

// What such a gradient is written into: of the sizes of `weight`, contiguous however that lies.
inline Tensor empty_gradient(const Tensor& weight) { return at::empty(weight.sizes(), weight.options()); }

// Of a weight [n, m] that multiplied all rows [L, B, m].
ATTEND_API Tensor weight_gradient(const Tensor& gradients, const Tensor& rows);

// Of a bias [n] that was added to all of them.
inline Tensor bias_gradient(const Tensor& gradients) { return gradients.flatten(0, 1).sum(0); }

}  // namespace attend::layers
