// Additive attention of one query on the keys of one sequence: scores, softmax and weighted sum in one call, and its backward pass. What a query and
// a key have in common is never stored.
//
//   score_j = Σ_a energy_a · tanh(query_a + key_ja),  weights = softmax(scores),  context = Σ_j weights_j · value_j
//
// tanh(q + k) = 1 − 2 / (1 + e^{2q} · e^{2k}): the keys' exponentials are taken once, however many queries ask. They fit where |q|, |k| ≤ exponent_limit;
// elsewhere the sum's exponential is taken. NaN stays NaN. Results don't depend on how rows are spread over threads.
#pragma once

#include <cstdint>

namespace attend::kernels {

template <class T>
constexpr T exponent_limit = sizeof(T) == 4 ? T(40) : T(300);

// out = e^{2x}, of |x| ≤ exponent_limit; returns whether all are. Where not, out is of no use.
bool doubled_exponentials(std::int64_t count, const float* x, float* out);
bool doubled_exponentials(std::int64_t count, const double* x, double* out);

struct AdditiveSizes {
  std::int64_t keys = 0;    // Lk, at least 1
  std::int64_t hidden = 0;  // A
  std::int64_t values = 0;  // Dv
};

template <class T>
struct AdditiveForward {
  const T* query;             // [A]
  const T* key;               // [Lk, A]
  const T* key_exponentials;  // [Lk, A] of doubled_exponentials(); null where they don't fit
  const T* energy;            // [A]
  const T* value;             // [Lk, Dv]
  T* scratch;                 // [A]
  T *weights, *context;       // [Lk], [Dv]
};
void additive_forward(const AdditiveSizes& sizes, const AdditiveForward<float>& row);
void additive_forward(const AdditiveSizes& sizes, const AdditiveForward<double>& row);

// Gradients from the weights that additive_forward() left behind. That of value is left to the caller, who has the products of many queries.
template <class T>
struct AdditiveBackward {
  const T *query, *key, *key_exponentials, *energy, *value, *weights;  // as above
  const T* context_gradient;                                           // [Dv]
  T* scratch;                                                          // [A + Lk]
  T* query_gradient;                                                   // [A]
  T *key_gradient, *energy_gradient;                                   // [Lk, A], [A]: added to
};
void additive_backward(const AdditiveSizes& sizes, const AdditiveBackward<float>& row);
void additive_backward(const AdditiveSizes& sizes, const AdditiveBackward<double>& row);

}  // namespace attend::kernels
