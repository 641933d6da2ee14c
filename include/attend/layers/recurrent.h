// Recurrent layers: GRU and LSTM over whole sequences, one or more layers, one direction or both.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"
#include "attend/core/result.h"

namespace attend {
namespace layers {

enum class Cell { gru, lstm };

// Where a GRU's reset gate acts: on the product with the state, or on the state before it.
enum class Reset { after, before };

}  // namespace layers

template <>
struct EnumNames<layers::Cell> {
  static constexpr EnumName<layers::Cell> values[] = {{layers::Cell::gru, "gru"}, {layers::Cell::lstm, "lstm"}};
};
template <>
struct EnumNames<layers::Reset> {
  static constexpr EnumName<layers::Reset> values[] = {{layers::Reset::after, "after"}, {layers::Reset::before, "before"}};
};

namespace layers {

struct RecurrentOptions {
  Cell cell = Cell::lstm;
  std::int64_t layers = 1;
  // One more network reads each sequence from its end; outputs are concatenated.
  bool bidirectional = false;
  // Probability that an output of a layer below the last is dropped while training.
  double dropout = 0.0;
  // fused: one operation for a whole sequence with a backward pass of its own (CPU, float32 and float64); composed: step by step.
  Path path = Path::automatic;
  // GRU only.
  Reset reset = Reset::after;
};

// What a network carries from step to step: hidden and, for an LSTM, cell: [B, layers · directions, H], batch first, so that beams can be reordered as
// any other tensor of a decoder's state.
struct RecurrentState {
  Tensor hidden, cell;
};

struct RecurrentResult {
  Tensor output;         // [B, L, H · directions]; 0 in padding
  RecurrentState state;  // after the last real step of each direction
};

// GRU:   r = σ(W_ir x + b_ir + W_hr h + b_hr),  z likewise,  n = tanh(W_in x + b_in + r ∘ (W_hn h + b_hn)),  h' = (1 − z) ∘ n + z ∘ h
//        (Cho 2014 appendix A, with the reset gate applied after the product, as cuDNN does); with Reset::before as the paper has it:
//        n = tanh(W_in x + b_in + W_hn (r ∘ h) + b_hn)   (also Bahdanau 2014 appendix A.1.1; ONNX's linear_before_reset = 0)
// LSTM:  i, f, o = σ(…),  g = tanh(…),  c' = f ∘ c + i ∘ g,  h' = o ∘ tanh(c')   (Hochreiter 1997 with forget gates, Gers 2000)
// Parameters have PyTorch's names, shapes and gate order: weight_ih_l0 [G·H, E], weight_hh_l0 [G·H, H], bias_ih_l0, bias_hh_l0 [G·H], `_reverse` behind those of
// the second direction; all uniform in ±√(1/H), the LSTM's forget gate biases summing to 1 (Jozefowicz 2015).
class ATTEND_API RecurrentImpl : public torch::nn::Cloneable<RecurrentImpl> {
 public:
  RecurrentImpl(std::int64_t input_size, std::int64_t hidden_size, RecurrentOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // input [B, L, E] with L ≥ 1; lengths int64 [B] from 1 to L, undefined where no sequence is padded; `initial` undefined: zeros.
  // InvalidArgument where a shape, type or length doesn't fit; NotSupported where Path::fused is impossible.
  RecurrentResult forward(const Tensor& input, const Tensor& lengths = {}, const RecurrentState& initial = {});

  std::int64_t directions() const { return options_.bidirectional ? 2 : 1; }

 private:
  Tensor real_steps(const Tensor& input, const Tensor& lengths) const;

  std::int64_t input_size_, hidden_size_;
  RecurrentOptions options_;
  std::vector<Tensor> weights_;
};
TORCH_MODULE(Recurrent);

// One step of one GRU layer, for decoders whose input at a step depends on the state before it:
//   projected         [B, 3H]   W_i x + b_i, of r, z and n
//   hidden            [B, H]    the state before
//   recurrent_weight  [3H, H], recurrent_bias [3H]
//   →                 [B, H]    the state after
// Types and devices as of Recurrent with Path::automatic. InvalidArgument where a shape or type doesn't fit.
ATTEND_API Tensor gru_step(const Tensor& projected, const Tensor& hidden, const Tensor& recurrent_weight, const Tensor& recurrent_bias,
                           Reset reset = Reset::after);

// The same of an LSTM, of i, f, g and o:
//   projected         [B, 4H]   W_i x + b_i + b_h
//   before            hidden and cell, [B, H] each
//   recurrent_weight  [4H, H]
//   →                 hidden and cell after the step, [B, H] each
ATTEND_API RecurrentState lstm_step(const Tensor& projected, const RecurrentState& before, const Tensor& recurrent_weight);

}  // namespace layers
}  // namespace attend
