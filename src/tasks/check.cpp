#include "attend/tasks/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/core/shapes.h"

namespace attend::tasks {
namespace {

constexpr std::int64_t more_padding = 3;

double unit_roundoff(const Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon() / 2 : std::numeric_limits<float>::epsilon() / 2.0;
}

// Takes in the largest of a tensor; a NaN stays.
void take_largest(Finding& finding, const Tensor& differences) {
  if (differences.numel() == 0) return;
  finding.compared += differences.numel();
  const auto largest = differences.max().item<double>();
  if (std::isnan(largest))
    finding.largest = std::numeric_limits<double>::quiet_NaN();  // without the sign that one may carry
  else if (largest > finding.largest)
    finding.largest = largest;
}

// A model on one batch.
class Checked {
 public:
  Checked(models::SequenceToSequence& model, const models::TokenBatch& source, const models::TokenBatch& target)
      : model_(model), source_(source), target_(target) {
    torch::NoGradGuard no_gradient;
    outputs_ = outputs(source, target);                                                           // [B, Lt − 1, V]
    const Tensor places = at::arange(outputs_.size(1), at::kLong);
    real_ = places.unsqueeze(0) < (target.lengths - 1).unsqueeze(1);                              // [B, Lt − 1]
    const double longest = static_cast<double>(std::max(source.tokens.size(1), target.tokens.size(1)));
    row_tolerance_ = unit_roundoff(outputs_) * (64 + 8 * std::sqrt(longest));
  }

  Finding causality(std::int64_t cuts) const {
    torch::NoGradGuard no_gradient;
    Finding finding{"causality", "target tokens change no output before them", 0, 16 * row_tolerance_, 0};
    const std::int64_t places = target_.tokens.size(1) - 2;  // the last token is only predicted, never read
    const Tensor others = target_.tokens.remainder(outputs_.size(2) - 1) + 1;                     // another token each
    const Tensor real = at::arange(target_.tokens.size(1), at::kLong).unsqueeze(0) < target_.lengths.unsqueeze(1);
    for (std::int64_t i = 0; i < std::min(cuts, places); ++i) {
      const std::int64_t cut = i * places / std::min(cuts, places) + 1;  // the first token that is changed
      const Tensor behind = real & (at::arange(target_.tokens.size(1), at::kLong) >= cut).unsqueeze(0);
      const models::TokenBatch changed{at::where(behind, others, target_.tokens), target_.lengths};
      compare(finding, outputs(source_, changed).slice(1, 0, cut), outputs_.slice(1, 0, cut), real_.slice(1, 0, cut));
    }
    return finding;
  }

  Finding padding() const {
    torch::NoGradGuard no_gradient;
    Finding finding{"padding", "padding changes no output", 0, 16 * row_tolerance_, 0};
    const auto padded = [](const models::TokenBatch& batch) {
      return models::TokenBatch{at::constant_pad_nd(batch.tokens, {0, more_padding}, padding_token), batch.lengths};
    };
    compare(finding, outputs(padded(source_), padded(target_)).slice(1, 0, outputs_.size(1)), outputs_, real_);
    return finding;
  }

  Finding batch() const {
    torch::NoGradGuard no_gradient;
    Finding finding{"batch", "a row of a batch answers as it does alone", 0, 16 * row_tolerance_, 0};
    for (std::int64_t row = 0; row < outputs_.size(0); ++row) {
      const auto alone = [row](const models::TokenBatch& batch) {
        const Tensor lengths = batch.lengths.slice(0, row, row + 1);
        return models::TokenBatch{batch.tokens.slice(0, row, row + 1).slice(1, 0, lengths.item<std::int64_t>()), lengths};
      };
      const Tensor own = outputs(alone(source_), alone(target_));                                 // [1, L, V]
      compare(finding, own, outputs_.slice(0, row, row + 1).slice(1, 0, own.size(1)), real_.slice(0, row, row + 1).slice(1, 0, own.size(1)));
    }
    return finding;
  }

  Finding steps() const {
    torch::NoGradGuard no_gradient;
    Finding finding{"steps", "decoding step by step agrees with the whole target at once", 0, 16 * row_tolerance_, 0};
    models::DecoderState state = model_.encode(source_);
    for (std::int64_t t = 0; t < outputs_.size(1); ++t)
      compare(finding, model_.step(target_.tokens.select(1, t), state), outputs_.select(1, t).log_softmax(1), real_.select(1, t));
    return finding;
  }

  Finding gradients() const {
    Finding finding{"gradients", "numbers in the loss and its gradients that are not finite", 0, 0, 1};
    model_.zero_grad();
    Tensor loss;
    for (const models::LossTerm& term : model_.forward(source_, target_).losses)
      loss = loss.defined() ? loss + term.value * term.weight : term.value * term.weight;
    if (!loss.defined()) return finding;
    loss.backward();
    const auto bad = [](const Tensor& tensor) { return static_cast<double>(at::isfinite(tensor).logical_not().sum().item<std::int64_t>()); };
    finding.largest = bad(loss);
    for (Tensor& parameter : model_.parameters()) {
      if (!parameter.grad().defined()) continue;
      finding.compared += parameter.numel();
      finding.largest += bad(parameter.grad());
      parameter.mutable_grad() = Tensor();
    }
    return finding;
  }

  Finding rows(bool may_fall_short) const {
    torch::NoGradGuard no_gradient;
    Finding finding{"rows", may_fall_short ? "rows of weights sum to at most 1" : "rows of weights sum to 1, or to 0", 0, row_tolerance_, 0};
    Recording recording(model_);
    outputs(source_, target_);
    for (const Recording::Item& item : recording.take()) {
      if (item.axes.empty() || item.axes.back() != "key") continue;
      const Tensor sums = item.tensor.sum(-1);                                                    // [B, H, Lq]
      Tensor away = may_fall_short ? (sums - 1).clamp_min(0) : (sums - 1).abs();
      if (!may_fall_short) away = away.masked_fill((item.tensor == 0).all(-1), 0.0);
      take_largest(finding, away);
      if (item.tensor.numel() > 0) take_largest(finding, (-item.tensor).amax(-1).clamp_min(0));
    }
    return finding;
  }

 private:
  Tensor outputs(const models::TokenBatch& source, const models::TokenBatch& target) const { return model_.forward(source, target).output; }

  // `real`: which places count, bool of the shape of the outputs without their last dimension.
  static void compare(Finding& finding, const Tensor& got, const Tensor& wanted, const Tensor& real) {
    const Tensor chosen = real.unsqueeze(-1).expand_as(wanted), expected = wanted.masked_select(chosen);
    if (expected.numel() == 0) return;
    take_largest(finding, (got.masked_select(chosen) - expected).abs() / expected.abs().max().clamp_min(1.0));
  }

  models::SequenceToSequence& model_;
  const models::TokenBatch& source_;
  const models::TokenBatch& target_;
  Tensor outputs_, real_;
  double row_tolerance_ = 0;
};

class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& model) : model_(model), was_training_(model.is_training()) { model_.eval(); }
  ~EvaluationMode() { model_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& model_;
  bool was_training_;
};

// Whether any window among a model's options is the Gaussian one, whose rows sum to less than 1 (semantics of local-p).
bool has_gaussian_window(const io::Value& options) {
  for (const auto& [key, value] : options.as_table())
    if (value.is_table() ? has_gaussian_window(value) : key == "window" && value == io::Value("local-p")) return true;
  return false;
}

}  // namespace

std::vector<Finding> check_model(models::SequenceToSequence& model, const models::TokenBatch& source, const models::TokenBatch& target,
                                 const CheckOptions& options) {
  constexpr auto check_name = "attend::tasks::check_model";
  check_shape(check_name, "source tokens", source.tokens, {{"B"}, {"Ls"}});
  check_shape(check_name, "target tokens", target.tokens, {{"B", source.tokens.size(0)}, {"Lt"}});
  if (source.tokens.size(0) < 1 || source.tokens.size(1) < 1 || target.tokens.size(1) < 2)
    throw InvalidArgument(format("{}: expected at least one source of 1 and target of 2 tokens, got {} and {}", check_name, shape_text(source.tokens),
                                 shape_text(target.tokens)));
  if (options.cuts < 1) throw InvalidArgument(format("{}: expected cuts ≥ 1, got {}", check_name, options.cuts));
  const EvaluationMode mode(model);
  const Checked checked(model, source, target);
  return {checked.causality(options.cuts), checked.padding(), checked.batch(), checked.steps(), checked.gradients(),
          checked.rows(options.rows_may_fall_short)};
}

std::vector<Finding> check_run(Run& run, const PairBatch& pairs) {
  CheckOptions options;
  options.rows_may_fall_short = has_gaussian_window(write_options(run.recipe.model));
  return check_model(*run.model, pairs.source, pairs.target, options);
}

}  // namespace attend::tasks
