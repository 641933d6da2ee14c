// Additive scores of a block of queries with the keys of one head, and their gradients. What a query and a key have in common is never stored.
//
//   score_ij = Σ_a energy_a · tanh(query_ia + key_ja)
//
// tanh(q + k) = 1 − 2r with r = Q / (Q + K), Q = e^{−2q}, K = e^{2k}: exponentials are taken once for each query and key, and a pair costs an addition, a
// reciprocal and what sums it up. Arguments are bounded at ±additive_bound before their exponentials. That leaves tanh as it is to the last bit, but where
// both are large and cancel: such pairs of rows take the exponential of their sum. NaN stays NaN. Results depend neither on threads nor on how rows are spread over blocks.
#pragma once

#include <cstdint>

#include "kernels/additive.h"

namespace attend::kernels {

// Products of two sums Q + K don't overflow.
template <class T>
constexpr T additive_bound = sizeof(T) == 4 ? T(20) : T(160);
// tanh is ±1 to the last bit from here on.
template <class T>
constexpr T additive_saturation = sizeof(T) == 4 ? T(10) : T(20);
// Energies beyond it take the long way too.
template <class T>
constexpr T additive_largest_energy = sizeof(T) == 4 ? T(1000) : T(1e12);

// The most queries of one block.
constexpr std::int64_t additive_block_queries = 16;

// How many numbers the exponentials of all keys of a head take, and those of keys first_key … first_key + count − 1 into their places; `largest` [Lk] gets
// the largest magnitude of each row.
template <class T>
std::int64_t additive_exponentials_size(const AdditiveSizes& sizes);
void additive_exponentials(const AdditiveSizes& sizes, std::int64_t first_key, std::int64_t count, const float* key, std::int64_t key_stride, float* to,
                           float* largest);
void additive_exponentials(const AdditiveSizes& sizes, std::int64_t first_key, std::int64_t count, const double* key, std::int64_t key_stride, double* to,
                           double* largest);

template <class T>
struct AdditiveScores {
  std::int64_t queries = 0;      // 1 … additive_block_queries
  std::int64_t keys = 0;         // the first of all keys that are scored
  const T* query = nullptr;      // [queries, A], rows query_stride apart
  std::int64_t query_stride = 0;
  const T* key = nullptr;        // [Lk, A]
  std::int64_t key_stride = 0;
  const T *exponentials = nullptr, *largest = nullptr;  // of additive_exponentials() for all keys
  const T* energy = nullptr;                            // [A]
  T* scores = nullptr;                                  // [queries, keys]
  std::int64_t scores_stride = 0;
  T* scratch = nullptr;  // of additive_scores_scratch_size()
};
template <class T>
std::int64_t additive_scores_scratch_size(const AdditiveSizes& sizes);
void additive_scores(const AdditiveSizes& sizes, const AdditiveScores<float>& block);
void additive_scores(const AdditiveSizes& sizes, const AdditiveScores<double>& block);

// Gradients of all queries and keys of a head in some of the hidden units, those from `first_unit` on: as many as a vector has lanes, or what is left.
//
//   query_gradient_ia = energy_a Σ_j ds_ij (1 − tanh²),  key_gradient_ja = energy_a Σ_i ds_ij (1 − tanh²),  energy_gradient_a = Σ_ij ds_ij tanh
template <class T>
std::int64_t additive_units();

template <class T>
struct AdditiveScoresBackward {
  std::int64_t queries = 0;
  std::int64_t keys = 0;  // the first of all keys that were scored: the others get 0
  std::int64_t first_unit = 0;
  const T* query = nullptr;  // [queries, A]
  std::int64_t query_stride = 0;
  const T* key = nullptr;  // [Lk, A]
  std::int64_t key_stride = 0;
  const T* energy = nullptr;           // [A]
  const T* scores_gradient = nullptr;  // ds [queries, keys], rows scores_gradient_stride apart with 0 between them
  std::int64_t scores_gradient_stride = 0;
  T* query_gradient = nullptr;  // [queries, A], rows A apart; these units are written
  T* key_gradient = nullptr;    // [Lk, A], likewise
  T* energy_gradient = nullptr;  // [A], likewise
  T* scratch = nullptr;          // of additive_backward_scratch_size()
};
template <class T>
std::int64_t additive_backward_scratch_size(std::int64_t queries, std::int64_t keys);
void additive_scores_backward(const AdditiveSizes& sizes, const AdditiveScoresBackward<float>& block);
void additive_scores_backward(const AdditiveSizes& sizes, const AdditiveScoresBackward<double>& block);

}  // namespace attend::kernels
