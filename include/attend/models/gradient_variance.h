// How noisy the gradient of a sampled attention is, with and without its baseline.
#pragma once

#include <cstdint>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/models/sequence_to_sequence.h"

namespace attend::models {

struct GradientVarianceOptions {
  // N, the draws that are compared, at least 2.
  std::int64_t draws = 100;
  // Draws by which the baseline settles on this batch before anything is measured, as it would in training. It starts from the model's own, which is 0
  // in a fresh model and then no baseline at all.
  std::int64_t settle = 50;
  // All chance comes from it.
  std::int64_t seed = 1;
};

struct GradientVariance {
  // Of N gradients g_n of all P parameters that are measured, as one vector.
  struct Moments {
    Tensor mean;          // [P] float64: Σ g_n / N
    double variance = 0;  // Σ ‖g_n − mean‖² / (N − 1): of one gradient, all parameters together
  };
  Moments with_baseline, without_baseline;  // of the same draws
  double baseline = 0;                      // b of the former
  std::int64_t draws = 0;
};

// The gradient of the whole training loss with respect to the attention's parameters (all of the model's where it has none), over N draws of the same
// batch. Only the attention trains, and draws: nothing is dropped elsewhere, labels aren't smoothed. The two differ in nothing but b, so that their means
// differ by chance alone: by about √(variance / N). A model whose option `baseline` is off has b as it stands: 0.
// Parameters, their gradients, the model's modes, its baseline and libtorch's default generator are left as they were.
// InvalidArgument for options out of range, and where the model's attention draws nothing: it needs normaliser hard-sample.
ATTEND_API GradientVariance gradient_variance(SequenceToSequence& model, const TokenBatch& source, const TokenBatch& target,
                                              const GradientVarianceOptions& options = {});

}  // namespace attend::models
