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
  cosine,      // q·k / (|q| |k|)
  location,    // W_j q for the key at place j
};

// Which keys are read for a query.
enum class Window {
  global,   // all
  local_m,  // those around a centre that moves on from query to query
  local_p,  // those around a centre that is predicted from the query, weights falling off from it
};

}  // namespace addressing

template <>
struct EnumNames<addressing::Score> {
  static constexpr EnumName<addressing::Score> values[] = {{addressing::Score::dot, "dot"},
                                                           {addressing::Score::scaled_dot, "scaled-dot"},
                                                           {addressing::Score::general, "general"},
                                                           {addressing::Score::additive, "additive"},
                                                           {addressing::Score::cosine, "cosine"},
                                                           {addressing::Score::location, "location"}};
};
template <>
struct EnumNames<addressing::Window> {
  static constexpr EnumName<addressing::Window> values[] = {
      {addressing::Window::global, "global"}, {addressing::Window::local_m, "local-m"}, {addressing::Window::local_p, "local-p"}};
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
  // What the cosine score is multiplied by; at 1 no weight is more than e² times another.
  double cosine_scale = 1.0;
  // P, the most keys that the location score can tell apart.
  std::int64_t positions = 256;
  // W, half the width of a local window: keys p − W … p + W are read.
  std::int64_t window_width = 10;
  // local-m: its centre p is length_ratio · t for query t. The ratio of the usual lengths of source and target.
  double length_ratio = 1.0;
  // local-p: whether weights are made to sum to 1 again after they have been multiplied by the Gaussian.
  bool window_renormalised = false;
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
    visitor("cosine_scale", self.cosine_scale, "what the cosine score is multiplied by");
    visitor("positions", self.positions, "most keys that the location score can tell apart");
    visitor("window_width", self.window_width, "half the width of a local window: its centre ± that many keys are read");
    visitor("length_ratio", self.length_ratio, "window local-m: keys that its centre moves on for each query");
    visitor("window_renormalised", self.window_renormalised, "window local-p: whether weights sum to 1 again after the Gaussian");
    visitor("dropout", self.dropout, "probability that a weight is dropped while training");
    visitor("path", self.path, "fused kernel or composed operations");
  }
};

// Where a call that has only some of the queries stands in the whole, so that the steps of a decoder read what one call with all queries reads.
struct AttentionPlace {
  // The place of the first query: t in a decoder's step t, counted from 0. Window local-m and dropout depend on it.
  std::int64_t first_query = 0;
};

// One memory, many queries: context_i = Σ_j factor_ij · normalise(s(q_i, k_j)) v_j over the keys of a window, one head.
//
// Parameters, by score: general: `weight` [Eq, Ek]; additive: `query_projection` [A, Eq], `key_projection` [A, Ek], `bias` [A], `energy` [A];
// location: `location` [P, Eq]; dot, scaled-dot and cosine: none, and Eq = Ek. By window: local-p: `centre_projection` [Eq, Eq],
// `centre_energy` [Eq], the W_p and v_p of the paper, which leaves their width open. Initialised uniformly in ±√(1 / fan-in). Normaliser uniform
// compares nothing and has no parameters of a score. Normaliser hard-sample draws keys while training, from libtorch's default generator; in
// evaluation it reads the most probable key.
// Reports its weights to an open Recording as kind "alignment", axes batch, head, query, key.
class ATTEND_API AttentionImpl : public torch::nn::Cloneable<AttentionImpl> {
 public:
  // InvalidArgument where a size is not positive, an option is out of range or the score needs Eq = Ek.
  AttentionImpl(std::int64_t query_size, std::int64_t key_size, AttentionOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // query [B, Lq, Eq], key [B, Lk, Ek], value [B, Lk, Ev] → context [B, Lq, Ev]; weights [B, 1, Lq, Lk] where `return_weights`;
  // log_probability and entropy [B, 1, Lq] of normaliser hard-sample.
  // Masks, edge cases, types, exceptions: see read(); also InvalidArgument where the location score gets more than P keys or `place` is
  // negative. The length S of local-p is the one that `mask` gives by Mask::lengths, else Lk.
  AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask = {}, bool return_weights = false,
                          const AttentionPlace& place = {});

  const AttentionOptions& options() const { return options_; }
  // Which path its calls take, and why: one line, as explain() of read().
  std::string explain() const;

 private:
  // Of dot, scaled-dot and general.
  std::optional<DotForm> dot_form() const;
  std::optional<AdditiveForm> additive_form() const;
  // Of the others.
  Tensor score(const Tensor& query, const Tensor& key) const;
  WindowTensors window(const Tensor& query, std::int64_t keys, const Mask& mask, const AttentionPlace& place) const;
  bool compares() const { return options_.normalizer != Normalizer::uniform; }

  std::int64_t query_size_, key_size_;
  AttentionOptions options_;
  Tensor weight_, query_projection_, key_projection_, bias_, energy_, location_, centre_projection_, centre_energy_;
};
TORCH_MODULE(Attention);

}  // namespace addressing
}  // namespace attend
