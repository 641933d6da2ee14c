// The soft read: scores → weights → weighted sum. Every mechanism of the addressing family ends here in its composed form.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "attend/addressing/dropout.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"
#include "attend/core/result.h"

namespace attend::addressing {

// How scores become weights.
enum class Normalizer {
  softmax,      // all visible keys, by exp(s)
  sparsemax,    // 0 for keys that are far behind (Martins 2016)
  entmax15,     // between the two (Peters 2019)
  entmax,       // the same for any `alpha`
  uniform,      // all visible keys alike; neither score nor bias matters, and the score isn't called
  hard_max,     // the best key alone; no gradient to the scores
  hard_sample,  // one key, drawn by its softmax weight; see score_function.h for its gradient (Xu 2015 §4.1)
};

// Which key Normalizer::hard_sample reads.
enum class Draw {
  sample,  // one drawn by its weight
  mode,    // the most probable one: nothing is drawn
};

// What a window says of the keys of each query. Both have four dimensions that broadcast to [B, Hq, Lq, Lk]; empty where it says nothing.
struct WindowTensors {
  std::optional<Tensor> keep;     // bool: false = outside; the weight is exactly 0
  std::optional<Tensor> factors;  // what weights are multiplied by after they are normalised; finite
};

// The window of each query [B, Hq, Lq, Dq] (rows that aren't finite come as zeros).
using WindowFunction = std::function<WindowTensors(const Tensor& query)>;

// What every mechanism of the family can be told.
struct ReadOptions {
  // c · tanh(s / c) after the scale and before bias and mask; 0: none.
  double soft_cap = 0.0;
  Normalizer normalizer = Normalizer::softmax;
  // Which keys are read for a query, and factors of their weights. Empty: all, and none.
  WindowFunction window = {};
  // Whether weights are divided by their sum after the window's factors.
  bool renormalised = false;
  // Of Normalizer::entmax: above 1; 1.5 and 2 are entmax15 and sparsemax.
  double alpha = 1.5;
  // Of Normalizer::hard_sample. A call that samples draws one seed from `generator`, before that of dropout, and places its rows by `dropout_origin`.
  Draw draw = Draw::sample;
  // Of Draw::sample: the probability that a query reads the expected value, by softmax weights, instead of a drawn key.
  double expected = 0.0;
  // Probability that a weight is dropped. A call draws one seed from `generator`; 0 draws none.
  double dropout = 0.0;
  // Empty: libtorch's default generator.
  std::optional<at::Generator> generator = {};
  DropoutOrigin dropout_origin = {};
  // Whether AttentionResult::weights is filled.
  bool return_weights = false;
  Path path = Path::automatic;
};

// s(q, k) of all pairs: query [B, Hq, Lq, Dq], key [B, Hkv, Lk, Dk] → [B, Hq, Lq, Lk]. It gets finite inputs.
using ScoreFunction = std::function<Tensor(const Tensor& query, const Tensor& key)>;

// A score that is scale · q'·k': what the fused kernels read without a score matrix.
struct DotForm {
  double scale = 1.0;
  // q' and k' [B, H, L, D'] of query and key, which are checked there; empty: they themselves. It gets finite inputs.
  std::function<std::pair<Tensor, Tensor>(const Tensor& query, const Tensor& key)> factors = {};
};

// A score that is Σ_a energy_a · tanh(q'_a + k'_a): what the fused kernels read without what a pair has in common being stored.
struct AdditiveForm {
  Tensor energy;  // [A]
  // q' [B, Hq, Lq, A] and k' [B, Hq, Lk, A] of query and key; empty: they themselves. It gets finite inputs.
  std::function<std::pair<Tensor, Tensor>(const Tensor& query, const Tensor& key)> terms = {};
};

// What is known of a score.
enum class ScoreForm {
  any,       // a function
  dot,       // a DotForm
  additive,  // an AdditiveForm
};

// context_i = Σ_j w_ij v_j with w = dropout(factor_ij · normalise(soft_cap(s(q_i, k_j)) + bias_ij)) over the keys that `mask` and the window
// let through; the factors are 1 where the window has none.
//   query  [B, Hq, Lq, Dq]
//   key    [B, Hkv, Lk, Dk]   Hq % Hkv = 0; head h reads head h / (Hq / Hkv)
//   value  [B, Hkv, Lk, Dv]
//   →      context [B, Hq, Lq, Dv], weights [B, Hq, Lq, Lk] before dropout where asked for; of hard_sample also log_probability and
//          entropy [B, Hq, Lq]
// float64 and float32; float16 and bfloat16 are computed in float32, also where keys and values alone are stored in them, beside a query in float32. B, Lq and Lk may be 0.
// A row with nothing to attend to: weights 0, context 0, gradients 0. NaN and infinity in a masked key or value change nothing; a row
// that may see one, or whose own query holds one, has a NaN context (and NaN weights, where it was the key or the query), and every
// other row and all gradients are as if the entry were 0.
// `where` is the public function named in messages. InvalidArgument where shapes, types or devices don't fit; NotSupported for Path::fused.
ATTEND_API AttentionResult read(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const ScoreFunction& score,
                                const Mask& mask = {}, const ReadOptions& options = {});

// The same for a score that has that form. Softmax weights are read by a fused kernel on the CPU, with its own backward pass: the score matrix is never stored, but
// where weights are asked for. Path::automatic leaves few queries, or few keys, to the composed form.
ATTEND_API AttentionResult read(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const DotForm& score,
                                const Mask& mask = {}, const ReadOptions& options = {});

// The same for an additive score. Softmax weights, whatever window, dropout and mask, are read by a fused kernel on the CPU, with its own backward pass; other
// normalisers get fused scores. Neither stores what a pair has in common, [B, Hq, Lq, Lk, A]. InvalidArgument also where the terms' shapes don't fit.
ATTEND_API AttentionResult read(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const AdditiveForm& score,
                                const Mask& mask = {}, const ReadOptions& options = {});

// Which path a call with these options and a score of this form takes, and why: one line.
ATTEND_API std::string explain(const ReadOptions& options, ScoreForm form = ScoreForm::any);

}  // namespace attend::addressing
