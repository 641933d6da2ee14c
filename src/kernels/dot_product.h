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

// Numbers of type T that the packed keys and values of a head take, and what a call needs for itself.
template <class T>
std::int64_t packed_keys_size(const DotProductSizes& sizes);
template <class T>
std::int64_t packed_values_size(const DotProductSizes& sizes);
template <class T>
std::int64_t dot_product_scratch_size(const DotProductSizes& sizes);

// Rows of `key` and `value` lie `stride` numbers apart. Values are packed only where packed_values_needed(): rows no multiple of a vector.
template <class T>
bool packed_values_needed(const DotProductSizes& sizes);
void pack_keys(const DotProductSizes& sizes, const float* key, std::int64_t stride, float* packed);
void pack_keys(const DotProductSizes& sizes, const double* key, std::int64_t stride, double* packed);
template <class T>
void pack_values(const DotProductSizes& sizes, const T* value, std::int64_t stride, T* packed);

template <class T>
struct DotProductBlock {
  std::int64_t queries = 0;  // 1 … dot_product_block_queries
  const T* query = nullptr;  // [queries, Dk], rows query_stride apart
  std::int64_t query_stride = 0;
  const T* packed_keys = nullptr;
  const T* value = nullptr;  // [Lk, Dv], or packed
  std::int64_t value_stride = 0;
  double scale = 1, soft_cap = 0;
  const bool* keep = nullptr;  // [queries, Lk], rows keep_stride apart (0: one row for all); null: all are kept
  std::int64_t keep_stride = 0;
  const T* bias = nullptr;  // likewise
  std::int64_t bias_stride = 0;
  T* context = nullptr;  // [queries, Dv]
  std::int64_t context_stride = 0;
  T* scratch = nullptr;
};
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<float>& block);
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<double>& block);

}  // namespace attend::kernels
