#include "attend/addressing/score_function.h"

#include <cmath>

#include "attend/core/shapes.h"

namespace attend::addressing {

namespace {
constexpr auto score_function_name = "attend::addressing::ScoreFunctionLoss";

Tensor count_of(const Tensor& counted) { return counted.sum().clamp_min(1); }
}  // namespace

ScoreFunctionTerms score_function_terms(const Tensor& log_probability, const Tensor& entropy, const Tensor& reward, const Tensor& counted,
                                        const Tensor& baseline) {
  constexpr auto where = "attend::addressing::score_function_terms";
  check_shape(where, "log_probability", log_probability, {{"B"}, {"H"}, {"Lq"}});
  const std::int64_t B = log_probability.size(0), Lq = log_probability.size(2);
  check_shape(where, "entropy", entropy, {{"B", B}, {"H", log_probability.size(1)}, {"Lq", Lq}});
  check_shape(where, "reward", reward, {{"B", B}, {"Lq", Lq}});
  check_shape(where, "counted", counted, {{"B", B}, {"Lq", Lq}});
  check_shape(where, "baseline", baseline, {});
  const Tensor left_out = counted.logical_not(), all_heads = left_out.unsqueeze(1), n = count_of(counted);
  const Tensor gain = (reward.detach() - baseline.detach()).masked_fill(left_out, 0.0).unsqueeze(1);      // [B, 1, Lq]
  return {-(gain * log_probability.masked_fill(all_heads, 0.0)).sum() / n, -entropy.masked_fill(all_heads, 0.0).sum() / n};
}

ScoreFunctionLossImpl::ScoreFunctionLossImpl(ScoreFunctionOptions options) : options_(options) {
  if (!(options.decay >= 0 && options.decay < 1))
    throw InvalidArgument(format("{}: expected decay from 0 to below 1, got {}", score_function_name, options.decay));
  for (const auto& [name, value] : {std::pair("weight", options.weight), std::pair("entropy", options.entropy)})
    if (!(value >= 0 && std::isfinite(value)))
      throw InvalidArgument(format("{}: expected {} ≥ 0, got {}", score_function_name, name, value));
  reset();
}

void ScoreFunctionLossImpl::reset() { baseline_ = register_buffer("baseline", torch::zeros({})); }

void ScoreFunctionLossImpl::pretty_print(std::ostream& stream) const {
  stream << score_function_name << "(baseline=" << (options_.baseline ? "true" : "false") << ", decay=" << options_.decay
         << ", weight=" << options_.weight << ", entropy=" << options_.entropy << ")";
}

ScoreFunctionTerms ScoreFunctionLossImpl::forward(const Tensor& log_probability, const Tensor& entropy, const Tensor& reward, const Tensor& counted) {
  const ScoreFunctionTerms terms = score_function_terms(log_probability, entropy, reward, counted, baseline_);
  if (is_training() && options_.baseline) {
    const torch::NoGradGuard no_gradient;
    const Tensor mean = reward.masked_fill(counted.logical_not(), 0.0).sum() / count_of(counted);
    if (counted.any().item<bool>()) baseline_.mul_(options_.decay).add_(mean, 1 - options_.decay);
  }
  return terms;
}

}  // namespace attend::addressing
