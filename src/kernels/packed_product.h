// Products of rows with one matrix that is packed beforehand, for recurrent layers, which multiply by the same weight at each step:
//
//   out_r = start_r + Σ_k in_rk · matrix_k
//
// Each row is summed up in the order of k whatever rows stand beside it: results don't depend on how rows are spread over threads.
#pragma once

#include <cstdint>

namespace attend::kernels {

// A matrix [terms, sums] as it lies in memory: that of k and n is data[k · term_stride + n · sum_stride].
template <class T>
struct PlainMatrix {
  const T* data = nullptr;
  std::int64_t terms = 0, sums = 0;
  std::int64_t term_stride = 0, sum_stride = 0;
};

// How many numbers a packed matrix takes.
template <class T>
std::int64_t packed_size(std::int64_t terms, std::int64_t sums);
void pack_matrix(const PlainMatrix<float>& matrix, float* to);
void pack_matrix(const PlainMatrix<double>& matrix, double* to);

template <class T>
struct PackedProduct {
  std::int64_t rows = 0, terms = 0, sums = 0;
  const T* in = nullptr;  // [rows, terms], in_stride apart
  std::int64_t in_stride = 0;
  const T* packed = nullptr;  // of pack_matrix()
  const T* start = nullptr;   // [rows, sums], start_stride apart (0: one row for all); null: zeros; may be `out`
  std::int64_t start_stride = 0;
  T* out = nullptr;  // [rows, sums], out_stride apart
  std::int64_t out_stride = 0;
};
void packed_product(const PackedProduct<float>& product);
void packed_product(const PackedProduct<double>& product);

}  // namespace attend::kernels
