// What every model that turns a sequence into a sequence offers: to a trainer, forward(); to a decoder, encode(), step() and reorder().
#pragma once

#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/tokens.h"

namespace attend::models {

// Padded sequences: tokens int64 [B, L], lengths int64 [B] from 1 to L.
struct TokenBatch {
  Tensor tokens, lengths;
};

// One term of what training minimises: Σ weight · value.
struct LossTerm {
  std::string name;
  Tensor value;  // a number
  double weight = 1.0;
};

struct ModelOutput {
  Tensor output;  // [B, Lt, V]: scores before the softmax
  std::vector<LossTerm> losses;
};

// What a decoder carries from step to step. Every tensor has the batch first, so that beams are reordered in one place.
struct DecoderState {
  std::vector<Tensor> tensors;
};

class ATTEND_API SequenceToSequence : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  ~SequenceToSequence() override;

  // Teacher forcing: the target begins with begin_token and ends with end_token; token t + 1 is predicted from tokens 0 … t.
  virtual ModelOutput forward(const TokenBatch& source, const TokenBatch& target) = 0;

  // Reads the source; the result is what the first step starts from.
  virtual DecoderState encode(const TokenBatch& source) = 0;

  // One step: the previous token of each sequence, int64 [B] → log-probabilities of the next one [B, V]. Replaces the state.
  virtual Tensor step(const Tensor& previous, DecoderState& state) = 0;

  // Takes the rows `rows`, int64 [N], of the state: to follow beams, or to drop sequences that are finished.
  static DecoderState reorder(const DecoderState& state, const Tensor& rows);

  // Path of the module whose recorded weights align target and source ("attention"), empty where there is none.
  virtual std::string alignment_module() const { return ""; }
};

// −Σ log p(target) over all tokens that are not padding, divided by their number; with label smoothing ε the target's one-hot becomes
// (1 − ε) one-hot + ε / V (Szegedy 2016 §7).
//   logits  [B, L, V], target int64 [B, L]
ATTEND_API Tensor cross_entropy(const Tensor& logits, const Tensor& target, double label_smoothing);

}  // namespace attend::models
