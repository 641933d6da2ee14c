// Stochastic hard attention: one key of each row, drawn by its softmax weight.
#pragma once

#include <cstdint>
#include <optional>

#include "attend/addressing/dropout.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

struct HardSampleOptions {
  // Of the draw (draw_dropout_seed() makes one). Empty: nothing is drawn and each row takes its most probable key, as hard_max() does.
  std::optional<std::int64_t> seed = {};
  // Probability that a row has its softmax weights, the expected value of the one-hot, instead of a draw (Xu 2015 §4.1: 0.5). Needs a seed.
  double expected = 0.0;
  // Where the rows begin in a larger call, so that its parts draw what the whole would have drawn. `key` doesn't matter.
  DropoutOrigin origin = {};
};

struct HardSample {
  Tensor weights;          // [B, H, Lq, Lk]: one-hot of the drawn key, without a gradient; softmax weights in rows that took the expected value
  Tensor log_probability;  // [B, H, Lq]: log softmax(s) at the drawn key; 0, without a gradient, in rows that drew none
  Tensor entropy;          // [B, H, Lq]: −Σ_j p_j log p_j, p = softmax(s) over the visible keys; 0 in rows without one
};

// One key i of each row with probability p_i = softmax(s)_i over the visible keys (Xu 2015 §4.1, equations 8 and 9).
//   scores  [B, H, Lq, Lk]   minus infinity hides as well; a visible NaN makes its row NaN
//   keep    bool, broadcasts to the scores: true = visible; empty: all are
// The draw of row (b, h, i) is that of Philox4x32-10 with counter words (b, h, i, 0) and the seed's halves as key words: words 0 and 1 give a
// number of 53 bits in [0, 1), and the first key whose running sum of probabilities exceeds it is taken; word 2 < ⌊expected · 2³²⌋ takes the
// expected value. So a draw depends on the seed, on the row's place and on its visible scores alone: not on padding, threads or how a batch is cut.
// float64 and float32; half types are computed in float32, running sums in float64.
// Xu 2015 decides between draw and expected value once for an image; here each row decides for itself.
// InvalidArgument where the shapes don't fit or `expected` is out of range; NotSupported for scores that aren't floating-point.
ATTEND_API HardSample hard_sample(const Tensor& scores, const std::optional<Tensor>& keep, const HardSampleOptions& options);

}  // namespace attend::addressing
