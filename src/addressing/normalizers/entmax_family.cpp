#include "addressing/normalizers/entmax_family.h"

#include "addressing/normalizers/visible.h"

namespace attend::addressing {
namespace {

struct EntmaxFunction : torch::autograd::Function<EntmaxFunction> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& scores, double alpha, EntmaxSolver solve) {
    const Tensor weights = solve(scores, alpha);                                                  // [B, H, Lq, Lk]
    context->save_for_backward({weights});
    context->saved_data["alpha"] = alpha;
    return weights;
  }

  // ∂w/∂s = diag(u) − u uᵀ / Σu with u = w^(2 − α) on the support (Peters 2019 proposition 2). It is made of the weights by operations that can be
  // differentiated again.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    const Tensor weights = context->get_saved_variables()[0], outside = weights.detach() == 0;
    const double alpha = context->saved_data["alpha"].toDouble();
    const Tensor u = weights.masked_fill(outside, 1.0).pow(2 - alpha).masked_fill(outside, 0.0);  // [B, H, Lq, Lk]
    const Tensor product = u * gradients[0];
    return {product - u * (product.sum(-1, true) / u.sum(-1, true)), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor entmax_weights(const char* where, const Tensor& scores, const std::optional<Tensor>& keep, double alpha, EntmaxSolver solve) {
  const Visible seen = visible(where, scores, keep);
  if (scores.numel() == 0) return seen.scores.to(scores.scalar_type());
  return EntmaxFunction::apply(seen.scores, alpha, solve).masked_fill(seen.empty, 0.0).to(scores.scalar_type());
}

}  // namespace attend::addressing
