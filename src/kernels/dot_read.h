// Dot-product attention of one query on the keys of one sequence, as a decoder reads at each step: scores, softmax and weighted sum in one call, and its
// backward pass. The additive score has the same in additive.h; many queries at once are those of dot_product.h.
//
//   weights = softmax_j(scale · query·key_j),  context = Σ_j weights_j · value_j
//
// NaN stays NaN. Results don't depend on how rows are spread over threads.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct DotReadSizes {
  std::int64_t keys = 0;    // Lk, at least 1
  std::int64_t width = 0;   // Dk
  std::int64_t values = 0;  // Dv
};

template <class T>
struct DotReadForward {
  const T* query;        // [Dk]
  const T* key;          // [Lk, Dk]
  const T* value;        // [Lk, Dv]
  T scale;
  T *weights, *context;  // [Lk], [Dv]
};
void dot_read_forward(const DotReadSizes& sizes, const DotReadForward<float>& row);
void dot_read_forward(const DotReadSizes& sizes, const DotReadForward<double>& row);

// From the weights that dot_read_forward() left behind. Those of key and value are left to the caller, who has the products of many queries: add_rows().
template <class T>
struct DotReadBackward {
  const T *key, *value, *weights;  // as above
  const T* context_gradient;       // [Dv]
  T scale;
  T* score_gradient;               // [Lk], of query·key_j
  T* query_gradient;               // [Dk]: added to
};
void dot_read_backward(const DotReadSizes& sizes, const DotReadBackward<float>& row);
void dot_read_backward(const DotReadSizes& sizes, const DotReadBackward<double>& row);

// out_j += Σ_t factor_tj · row_t: what many queries t give to the keys or the values of their sequence.
template <class T>
struct AddedRows {
  std::int64_t terms = 0, sums = 0, width = 0;
  const T* factors = nullptr;  // [terms, sums], factor_stride apart
  std::int64_t factor_stride = 0;
  const T* rows = nullptr;  // [terms, width], row_stride apart
  std::int64_t row_stride = 0;
  T* out = nullptr;  // [sums, width]
};
void add_rows(const AddedRows<float>& rows);
void add_rows(const AddedRows<double>& rows);

}  // namespace attend::kernels
