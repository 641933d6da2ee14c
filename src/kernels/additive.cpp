#include "kernels/additive.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/additive.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

// r = 1 / (1 + e^{2(q + k)}), from which tanh(q + k) = 1 − 2r and its slope is 4r(1 − r).
// From the two exponentials:
struct OfExponentials {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V query, V key) const {
    const V one = hn::Set(d, 1);
    return hn::Div(one, hn::MulAdd(query, key, one));
  }
};
// From q and k themselves:
struct OfSum {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V query, V key) const {
    const V one = hn::Set(d, 1), sum = hn::Add(query, key);
    return hn::Div(one, hn::Add(one, bounded_exp(d, hn::Add(sum, sum))));
  }
};

// Σ over vectors, then over the single lanes behind them.
template <class T, class F>
HWY_INLINE T sum_lanes(std::int64_t size, const F& at) {
  const hn::ScalableTag<T> vector;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(vector));
  auto first = hn::Zero(vector), second = hn::Zero(vector);  // two chains hide the additions' latency
  std::int64_t j = 0;
  for (; j + 2 * lanes <= size; j += 2 * lanes) {
    first = hn::Add(first, at(vector, j));
    second = hn::Add(second, at(vector, j + lanes));
  }
  for (; j + lanes <= size; j += lanes) first = hn::Add(first, at(vector, j));
  T sum = hn::GetLane(hn::SumOfLanes(vector, hn::Add(first, second)));
  for (const hn::CappedTag<T, 1> lane; j < size; ++j) sum += hn::GetLane(at(lane, j));
  return sum;
}

template <class T>
bool exponentials_row(std::int64_t count, const T* x, T* out) {
  bool fits = true;
  for_lanes<T>(count, [&](auto d, std::int64_t j) {
    const auto value = hn::LoadU(d, x + j);
    // NaN doesn't fit either
    fits = fits && hn::AllTrue(d, hn::Le(hn::Abs(value), hn::Set(d, exponent_limit<T>)));
    hn::StoreU(exponential(d, hn::Add(value, value)), d, out + j);
  });
  return fits;
}

// Scores into `scores`; returns the largest, NaN where one is NaN.
template <class T, class Fraction>
HWY_INLINE T score_keys(const AdditiveSizes& sizes, const T* query, const T* key, const T* energy, const Fraction& fraction, T* scores) {
  const std::int64_t A = sizes.hidden;
  const T total = sum_lanes<T>(A, [&](auto d, std::int64_t a) { return hn::LoadU(d, energy + a); });
  T largest = 0;
  for (std::int64_t j = 0; j < sizes.keys; ++j) {
    const T* k = key + j * A;
    const T part = sum_lanes<T>(A, [&](auto d, std::int64_t a) {
      return hn::Mul(hn::LoadU(d, energy + a), fraction(d, hn::LoadU(d, query + a), hn::LoadU(d, k + a)));
    });
    scores[j] = total - 2 * part;
    if (j == 0 || scores[j] > largest || scores[j] != scores[j]) largest = scores[j];
  }
  return largest;
}

// Scores → weights, in place.
template <class T>
HWY_INLINE void softmax_in_place(std::int64_t count, T largest, T* scores) {
  const auto shifted = [&](auto d, std::int64_t j) { return bounded_exp(d, hn::Sub(hn::LoadU(d, scores + j), hn::Set(d, largest))); };
  for_lanes<T>(count, [&](auto d, std::int64_t j) { hn::StoreU(shifted(d, j), d, scores + j); });
  const T sum = sum_lanes<T>(count, [&](auto d, std::int64_t j) { return hn::LoadU(d, scores + j); });
  const T scale = 1 / sum;
  for_lanes<T>(count, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, scores + j), hn::Set(d, scale)), d, scores + j); });
}

// context = Σ_j weights_j · value_j: four vectors of it stay in registers while the keys pass.
template <class T>
HWY_INLINE void weighted_sum(const AdditiveSizes& sizes, const T* weights, const T* value, T* context) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t Dv = sizes.values;
  std::int64_t c = 0;
  for (; c + 4 * lanes <= Dv; c += 4 * lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t j = 0; j < sizes.keys; ++j) {
      const T* v = value + j * Dv + c;
      const auto w = hn::Set(d, weights[j]);
      s0 = hn::MulAdd(w, hn::LoadU(d, v), s0);
      s1 = hn::MulAdd(w, hn::LoadU(d, v + lanes), s1);
      s2 = hn::MulAdd(w, hn::LoadU(d, v + 2 * lanes), s2);
      s3 = hn::MulAdd(w, hn::LoadU(d, v + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, context + c);
    hn::StoreU(s1, d, context + c + lanes);
    hn::StoreU(s2, d, context + c + 2 * lanes);
    hn::StoreU(s3, d, context + c + 3 * lanes);
  }
  for_lanes<T>(Dv - c, [&](auto one, std::int64_t i) {
    auto sum = hn::Zero(one);
    for (std::int64_t j = 0; j < sizes.keys; ++j) sum = hn::MulAdd(hn::Set(one, weights[j]), hn::LoadU(one, value + j * Dv + c + i), sum);
    hn::StoreU(sum, one, context + c + i);
  });
}

template <class T>
void forward_row(const AdditiveSizes& sizes, const AdditiveForward<T>& row) {
  const bool fits = row.key_exponentials != nullptr && exponentials_row(sizes.hidden, row.query, row.scratch);
  const T largest = fits ? score_keys(sizes, row.scratch, row.key_exponentials, row.energy, OfExponentials(), row.weights)
                         : score_keys(sizes, row.query, row.key, row.energy, OfSum(), row.weights);
  softmax_in_place(sizes.keys, largest, row.weights);
  weighted_sum(sizes, row.weights, row.value, row.context);
}

// The gradients of query, key and energy from those of the scores.
template <class T, class Fraction>
HWY_INLINE void score_gradients(const AdditiveSizes& sizes, const AdditiveBackward<T>& row, const T* query, const T* key, const Fraction& fraction,
                                const T* scores_gradient) {
  const std::int64_t A = sizes.hidden;
  for_lanes<T>(A, [&](auto d, std::int64_t a) {
    const auto one = hn::Set(d, 1), q = hn::LoadU(d, query + a);
    const auto four_energies = hn::Mul(hn::Set(d, 4), hn::LoadU(d, row.energy + a));
    auto of_query = hn::Zero(d), of_energy = hn::LoadU(d, row.energy_gradient + a);
    for (std::int64_t j = 0; j < sizes.keys; ++j) {
      const auto r = fraction(d, q, hn::LoadU(d, key + j * A + a));
      const auto de = hn::Set(d, scores_gradient[j]);
      const auto slope = hn::Mul(hn::Mul(de, four_energies), hn::Mul(r, hn::Sub(one, r)));
      T* const of_key = row.key_gradient + j * A + a;
      of_query = hn::Add(of_query, slope);
      hn::StoreU(hn::Add(hn::LoadU(d, of_key), slope), d, of_key);
      of_energy = hn::MulAdd(de, hn::Sub(one, hn::Add(r, r)), of_energy);
    }
    hn::StoreU(of_query, d, row.query_gradient + a);
    hn::StoreU(of_energy, d, row.energy_gradient + a);
  });
}

template <class T>
void backward_row(const AdditiveSizes& sizes, const AdditiveBackward<T>& row) {
  T* const scores_gradient = row.scratch + sizes.hidden;  // at first the weights'
  T mean = 0;
  for (std::int64_t j = 0; j < sizes.keys; ++j) {
    const T* v = row.value + j * sizes.values;
    scores_gradient[j] = sum_lanes<T>(sizes.values, [&](auto d, std::int64_t c) {
      return hn::Mul(hn::LoadU(d, v + c), hn::LoadU(d, row.context_gradient + c));
    });
    mean += row.weights[j] * scores_gradient[j];
  }
  for (std::int64_t j = 0; j < sizes.keys; ++j) scores_gradient[j] = row.weights[j] * (scores_gradient[j] - mean);
  if (row.key_exponentials != nullptr && exponentials_row(sizes.hidden, row.query, row.scratch))
    score_gradients(sizes, row, row.scratch, row.key_exponentials, OfExponentials(), scores_gradient);
  else
    score_gradients(sizes, row, row.query, row.key, OfSum(), scores_gradient);
}

bool exponentials_float(std::int64_t count, const float* x, float* out) { return exponentials_row(count, x, out); }
bool exponentials_double(std::int64_t count, const double* x, double* out) { return exponentials_row(count, x, out); }
void forward_float(const AdditiveSizes& sizes, const AdditiveForward<float>& row) { forward_row(sizes, row); }
void forward_double(const AdditiveSizes& sizes, const AdditiveForward<double>& row) { forward_row(sizes, row); }
void backward_float(const AdditiveSizes& sizes, const AdditiveBackward<float>& row) { backward_row(sizes, row); }
void backward_double(const AdditiveSizes& sizes, const AdditiveBackward<double>& row) { backward_row(sizes, row); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(exponentials_float);
HWY_EXPORT(exponentials_double);
HWY_EXPORT(forward_float);
HWY_EXPORT(forward_double);
HWY_EXPORT(backward_float);
HWY_EXPORT(backward_double);

bool doubled_exponentials(std::int64_t count, const float* x, float* out) { return HWY_DYNAMIC_DISPATCH(exponentials_float)(count, x, out); }
bool doubled_exponentials(std::int64_t count, const double* x, double* out) { return HWY_DYNAMIC_DISPATCH(exponentials_double)(count, x, out); }
void additive_forward(const AdditiveSizes& sizes, const AdditiveForward<float>& row) { HWY_DYNAMIC_DISPATCH(forward_float)(sizes, row); }
void additive_forward(const AdditiveSizes& sizes, const AdditiveForward<double>& row) { HWY_DYNAMIC_DISPATCH(forward_double)(sizes, row); }
void additive_backward(const AdditiveSizes& sizes, const AdditiveBackward<float>& row) { HWY_DYNAMIC_DISPATCH(backward_float)(sizes, row); }
void additive_backward(const AdditiveSizes& sizes, const AdditiveBackward<double>& row) { HWY_DYNAMIC_DISPATCH(backward_double)(sizes, row); }

}  // namespace attend::kernels
#endif
