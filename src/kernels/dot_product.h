// Dot-product attention for a block of queries of one head: scores, softmax and weighted sum in one pass over the keys, without the score matrix.
//
//   s_ij = soft_cap(scale · q_i·k_j) + bias_ij,  w_i = softmax(s_i) over the keys that are kept,  context_i = Σ_j w_ij · value_j
//
// Online softmax (Milakov and Gimelshein 2018; Dao 2022): each block of keys corrects what the blocks before it have summed up. Blocks that no query of
// the block may see are skipped. A query that sees nothing has context 0. Inputs are finite; NaN that arises on the way stays NaN. Results depend
// neither on threads nor on how queries are cut into blocks of block_queries.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct DotProductSizes {
  std::int64_t keys = 0;         // Lk
  std::int64_t key_width = 0;    // Dk
  std::int64_t value_width = 0;  // Dv
};

// The most queries of one block.
constexpr std::int64_t dot_product_block_queries = 96;

// Rows of `width` numbers as kernels read them one after another: a multiple of a vector wide, with zeros behind their end. Where padded_width() is
// `width` itself they needn't be copied.
template <class T>
std::int64_t padded_width(std::int64_t width);
template <class T>
void pad_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride, T* to);

// Rows of `width` numbers, `stride` apart, as kernels read many of them at once; and how many numbers that takes.
template <class T>
std::int64_t panels_size(std::int64_t rows, std::int64_t width);
void pack_panels(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float* to);
void pack_panels(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double* to);

template <class T>
struct DotProductBlock {
  std::int64_t queries = 0;  // 1 … dot_product_block_queries
  const T* query = nullptr;  // [queries, Dk], rows query_stride apart
  std::int64_t query_stride = 0;
  const T* key_panels = nullptr;  // of pack_panels(Lk, Dk, …)
  const T* value = nullptr;       // [Lk, padded_width(Dv)]
  std::int64_t value_stride = 0;
  double scale = 1, soft_cap = 0;
  const bool* keep = nullptr;  // [queries, Lk], rows keep_stride apart (0: one row for all); null: all are kept
  std::int64_t keep_stride = 0;
  const T* bias = nullptr;  // likewise
  std::int64_t bias_stride = 0;
  T* context = nullptr;  // [queries, Dv]
  std::int64_t context_stride = 0;
  T* log_sums = nullptr;  // [queries], for the backward pass: log₂ Σ_j 2^(s_ij · log₂ e), −∞ where nothing is seen; null: not wanted
  T* scratch = nullptr;   // of dot_product_scratch_size()
};
template <class T>
std::int64_t dot_product_scratch_size(const DotProductSizes& sizes);
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<float>& block);
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<double>& block);

// The backward pass of a block of queries and a block of keys: weights are computed again from log_sums. Rows of what is added to are as wide as
// padded_width(), and Dk and Dv here are those widths.
//
//   dw_ij = context_gradient_i · value_j,  ds_ij = w_ij (dw_ij − context_gradient_i · context_i)  (that of bias; times the slope of the soft cap below)
//   query_gradient_i += scale Σ_j ds_ij k_j,  key_gradient_j += scale Σ_i ds_ij q_i,  value_gradient_j += Σ_i w_ij context_gradient_i
constexpr std::int64_t dot_product_block_keys = 256;

template <class T>
struct DotProductGradients {
  std::int64_t queries = 0;  // 1 … dot_product_block_queries
  const T* query = nullptr;  // [queries, Dk]
  std::int64_t query_stride = 0;
  std::int64_t first_key = 0, keys = 0;  // the block of keys: first_key a multiple of dot_product_block_keys, keys at most that
  const T *key_panels = nullptr, *value_panels = nullptr;  // of all keys and values
  const T* key = nullptr;  // [Lk, Dk]
  std::int64_t key_stride = 0;
  double scale = 1, soft_cap = 0;
  const bool* keep = nullptr;  // as above: of all keys
  std::int64_t keep_stride = 0;
  const T* bias = nullptr;
  std::int64_t bias_stride = 0;
  const T* context_gradient = nullptr;  // [queries, Dv]
  std::int64_t context_gradient_stride = 0;
  const T *log_sums = nullptr, *context_products = nullptr;  // [queries]; context_gradient_i · context_i
  T* query_gradient = nullptr;                               // [queries, Dk], rows Dk apart
  T *key_gradient = nullptr, *value_gradient = nullptr;      // [Lk, Dk], [Lk, Dv]
  T* bias_gradient = nullptr;                                // [queries, Lk], written; null: not wanted
  std::int64_t bias_gradient_stride = 0;
  T* scratch = nullptr;  // of dot_product_gradients_scratch_size()
};
template <class T>
std::int64_t dot_product_gradients_scratch_size(const DotProductSizes& sizes);
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<float>& block);
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<double>& block);

}  // namespace attend::kernels
