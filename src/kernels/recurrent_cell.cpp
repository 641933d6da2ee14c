#include "kernels/recurrent_cell.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/recurrent_cell.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// σ'(x) from σ(x), and tanh'(x) from tanh(x).
template <class D, class V>
HWY_INLINE V sigmoid_slope(D d, V y) {
  return hn::Mul(y, hn::Sub(hn::Set(d, 1), y));
}
template <class D, class V>
HWY_INLINE V tangent_slope(D d, V y) {
  return hn::NegMulAdd(y, y, hn::Set(d, 1));
}

template <class D, class T>
HWY_INLINE void lstm_forward_at(D d, std::int64_t size, std::int64_t j, const LstmForward<T>& row) {
  const auto i = sigmoid(d, hn::LoadU(d, row.gates + j)), f = sigmoid(d, hn::LoadU(d, row.gates + size + j));
  const auto g = hyperbolic_tangent(d, hn::LoadU(d, row.gates + 2 * size + j)), o = sigmoid(d, hn::LoadU(d, row.gates + 3 * size + j));
  const auto cell = hn::MulAdd(f, hn::LoadU(d, row.cell_before + j), hn::Mul(i, g));
  const auto tanh_cell = hyperbolic_tangent(d, cell);
  hn::StoreU(i, d, row.gates + j);
  hn::StoreU(f, d, row.gates + size + j);
  hn::StoreU(g, d, row.gates + 2 * size + j);
  hn::StoreU(o, d, row.gates + 3 * size + j);
  hn::StoreU(cell, d, row.cell + j);
  hn::StoreU(tanh_cell, d, row.tanh_cell + j);
  hn::StoreU(hn::Mul(o, tanh_cell), d, row.hidden + j);
}

template <class D, class T>
HWY_INLINE void lstm_backward_at(D d, std::int64_t size, std::int64_t j, const LstmBackward<T>& row) {
  const auto i = hn::LoadU(d, row.gates + j), f = hn::LoadU(d, row.gates + size + j);
  const auto g = hn::LoadU(d, row.gates + 2 * size + j), o = hn::LoadU(d, row.gates + 3 * size + j);
  const auto tanh_cell = hn::LoadU(d, row.tanh_cell + j), dh = hn::LoadU(d, row.hidden_gradient + j);
  const auto dc = hn::MulAdd(hn::Mul(dh, o), tangent_slope(d, tanh_cell), hn::LoadU(d, row.cell_gradient + j));
  hn::StoreU(hn::Mul(hn::Mul(dc, g), sigmoid_slope(d, i)), d, row.gates_gradient + j);
  hn::StoreU(hn::Mul(hn::Mul(dc, hn::LoadU(d, row.cell_before + j)), sigmoid_slope(d, f)), d, row.gates_gradient + size + j);
  hn::StoreU(hn::Mul(hn::Mul(dc, i), tangent_slope(d, g)), d, row.gates_gradient + 2 * size + j);
  hn::StoreU(hn::Mul(hn::Mul(dh, tanh_cell), sigmoid_slope(d, o)), d, row.gates_gradient + 3 * size + j);
  hn::StoreU(hn::Mul(dc, f), d, row.cell_gradient + j);
}

template <class D, class T>
HWY_INLINE void gru_forward_at(D d, std::int64_t size, std::int64_t j, const GruForward<T>& row) {
  const auto sum = [&](std::int64_t at) { return hn::Add(hn::LoadU(d, row.input + at), hn::LoadU(d, row.recurrent + at)); };
  const auto r = sigmoid(d, sum(j)), z = sigmoid(d, sum(size + j));
  const auto n = hyperbolic_tangent(
      d, hn::MulAdd(r, hn::LoadU(d, row.recurrent + 2 * size + j), hn::LoadU(d, row.input + 2 * size + j)));
  hn::StoreU(r, d, row.gates + j);
  hn::StoreU(z, d, row.gates + size + j);
  hn::StoreU(n, d, row.gates + 2 * size + j);
  hn::StoreU(hn::MulAdd(z, hn::Sub(hn::LoadU(d, row.hidden_before + j), n), n), d, row.hidden + j);
}

template <class D, class T>
HWY_INLINE void gru_backward_at(D d, std::int64_t size, std::int64_t j, const GruBackward<T>& row) {
  const auto r = hn::LoadU(d, row.gates + j), z = hn::LoadU(d, row.gates + size + j), n = hn::LoadU(d, row.gates + 2 * size + j);
  const auto dh = hn::LoadU(d, row.hidden_gradient + j);
  const auto dn = hn::Mul(hn::Mul(dh, hn::Sub(hn::Set(d, 1), z)), tangent_slope(d, n));
  const auto dz = hn::Mul(hn::Mul(dh, hn::Sub(hn::LoadU(d, row.hidden_before + j), n)), sigmoid_slope(d, z));
  const auto dr = hn::Mul(hn::Mul(dn, hn::LoadU(d, row.recurrent + 2 * size + j)), sigmoid_slope(d, r));
  hn::StoreU(dr, d, row.input_gradient + j);
  hn::StoreU(dz, d, row.input_gradient + size + j);
  hn::StoreU(dn, d, row.input_gradient + 2 * size + j);
  hn::StoreU(dr, d, row.recurrent_gradient + j);
  hn::StoreU(dz, d, row.recurrent_gradient + size + j);
  hn::StoreU(hn::Mul(dn, r), d, row.recurrent_gradient + 2 * size + j);
  hn::StoreU(hn::Mul(dh, z), d, row.hidden_before_gradient + j);
}

template <class D, class T>
HWY_INLINE void gru_gates_forward_at(D d, std::int64_t size, std::int64_t j, const GruGatesForward<T>& row) {
  const auto sum = [&](std::int64_t at) { return hn::Add(hn::LoadU(d, row.input + at), hn::LoadU(d, row.recurrent + at)); };
  const auto r = sigmoid(d, sum(j)), z = sigmoid(d, sum(size + j));
  hn::StoreU(r, d, row.gates + j);
  hn::StoreU(z, d, row.gates + size + j);
  hn::StoreU(hn::Mul(r, hn::LoadU(d, row.hidden_before + j)), d, row.reset_hidden + j);
}

template <class D, class T>
HWY_INLINE void gru_candidate_forward_at(D d, std::int64_t size, std::int64_t j, const GruCandidateForward<T>& row) {
  const auto n = hyperbolic_tangent(d, hn::Add(hn::LoadU(d, row.input + 2 * size + j), hn::LoadU(d, row.recurrent + 2 * size + j)));
  const auto z = hn::LoadU(d, row.gates + size + j);
  hn::StoreU(n, d, row.gates + 2 * size + j);
  hn::StoreU(hn::MulAdd(z, hn::Sub(hn::LoadU(d, row.hidden_before + j), n), n), d, row.hidden + j);
}

template <class D, class T>
HWY_INLINE void gru_candidate_backward_at(D d, std::int64_t size, std::int64_t j, const GruCandidateBackward<T>& row) {
  const auto z = hn::LoadU(d, row.gates + size + j), n = hn::LoadU(d, row.gates + 2 * size + j);
  const auto dh = hn::LoadU(d, row.hidden_gradient + j);
  const auto dz = hn::Mul(hn::Mul(dh, hn::Sub(hn::LoadU(d, row.hidden_before + j), n)), sigmoid_slope(d, z));
  hn::StoreU(dz, d, row.gates_gradient + size + j);
  hn::StoreU(hn::Mul(hn::Mul(dh, hn::Sub(hn::Set(d, 1), z)), tangent_slope(d, n)), d, row.gates_gradient + 2 * size + j);
  hn::StoreU(hn::Mul(dh, z), d, row.hidden_before_gradient + j);
}

template <class D, class T>
HWY_INLINE void gru_gates_backward_at(D d, std::int64_t j, const GruGatesBackward<T>& row) {
  const auto r = hn::LoadU(d, row.gates + j), through = hn::LoadU(d, row.reset_hidden_gradient + j);
  hn::StoreU(hn::Mul(hn::Mul(through, hn::LoadU(d, row.hidden_before + j)), sigmoid_slope(d, r)), d, row.gates_gradient + j);
  hn::StoreU(hn::MulAdd(through, r, hn::LoadU(d, row.hidden_before_gradient + j)), d, row.hidden_before_gradient + j);
}

template <class T>
void lstm_forward_row(std::int64_t size, const LstmForward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { lstm_forward_at(d, size, j, row); });
}
template <class T>
void lstm_backward_row(std::int64_t size, const LstmBackward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { lstm_backward_at(d, size, j, row); });
}
template <class T>
void gru_forward_row(std::int64_t size, const GruForward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { gru_forward_at(d, size, j, row); });
}
template <class T>
void gru_backward_row(std::int64_t size, const GruBackward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { gru_backward_at(d, size, j, row); });
}
template <class T>
void gru_gates_forward_row(std::int64_t size, const GruGatesForward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { gru_gates_forward_at(d, size, j, row); });
}
template <class T>
void gru_candidate_forward_row(std::int64_t size, const GruCandidateForward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { gru_candidate_forward_at(d, size, j, row); });
}
template <class T>
void gru_candidate_backward_row(std::int64_t size, const GruCandidateBackward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { gru_candidate_backward_at(d, size, j, row); });
}
template <class T>
void gru_gates_backward_row(std::int64_t size, const GruGatesBackward<T>& row) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { gru_gates_backward_at(d, j, row); });
}

template <class T>
void tanh_forward_row(std::int64_t size, const T* x, T* y) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) { hn::StoreU(hyperbolic_tangent(d, hn::LoadU(d, x + j)), d, y + j); });
}
template <class T>
void tanh_backward_row(std::int64_t size, const T* y, const T* y_gradient, T* x_gradient) {
  for_lanes<T>(size, [&](auto d, std::int64_t j) {
    hn::StoreU(hn::Mul(hn::LoadU(d, y_gradient + j), tangent_slope(d, hn::LoadU(d, y + j))), d, x_gradient + j);
  });
}

void lstm_forward_float(std::int64_t size, const LstmForward<float>& row) { lstm_forward_row(size, row); }
void lstm_forward_double(std::int64_t size, const LstmForward<double>& row) { lstm_forward_row(size, row); }
void lstm_backward_float(std::int64_t size, const LstmBackward<float>& row) { lstm_backward_row(size, row); }
void lstm_backward_double(std::int64_t size, const LstmBackward<double>& row) { lstm_backward_row(size, row); }
void gru_forward_float(std::int64_t size, const GruForward<float>& row) { gru_forward_row(size, row); }
void gru_forward_double(std::int64_t size, const GruForward<double>& row) { gru_forward_row(size, row); }
void gru_backward_float(std::int64_t size, const GruBackward<float>& row) { gru_backward_row(size, row); }
void gru_backward_double(std::int64_t size, const GruBackward<double>& row) { gru_backward_row(size, row); }
void gru_gates_forward_float(std::int64_t size, const GruGatesForward<float>& row) { gru_gates_forward_row(size, row); }
void gru_gates_forward_double(std::int64_t size, const GruGatesForward<double>& row) { gru_gates_forward_row(size, row); }
void gru_candidate_forward_float(std::int64_t size, const GruCandidateForward<float>& row) { gru_candidate_forward_row(size, row); }
void gru_candidate_forward_double(std::int64_t size, const GruCandidateForward<double>& row) { gru_candidate_forward_row(size, row); }
void gru_candidate_backward_float(std::int64_t size, const GruCandidateBackward<float>& row) { gru_candidate_backward_row(size, row); }
void gru_candidate_backward_double(std::int64_t size, const GruCandidateBackward<double>& row) { gru_candidate_backward_row(size, row); }
void gru_gates_backward_float(std::int64_t size, const GruGatesBackward<float>& row) { gru_gates_backward_row(size, row); }
void gru_gates_backward_double(std::int64_t size, const GruGatesBackward<double>& row) { gru_gates_backward_row(size, row); }
void tanh_forward_float(std::int64_t size, const float* x, float* y) { tanh_forward_row(size, x, y); }
void tanh_forward_double(std::int64_t size, const double* x, double* y) { tanh_forward_row(size, x, y); }
void tanh_backward_float(std::int64_t size, const float* y, const float* dy, float* dx) { tanh_backward_row(size, y, dy, dx); }
void tanh_backward_double(std::int64_t size, const double* y, const double* dy, double* dx) { tanh_backward_row(size, y, dy, dx); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(lstm_forward_float);
HWY_EXPORT(lstm_forward_double);
HWY_EXPORT(lstm_backward_float);
HWY_EXPORT(lstm_backward_double);
HWY_EXPORT(gru_forward_float);
HWY_EXPORT(gru_forward_double);
HWY_EXPORT(gru_backward_float);
HWY_EXPORT(gru_backward_double);
HWY_EXPORT(gru_gates_forward_float);
HWY_EXPORT(gru_gates_forward_double);
HWY_EXPORT(gru_candidate_forward_float);
HWY_EXPORT(gru_candidate_forward_double);
HWY_EXPORT(gru_candidate_backward_float);
HWY_EXPORT(gru_candidate_backward_double);
HWY_EXPORT(gru_gates_backward_float);
HWY_EXPORT(gru_gates_backward_double);
HWY_EXPORT(tanh_forward_float);
HWY_EXPORT(tanh_forward_double);
HWY_EXPORT(tanh_backward_float);
HWY_EXPORT(tanh_backward_double);

void lstm_forward(std::int64_t size, const LstmForward<float>& row) { HWY_DYNAMIC_DISPATCH(lstm_forward_float)(size, row); }
void lstm_forward(std::int64_t size, const LstmForward<double>& row) { HWY_DYNAMIC_DISPATCH(lstm_forward_double)(size, row); }
void lstm_backward(std::int64_t size, const LstmBackward<float>& row) { HWY_DYNAMIC_DISPATCH(lstm_backward_float)(size, row); }
void lstm_backward(std::int64_t size, const LstmBackward<double>& row) { HWY_DYNAMIC_DISPATCH(lstm_backward_double)(size, row); }
void gru_forward(std::int64_t size, const GruForward<float>& row) { HWY_DYNAMIC_DISPATCH(gru_forward_float)(size, row); }
void gru_forward(std::int64_t size, const GruForward<double>& row) { HWY_DYNAMIC_DISPATCH(gru_forward_double)(size, row); }
void gru_backward(std::int64_t size, const GruBackward<float>& row) { HWY_DYNAMIC_DISPATCH(gru_backward_float)(size, row); }
void gru_backward(std::int64_t size, const GruBackward<double>& row) { HWY_DYNAMIC_DISPATCH(gru_backward_double)(size, row); }
void gru_gates_forward(std::int64_t size, const GruGatesForward<float>& row) { HWY_DYNAMIC_DISPATCH(gru_gates_forward_float)(size, row); }
void gru_gates_forward(std::int64_t size, const GruGatesForward<double>& row) { HWY_DYNAMIC_DISPATCH(gru_gates_forward_double)(size, row); }
void gru_candidate_forward(std::int64_t size, const GruCandidateForward<float>& row) { HWY_DYNAMIC_DISPATCH(gru_candidate_forward_float)(size, row); }
void gru_candidate_forward(std::int64_t size, const GruCandidateForward<double>& row) { HWY_DYNAMIC_DISPATCH(gru_candidate_forward_double)(size, row); }
void gru_candidate_backward(std::int64_t size, const GruCandidateBackward<float>& row) { HWY_DYNAMIC_DISPATCH(gru_candidate_backward_float)(size, row); }
void gru_candidate_backward(std::int64_t size, const GruCandidateBackward<double>& row) { HWY_DYNAMIC_DISPATCH(gru_candidate_backward_double)(size, row); }
void gru_gates_backward(std::int64_t size, const GruGatesBackward<float>& row) { HWY_DYNAMIC_DISPATCH(gru_gates_backward_float)(size, row); }
void gru_gates_backward(std::int64_t size, const GruGatesBackward<double>& row) { HWY_DYNAMIC_DISPATCH(gru_gates_backward_double)(size, row); }
void tanh_forward(std::int64_t size, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(tanh_forward_float)(size, x, y); }
void tanh_forward(std::int64_t size, const double* x, double* y) { HWY_DYNAMIC_DISPATCH(tanh_forward_double)(size, x, y); }
void tanh_backward(std::int64_t size, const float* y, const float* dy, float* dx) { HWY_DYNAMIC_DISPATCH(tanh_backward_float)(size, y, dy, dx); }
void tanh_backward(std::int64_t size, const double* y, const double* dy, double* dx) { HWY_DYNAMIC_DISPATCH(tanh_backward_double)(size, y, dy, dx); }

}  // namespace attend::kernels
#endif
