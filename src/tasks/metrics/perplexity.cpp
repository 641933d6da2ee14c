#include "attend/tasks/metrics/perplexity.h"

#include <cmath>

#include "attend/core/shapes.h"
#include "attend/core/tokens.h"

namespace attend::tasks {

Tensor negative_log_likelihood(const Tensor& logits, const Tensor& target) {
  constexpr auto function = "attend::tasks::negative_log_likelihood";
  check_shape(function, "logits", logits, {{"B"}, {"L"}, {"V"}});
  check_shape(function, "target", target, {{"B", logits.size(0)}, {"L", logits.size(1)}});
  if (!logits.is_floating_point() || target.scalar_type() != at::kLong)
    throw InvalidArgument(format("{}: expected logits in floating point and an int64 target, got {} and {}", function,
                                 at::toString(logits.scalar_type()), at::toString(target.scalar_type())));
  if (target.numel() == 0) return at::zeros({target.size(0)}, logits.options().dtype(at::kDouble));
  const Tensor all = logits.log_softmax(2);                                             // [B, L, V]
  const Tensor chosen = all.gather(2, target.unsqueeze(2)).squeeze(2).to(at::kDouble);  // [B, L]
  return chosen.masked_fill(target.eq(padding_token), 0.0).sum(1).neg();                // [B]
}

void Perplexity::add(double negative_log_likelihood, std::int64_t tokens) {
  if (tokens < 1) throw InvalidArgument(format("attend::tasks::Perplexity::add: expected at least one token, got {}", tokens));
  sum_ += negative_log_likelihood;
  tokens_ += tokens;
}

double Perplexity::value() const { return tokens_ == 0 ? 0.0 : std::exp(sum_ / static_cast<double>(tokens_)); }

}  // namespace attend::tasks
