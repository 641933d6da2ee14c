// From the scores of a block of queries with the keys of one head to their weights and what these read, and the way back. For scores that have a kernel of
// their own, as the additive ones.
//
//   s_ij = soft_cap(score_ij) + bias_ij,  p_i = softmax(s_i) over the keys that are kept,  w_ij = p_ij · factor_ij (divided by Σ_j of them where renormalised),
//   context_i = Σ_j multiplier_ij · w_ij · value_j with the multipliers of dropout_multipliers()
//
// A query that sees nothing has weights 0. NaN stays NaN. Results depend neither on threads nor on how queries are cut into blocks.
#pragma once

#include <cstdint>

namespace attend::kernels {

struct SoftReadSizes {
  std::int64_t keys = 0;    // Lk
  std::int64_t values = 0;  // Dv
};

// The most queries of one block, and how far rows of scores lie apart: vectors reach beyond the last key.
constexpr std::int64_t soft_read_block_queries = 16;
constexpr std::int64_t soft_read_stride(std::int64_t keys) { return (keys + 15) / 16 * 16; }

// What stands between scores and context, of the block's queries; rows lie `…_stride` apart (0: one row for all).
template <class T>
struct SoftReadRules {
  double soft_cap = 0;
  const bool* keep = nullptr;  // [queries, Lk]; null: all are kept
  std::int64_t keep_stride = 0;
  const T* bias = nullptr;  // [queries, Lk] or null
  std::int64_t bias_stride = 0;
  const T* factors = nullptr;  // [queries, Lk] or null
  std::int64_t factors_stride = 0;
  bool renormalised = false;
  double dropout = 0;  // probability; 0: nothing is dropped
  std::uint64_t seed = 0;
  std::uint32_t batch = 0, head = 0, first_row = 0;  // of the block's first query, for dropout
  std::int64_t first_column = 0;
};

template <class T>
struct SoftRead {
  std::int64_t queries = 0;  // 1 … soft_read_block_queries
  std::int64_t keys = 0;     // no query sees a key behind these first ones
  T* scores = nullptr;       // [queries, soft_read_stride(Lk)], lost
  SoftReadRules<T> rules;
  const T* value = nullptr;  // [Lk, Dv]
  std::int64_t value_stride = 0;
  T* probabilities = nullptr;  // p [queries, Lk]
  T* capped = nullptr;         // soft_cap(score) [queries, Lk]; null: not wanted
  T* weights = nullptr;        // w [queries, Lk]; null: not wanted
  T* context = nullptr;        // [queries, Dv]
  std::int64_t context_stride = 0;
  T* scratch = nullptr;  // of soft_read_scratch_size()
};
std::int64_t soft_read_scratch_size(const SoftReadSizes& sizes);
void soft_read(const SoftReadSizes& sizes, const SoftRead<float>& block);
void soft_read(const SoftReadSizes& sizes, const SoftRead<double>& block);

// Gradients of scores, bias and factors. Rows are Lk apart where nothing else is said.
template <class T>
struct SoftReadBackward {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  SoftReadRules<T> rules;
  const T *probabilities = nullptr, *capped = nullptr;  // of soft_read(); capped where there is a soft cap
  const T* value = nullptr;
  std::int64_t value_stride = 0;
  const T* context_gradient = nullptr;  // [queries, Dv]; null: 0
  std::int64_t context_gradient_stride = 0;
  const T* weights_gradient = nullptr;  // [queries, Lk], of the weights before dropout; null: 0
  T* scores_gradient = nullptr;         // [queries, Lk]
  T *bias_gradient = nullptr, *factors_gradient = nullptr;  // [queries, Lk]; null: not wanted
  T* used = nullptr;                                        // multiplier · w [queries, Lk]; null: not wanted
  T* scratch = nullptr;                                     // of soft_read_scratch_size()
};
void soft_read_backward(const SoftReadSizes& sizes, const SoftReadBackward<float>& block);
void soft_read_backward(const SoftReadSizes& sizes, const SoftReadBackward<double>& block);

// value_gradient_j = Σ_i used_ij · context_gradient_i for keys first_key … first_key + count − 1, over all queries.
template <class T>
struct SoftReadValues {
  std::int64_t queries = 0, first_key = 0, count = 0;
  const T* used = nullptr;              // [queries, Lk]: of soft_read_backward(), or the weights where nothing is dropped
  const T* context_gradient = nullptr;  // [queries, Dv]
  std::int64_t context_gradient_stride = 0;
  T* value_gradient = nullptr;  // [Lk, Dv], rows Dv apart
};
void soft_read_value_gradient(const SoftReadSizes& sizes, const SoftReadValues<float>& block);
void soft_read_value_gradient(const SoftReadSizes& sizes, const SoftReadValues<double>& block);

}  // namespace attend::kernels
