// The teacher-forced decoder of RNNsearch: a GRU or LSTM that reads a memory by additive attention before each step, over a whole sequence at once.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/result.h"
#include "attend/layers/recurrent.h"

namespace attend::layers {

// G gates: 3 of a GRU (r, z, n), 4 of an LSTM (i, f, g, o).
struct AttentiveDecoderInput {
  Cell cell = Cell::gru;
  Tensor tokens;          // y_0 … y_{L−1} [B, L, E]: the token before each step
  Tensor token_weight;    // W [G·D, E]
  Tensor token_bias;      // b [G·D]
  Tensor first;           // s_0 [B, D]
  Tensor first_cell{};    // LSTM: m_0 [B, D]
  Tensor keys;            // U_a h_j + b_a [B, Lk, A]
  Tensor memory;          // h_j [B, Lk, M]
  Tensor lengths;         // int64 [B]: real places of the memory, from 1 to Lk; undefined: all
  Tensor query_weight;    // W_a [A, D]
  Tensor energy;          // v_a [A]
  Tensor context_weight;  // C [G·D, M]
  Tensor state_weight;    // U [G·D, D]
};

struct AttentiveDecoderResult {
  Tensor states;    // s_0 … s_{L−1} [B, L, D]: those that asked; the state after the last step is read by nobody
  Tensor contexts;  // c_1 … c_L [B, L, M]
  Tensor weights;   // α [B, L, Lk], 0 in padding; no gradient flows through it
};

// α_i = softmax_j(v_aᵀ tanh(W_a s_{i−1} + U_a h_j + b_a)),  c_i = Σ_j α_ij h_j                      (Bahdanau 2014 appendix A.1.2)
// GRU:   r_i, z_i = σ(x_i + U s_{i−1} + C c_i),  n_i = tanh(x_i + U (r_i ∘ s_{i−1}) + C c_i),  s_i = (1 − z_i) ∘ n_i + z_i ∘ s_{i−1}     (A.2.2)
// LSTM:  i_i, f_i, o_i = σ(x_i + U s_{i−1} + C c_i),  g_i = tanh(x_i + U s_{i−1} + C c_i),  m_i = f_i ∘ m_{i−1} + i_i ∘ g_i,  s_i = o_i ∘ tanh(m_i)
// where x_i = W y_{i−1} + b, and each gate has its part of x, U and C. The LSTM is not in the paper.
// fused: one operation with a backward pass of its own, on the CPU in float32 and float64; composed: step by step from libtorch's operations, also what
// a second derivative is computed with. Edge cases as of addressing::read().
// InvalidArgument where a shape, type or length doesn't fit; NotSupported where Path::fused is impossible.
ATTEND_API AttentiveDecoderResult attentive_decoder(const AttentiveDecoderInput& input, Path path = Path::automatic);

}  // namespace attend::layers
