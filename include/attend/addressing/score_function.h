// The score-function gradient: how a network learns where to look when looking is a draw.
#pragma once

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"
#include "attend/core/result.h"

namespace attend::addressing {

struct ScoreFunctionOptions {
  // Whether the moving average of the reward is taken from it. It changes the variance of the gradient, not its mean.
  bool baseline = true;
  // b ← decay · b + (1 − decay) · mean reward (Xu 2015 §4.1: 0.9).
  double decay = 0.9;
  // λ_r of equation 12.
  double weight = 1.0;
  // λ_e of equation 12: rewards draws that stay undecided.
  double entropy = 0.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("baseline", self.baseline, "whether the moving average of the reward is taken from it");
    visitor("decay", self.decay, "of that moving average");
    visitor("weight", self.weight, "of the term that teaches where to look");
    visitor("entropy", self.entropy, "weight of the draws' entropy, which keeps them undecided; 0: none");
  }
};

// The two terms whose sum, weighted by the options, is added to a loss −Σ R / n over n counted queries.
struct ScoreFunctionTerms {
  Tensor score_function;  // −Σ (R − b) · log p(drawn) / n
  Tensor entropy;         // −Σ H / n
};

// Terms for a sampled read (Xu 2015 equations 10 to 12): their gradient is that of the expected reward with respect to what the draws were made by,
// in the mean over draws. Where heads are several, each draws by itself and their terms add up.
//   log_probability, entropy  [B, H, Lq], of AttentionResult
//   reward                    [B, Lq]: R of each query; no gradient flows through it
//   counted                   bool [B, Lq]: which queries have a reward (not padding); nothing elsewhere matters
//   baseline                  b
// InvalidArgument where the shapes don't fit.
ATTEND_API ScoreFunctionTerms score_function_terms(const Tensor& log_probability, const Tensor& entropy, const Tensor& reward, const Tensor& counted,
                                                   const Tensor& baseline);

// The same with the moving baseline as its state: buffer `baseline` [], from 0, which is saved and loaded with the module it stands in.
class ATTEND_API ScoreFunctionLossImpl : public torch::nn::Cloneable<ScoreFunctionLossImpl> {
 public:
  // InvalidArgument where an option is out of range.
  explicit ScoreFunctionLossImpl(ScoreFunctionOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // The terms with the baseline as it is; then, while training, the baseline takes up the mean reward of the counted queries.
  ScoreFunctionTerms forward(const Tensor& log_probability, const Tensor& entropy, const Tensor& reward, const Tensor& counted);

  const ScoreFunctionOptions& options() const { return options_; }
  Tensor baseline() const { return baseline_; }

 private:
  ScoreFunctionOptions options_;
  Tensor baseline_;
};
TORCH_MODULE(ScoreFunctionLoss);

}  // namespace attend::addressing
