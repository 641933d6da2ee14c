#include "attend/models/gradient_variance.h"

#include "attend/addressing/attention.h"
#include "attend/addressing/score_function.h"
#include "attend/base/error.h"

namespace attend::models {
namespace {

constexpr auto gradient_variance_name = "attend::models::gradient_variance";

at::Generator chance() { return at::globalContext().defaultGenerator(at::kCPU); }

// The model's parts that draw and that keep the baseline.
struct DrawingParts {
  std::shared_ptr<addressing::AttentionImpl> attention;
  std::shared_ptr<addressing::ScoreFunctionLossImpl> loss;
};

DrawingParts drawing_parts(const SequenceToSequence& model) {
  DrawingParts parts;
  for (const auto& item : model.named_modules("", /*include_self=*/false)) {
    if (item.key() == model.alignment_module()) parts.attention = std::dynamic_pointer_cast<addressing::AttentionImpl>(item.value());
    if (const auto loss = std::dynamic_pointer_cast<addressing::ScoreFunctionLossImpl>(item.value())) parts.loss = loss;
  }
  if (!parts.attention || !parts.loss)
    throw InvalidArgument(
        format("{}: expected a model whose attention draws, got one that doesn't; it needs attention normalizer \"hard-sample\"",
               gradient_variance_name));
  return parts;
}

// Puts back what measuring moves: modes, baseline, generator.
class MeasuringGuard {
 public:
  MeasuringGuard(SequenceToSequence& model, const Tensor& baseline) : baseline_(baseline), kept_(baseline.clone()), state_(chance().get_state()) {
    modes_.emplace_back(&model, model.is_training());
    for (const auto& module : model.modules(/*include_self=*/false)) modes_.emplace_back(module.get(), module->is_training());
  }
  ~MeasuringGuard() {
    for (const auto& [module, training] : modes_) module->train(training);  // outer modules first: their mode is that of all within
    const torch::NoGradGuard no_gradient;
    baseline_.copy_(kept_);
    chance().set_state(state_);
  }
  MeasuringGuard(const MeasuringGuard&) = delete;
  MeasuringGuard& operator=(const MeasuringGuard&) = delete;

 private:
  Tensor baseline_, kept_, state_;
  std::vector<std::pair<torch::nn::Module*, bool>> modes_;
};

// Mean and squared deviations of vectors as they come (Welford 1962).
class RunningMoments {
 public:
  void add(const Tensor& gradient) {
    ++count_;
    if (!mean_.defined()) mean_ = at::zeros_like(gradient);
    const Tensor before = gradient - mean_;
    mean_ = mean_ + before / static_cast<double>(count_);
    squares_ += (before * (gradient - mean_)).sum().item<double>();
  }
  GradientVariance::Moments moments() const { return {mean_, squares_ / static_cast<double>(count_ - 1)}; }

 private:
  Tensor mean_;
  double squares_ = 0;
  std::int64_t count_ = 0;
};

// ∂ Σ weight · loss / ∂ parameters as one vector [P], with the baseline set to b before.
Tensor one_gradient(SequenceToSequence& model, const TokenBatch& source, const TokenBatch& target, const std::vector<Tensor>& parameters,
                    Tensor baseline, double b) {
  baseline.fill_(b);
  Tensor loss;
  for (const LossTerm& term : model.forward(source, target).losses)
    loss = loss.defined() ? loss + term.value * term.weight : term.value * term.weight;
  std::vector<Tensor> gradients = torch::autograd::grad({loss}, parameters, {}, {}, /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    gradients[i] = (gradients[i].defined() ? gradients[i] : at::zeros_like(parameters[i])).to(at::kDouble).flatten();
  return at::cat(gradients);
}

}  // namespace

GradientVariance gradient_variance(SequenceToSequence& model, const TokenBatch& source, const TokenBatch& target,
                                   const GradientVarianceOptions& options) {
  if (options.draws < 2) throw InvalidArgument(format("{}: expected draws ≥ 2, got {}", gradient_variance_name, options.draws));
  if (options.settle < 0) throw InvalidArgument(format("{}: expected settle ≥ 0, got {}", gradient_variance_name, options.settle));
  const DrawingParts parts = drawing_parts(model);
  const Tensor baseline = parts.loss->baseline();
  const std::vector<Tensor> own = parts.attention->parameters(), parameters = own.empty() ? model.parameters() : own;
  const MeasuringGuard guard(model, baseline);
  model.eval();
  parts.attention->train();
  parts.loss->train();
  chance().set_current_seed(static_cast<std::uint64_t>(options.seed));
  for (std::int64_t i = 0; i < options.settle; ++i) {
    const torch::NoGradGuard no_gradient;
    model.forward(source, target);
  }
  const double b = baseline.item<double>();
  RunningMoments with, without;
  for (std::int64_t i = 0; i < options.draws; ++i) {
    const Tensor before = chance().get_state();
    with.add(one_gradient(model, source, target, parameters, baseline, b));
    chance().set_state(before);  // the same draw
    without.add(one_gradient(model, source, target, parameters, baseline, 0));
  }
  return {with.moments(), without.moments(), b, options.draws};
}

}  // namespace attend::models
