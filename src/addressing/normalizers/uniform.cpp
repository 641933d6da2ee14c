#include "attend/addressing/normalizers/uniform.h"

#include "addressing/normalizers/visible.h"

namespace attend::addressing {

Tensor masked_uniform(const Tensor& scores, const std::optional<Tensor>& keep) {
  const Visible seen = visible("attend::addressing::masked_uniform", scores.defined() ? scores.detach() : scores, keep);
  const Tensor shown = seen.hidden.logical_not().to(seen.scores.scalar_type());                  // [B, H, Lq, Lk]
  return (shown / shown.sum(-1, true).clamp_min(1)).to(scores.scalar_type());
}

}  // namespace attend::addressing
