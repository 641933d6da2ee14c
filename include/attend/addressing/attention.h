// The attention module: a score, a normaliser and a window, put together by options.
#pragma once

#include <string>

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"
#include "attend/core/options.h"
#include "attend/core/result.h"

namespace attend {

template <>
struct EnumNames<addressing::Normalizer> {
  static constexpr EnumName<addressing::Normalizer> values[] = {
      {addressing::Normalizer::softmax, "softmax"}, {addressing::Normalizer::sparsemax, "sparsemax"},
      {addressing::Normalizer::entmax15, "entmax15"}, {addressing::Normalizer::entmax, "entmax"},
      {addressing::Normalizer::uniform, "uniform"}, {addressing::Normalizer::hard_max, "hard-max"},
      {addressing::Normalizer::hard_sample, "hard-sample"}};
};

namespace addressing {

// How a query and a key are compared.
enum class Score {
  dot,         // q·k
  scaled_dot,  // q·k / √D
  general,     // qᵀ W k
  additive,    // vᵀ tanh(W_q q + W_k k + b)
};

// Which keys are read for a query.
enum class Window { global };

}  // namespace addressing

template <>
struct EnumNames<addressing::Score> {
  static constexpr EnumName<addressing::Score> values[] = {{addressing::Score::dot, "dot"},
                                                           {addressing::Score::scaled_dot, "scaled-dot"},
                                                           {addressing::Score::general, "general"},
                                                           {addressing::Score::additive, "additive"}};
};
template <>
struct EnumNames<addressing::Window> {
  static constexpr EnumName<addressing::Window> values[] = {{addressing::Window::global, "global"}};
};

namespace addressing {

struct AttentionOptions {
  Score score = Score::general;
  Normalizer normalizer = Normalizer::softmax;
  // Of normaliser entmax; others have none.
  double alpha = 1.5;
  // Of normaliser hard-sample, while training: the probability that a query reads the expected value instead of a drawn key.
  double expected = 0.0;
  Window window = Window::global;
  // A, the hidden width of the additive score; other scores have none.
  std::int64_t hidden = 256;
  // Probability that a weight is dropped while training.
  double dropout = 0.0;
  Path path = Path::automatic;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("score", self.score, "how a query and a key are compared");
    visitor("normalizer", self.normalizer, "how scores become weights");
    visitor("alpha", self.alpha, "of normalizer \"entmax\": above 1; 1.5 is entmax15, 2 sparsemax");
    visitor("expected", self.expected,
            "of normalizer \"hard-sample\": probability that a query reads the expected value instead of a drawn key while training");
    visitor("window", self.window, "which keys are read for a query");
    visitor("hidden", self.hidden, "hidden width of the additive score");
    visitor("dropout", self.dropout, "probability that a weight is dropped while training");
    visitor("path", self.path, "fused kernel or composed operations");
  }
};

// One memory, many queries: context_i = Σ_j normalise(s(q_i, k_j)) v_j, one head.
//
// Parameters, by score: general: `weight` [Eq, Ek]; additive: `query_projection` [A, Eq], `key_projection` [A, Ek], `bias` [A], `energy` [A];
// dot and scaled-dot: none, and Eq = Ek. Initialised uniformly in ±√(1 / fan-in). Normaliser uniform compares nothing and has none of them.
// Normaliser hard-sample draws keys while training, from libtorch's default generator; in evaluation it reads the most probable key.
// Reports its weights to an open Recording as kind "alignment", axes batch, head, query, key.
class ATTEND_API AttentionImpl : public torch::nn::Cloneable<AttentionImpl> {
 public:
  // InvalidArgument where a size is not positive or the score needs Eq = Ek.
  AttentionImpl(std::int64_t query_size, std::int64_t key_size, AttentionOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // query [B, Lq, Eq], key [B, Lk, Ek], value [B, Lk, Ev] → context [B, Lq, Ev]; weights [B, 1, Lq, Lk] where `return_weights`;
  // log_probability and entropy [B, 1, Lq] of normaliser hard-sample.
  // Masks, edge cases, types, exceptions: see read().
  AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask = {}, bool return_weights = false);

  const AttentionOptions& options() const { return options_; }

 private:
  Tensor score(const Tensor& query, const Tensor& key) const;
  bool compares() const { return options_.normalizer != Normalizer::uniform; }

  std::int64_t query_size_, key_size_;
  AttentionOptions options_;
  Tensor weight_, query_projection_, key_projection_, bias_, energy_;
};
TORCH_MODULE(Attention);

}  // namespace addressing
}  // namespace attend
