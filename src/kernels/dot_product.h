// Dot-product attention for a block of queries of one head: scores, softmax and weighted sum in one pass over the keys, without the score matrix.
//
//   s_ij = soft_cap(scale · q_i·k_j) + bias_ij,  w_i = softmax(s_i) over the keys that are seen,  context_i = Σ_j dropout_ij factor_ij w_ij · value_j
//
// Online softmax (Milakov and Gimelshein 2018; Dao 2022): each block of keys corrects what the blocks before it have summed up. What no query of a strip may
// see is skipped. A query that sees nothing has context 0. Inputs are finite; NaN that arises on the way stays NaN. Results don't depend on threads;
// queries are cut into blocks of dot_product_block_queries, and only where a block's bound of scores (score_bound) is of use does it change rounding.
#pragma once

#include <cstdint>
#include <limits>

namespace attend::kernels {

struct DotProductSizes {
  std::int64_t keys = 0;         // Lk
  std::int64_t key_width = 0;    // Dk
  std::int64_t value_width = 0;  // Dv
};

// What a query sees, and what its weights are multiplied by.
template <class T>
struct QueryRow {
  std::int64_t first_key = 0, end_key = std::numeric_limits<std::int64_t>::max();  // keys first … end − 1 are seen …
  const bool* keep = nullptr;                                                      // [Lk]: … where this is true; null: everywhere
  const T* bias = nullptr;                                                         // [Lk]; null: 0
  const T* factors = nullptr;                                                      // [Lk]; null: 1
  std::uint32_t batch = 0, head = 0, row = 0;                                      // its place for dropout
};

// Of weights: which are dropped is a matter of seed and place (philox.h).
struct WeightDropout {
  double probability = 0;  // 0: none
  std::uint64_t seed = 0;
  std::int64_t first_key = 0;  // the place of key 0
};

// How scores become weights.
struct DotProductForm {
  double scale = 1, soft_cap = 0;  // soft_cap 0: none
  bool renormalised = false;       // weights are divided by their sum after the factors
  WeightDropout dropout = {};
};

// The most queries and keys of one block: a strip's scores fit into the first cache, a block's keys and values into the second.
constexpr std::int64_t dot_product_block_queries = 96, dot_product_block_keys = 256;

constexpr double dot_product_small_scores = 40;

// Rows of `width` numbers as kernels read them one after another: a multiple of a vector wide, with zeros behind their end. Where padded_width() is
// `width` itself they needn't be copied.
template <class T>
std::int64_t padded_width(std::int64_t width);
template <class T>
void pad_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride, T* to);

// Rows of `width` numbers, `stride` apart, times `scale`, as kernels read many of them at once; and how many numbers that takes.
template <class T>
std::int64_t panels_size(std::int64_t rows, std::int64_t width);
void pack_panels(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float scale, float* to);
void pack_panels(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double scale, double* to);

// Rows of `width` numbers, `stride` apart, as kernels sum them up with many factors; and how many numbers that takes.
template <class T>
std::int64_t columns_size(std::int64_t rows, std::int64_t width);
void pack_columns(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float* to);
void pack_columns(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double* to);

// The scale of packed keys: scores come in units of `soft_cap` where there is one, else of log 2.
double key_panel_scale(const DotProductForm& form);

template <class T>
struct DotProductBlock {
  std::int64_t queries = 0;  // 1 … dot_product_block_queries
  const T* query = nullptr;  // [queries, Dk], rows query_stride apart
  std::int64_t query_stride = 0;
  const T* key_panels = nullptr;     // of pack_panels(Lk, Dk, …, key_panel_scale(form), …)
  const T* value_columns = nullptr;  // of pack_columns(Lk, Dv, …), which pays for many queries; null: there is
  const T* value = nullptr;          // [Lk, padded_width(Dv)]
  std::int64_t value_stride = 0;
  DotProductForm form = {};
  // No |s_ij · log₂ e| is larger. Up to dot_product_small_scores no largest score is looked for, and weights are summed up as powers of two of the scores
  // themselves: whoever gives a bound sees to it that values times 2^±bound neither overflow nor vanish.
  T score_bound = std::numeric_limits<T>::infinity();
  const QueryRow<T>* rows = nullptr;  // [queries]; null: all see all, without factors and dropout
  T* context = nullptr;               // [queries, Dv]
  std::int64_t context_stride = 0;
  T* log_sums = nullptr;  // [queries]: log₂ Σ_j 2^(s_ij · log₂ e), the sum with factors where weights are renormalised; −∞ where nothing is seen; null: not wanted
  T* scratch = nullptr;   // of dot_product_scratch_size()
};
template <class T>
std::int64_t dot_product_scratch_size(const DotProductSizes& sizes);
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<float>& block);
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<double>& block);

// The backward pass of a block of queries and a block of keys: weights are computed again from log_sums. Rows of what is read and added to are as wide as
// padded_width(), and Dk and Dv here are those widths. With m_ij = dropout_ij · factor_ij and f_ij = 1, or factor_ij where weights are renormalised:
//
//   dw_ij = m_ij context_gradient_i · value_j,  ds_ij = w_ij (dw_ij − f_ij context_gradient_i · context_i)  (that of bias; times the slope of the soft cap below)
//   query_gradient_i += scale Σ_j ds_ij k_j,  key_gradient_j += scale Σ_i ds_ij q_i,  value_gradient_j += Σ_i m_ij w_ij context_gradient_i
//   dfactor_ij = w_ij (dropout_ij context_gradient_i · value_j − [renormalised] context_gradient_i · context_i)
template <class T>
struct DotProductGradients {
  std::int64_t queries = 0;  // 1 … dot_product_block_queries
  const T* query = nullptr;  // [queries, Dk]
  std::int64_t query_stride = 0;
  std::int64_t first_key = 0, keys = 0;  // the block of keys: first_key a multiple of dot_product_block_keys, keys at most that
  const T *key_panels = nullptr, *value_panels = nullptr;  // of the keys from first_packed on, as above, and of the values with scale 1
  std::int64_t first_packed = 0;                           // a multiple of dot_product_block_keys, at most first_key
  const T* key_columns = nullptr;                          // of pack_columns(), of the keys from first_packed on
  DotProductForm form = {};
  const QueryRow<T>* rows = nullptr;    // as above
  const T* context_gradient = nullptr;  // [queries, Dv]
  std::int64_t context_gradient_stride = 0;
  const T *log_sums = nullptr, *context_products = nullptr;  // [queries]; context_gradient_i · context_i
  T* query_gradient = nullptr;                               // [queries, Dk], rows Dk apart
  T *key_gradient = nullptr, *value_gradient = nullptr;      // [Lk, Dk], [Lk, Dv]
  T *bias_gradient = nullptr, *factor_gradient = nullptr;    // [queries, Lk], rows pair_stride apart, written; null: not wanted
  std::int64_t pair_stride = 0;
  T* scratch = nullptr;  // of dot_product_gradients_scratch_size()
};
template <class T>
std::int64_t dot_product_gradients_scratch_size(const DotProductSizes& sizes);
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<float>& block);
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<double>& block);


// out_i = a_i · b_i for rows of `width` numbers: the context products.
void row_products(std::int64_t rows, std::int64_t width, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, float* out);
void row_products(std::int64_t rows, std::int64_t width, const double* a, std::int64_t a_stride, const double* b, std::int64_t b_stride, double* out);

}  // namespace attend::kernels
