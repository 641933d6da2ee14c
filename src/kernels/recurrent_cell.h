// One step of LSTM and GRU for one row of a batch, forward and backward, without the matrix products (packed_product.h has them).
// σ and tanh are exact to a few units in the last place of 1; NaN stays NaN. Results don't depend on how rows are spread over threads.
#pragma once

#include <cstdint>

namespace attend::kernels {

// gates [4H]: in: what goes into i, f, g, o; out: i = σ, f = σ, g = tanh, o = σ of it.
// cell = f ∘ cell_before + i ∘ g, tanh_cell = tanh(cell), hidden = o ∘ tanh_cell; each [H].
template <class T>
struct LstmForward {
  T* gates;
  const T* cell_before;
  T *cell, *tanh_cell, *hidden;
};
void lstm_forward(std::int64_t hidden_size, const LstmForward<float>& row);
void lstm_forward(std::int64_t hidden_size, const LstmForward<double>& row);

// The gradient of the inputs of the gates, [4H], from what lstm_forward() left behind. `cell_gradient` is read as the gradient of cell and left as that of
// cell_before.
template <class T>
struct LstmBackward {
  const T *gates, *cell_before, *tanh_cell, *hidden_gradient;
  T *cell_gradient, *gates_gradient;
};
void lstm_backward(std::int64_t hidden_size, const LstmBackward<float>& row);
void lstm_backward(std::int64_t hidden_size, const LstmBackward<double>& row);

// input [3H] and recurrent [3H] (W_h h + b_h, of r, z, n) in; out in gates [3H]: r = σ, z = σ, n = tanh(input_n + r ∘ recurrent_n).
// hidden = n + z ∘ (hidden_before − n).
template <class T>
struct GruForward {
  const T *input, *recurrent, *hidden_before;
  T *gates, *hidden;
};
void gru_forward(std::int64_t hidden_size, const GruForward<float>& row);
void gru_forward(std::int64_t hidden_size, const GruForward<double>& row);

// Gradients of input and of recurrent, [3H] each (they differ in n), and of hidden_before as far as it doesn't go through recurrent.
template <class T>
struct GruBackward {
  const T *gates, *recurrent, *hidden_before, *hidden_gradient;
  T *input_gradient, *recurrent_gradient, *hidden_before_gradient;
};
void gru_backward(std::int64_t hidden_size, const GruBackward<float>& row);
void gru_backward(std::int64_t hidden_size, const GruBackward<double>& row);

// The GRU whose reset gate acts before the product, W_hn (r ∘ h) + b_hn: in two parts, since that product stands between them.
// First: input and recurrent [3H] of r and z in; out in gates r = σ, z = σ, and reset_hidden = r ∘ hidden_before [H].
template <class T>
struct GruGatesForward {
  const T *input, *recurrent, *hidden_before;
  T *gates, *reset_hidden;
};
void gru_gates_forward(std::int64_t hidden_size, const GruGatesForward<float>& row);
void gru_gates_forward(std::int64_t hidden_size, const GruGatesForward<double>& row);

// Then: out in gates n = tanh(input_n + recurrent_n), recurrent_n the product; hidden = n + z ∘ (hidden_before − n).
template <class T>
struct GruCandidateForward {
  const T *input, *recurrent, *hidden_before;
  T *gates, *hidden;
};
void gru_candidate_forward(std::int64_t hidden_size, const GruCandidateForward<float>& row);
void gru_candidate_forward(std::int64_t hidden_size, const GruCandidateForward<double>& row);

// Backward in the other order. First: the gradients of what goes into z and n, in their places of gates_gradient [3H], and of hidden_before as far
// as it goes through neither gate.
template <class T>
struct GruCandidateBackward {
  const T *gates, *hidden_before, *hidden_gradient;
  T *gates_gradient, *hidden_before_gradient;
};
void gru_candidate_backward(std::int64_t hidden_size, const GruCandidateBackward<float>& row);
void gru_candidate_backward(std::int64_t hidden_size, const GruCandidateBackward<double>& row);

// Then, from the gradient of reset_hidden: that of what goes into r, in its place; what passes through r is added to hidden_before_gradient.
template <class T>
struct GruGatesBackward {
  const T *gates, *hidden_before, *reset_hidden_gradient;
  T *gates_gradient, *hidden_before_gradient;
};
void gru_gates_backward(std::int64_t hidden_size, const GruGatesBackward<float>& row);
void gru_gates_backward(std::int64_t hidden_size, const GruGatesBackward<double>& row);

// y = tanh(x), [size]; y may be x.
void tanh_forward(std::int64_t size, const float* x, float* y);
void tanh_forward(std::int64_t size, const double* x, double* y);

// From y = tanh(x) and the gradient of y that of x, [size]; it may take the place of the gradient of y.
void tanh_backward(std::int64_t size, const float* y, const float* y_gradient, float* x_gradient);
void tanh_backward(std::int64_t size, const double* y, const double* y_gradient, double* x_gradient);

}  // namespace attend::kernels
