#include "attend/addressing/additive.h"

#include <memory>

#include "bench/operation.h"

namespace attend::bench {
namespace {

struct AdditiveInputs {
  Tensor query, key, value;  // [B, H, Lq, A], [B, H, Lk, A], [B, H, Lk, Dv]
  Tensor energy;             // [A]

  std::vector<Tensor> all() const { return {query, key, value, energy}; }
};

AdditiveInputs additive_inputs(const BenchmarkCase& one) {
  const bool gradients = one.pass == Pass::forward_backward;
  return {random_tensor({one.batch, one.heads, one.queries, one.hidden}, 0).set_requires_grad(gradients),
          random_tensor({one.batch, one.heads, one.keys, one.hidden}, 1).set_requires_grad(gradients),
          random_tensor({one.batch, one.heads, one.keys, one.memory}, 2).set_requires_grad(gradients),
          random_tensor({one.hidden}, 3, 0.25).set_requires_grad(gradients)};
}

Tensor additive_context(const AdditiveInputs& inputs) {
  const Tensor sums = inputs.query.unsqueeze(3) + inputs.key.unsqueeze(2);                        // [B, H, Lq, Lk, A]
  return at::matmul(at::matmul(sums.tanh(), inputs.energy).softmax(-1), inputs.value);            // [B, H, Lq, Dv]
}

}  // namespace

Operation additive_operation(const BenchmarkCase& one) {
  Operation operation;
  const double pairs = static_cast<double>(one.batch * one.heads * one.queries * one.keys);
  operation.operations = (one.pass == Pass::forward ? 1.0 : 3.0) * pairs * static_cast<double>(4 * one.hidden + 2 * one.memory);
  const auto inputs = std::make_shared<AdditiveInputs>(additive_inputs(one));
  const Tensor upstream = random_tensor({one.batch, one.heads, one.queries, one.memory}, 4);
  operation.fused = [one, inputs, upstream](std::int64_t) {
    addressing::ReadOptions options;
    options.path = Path::fused;
    return with_gradients(one, addressing::additive(inputs->query, inputs->key, inputs->value, inputs->energy, {}, options).context, inputs->all(), upstream);
  };
  operation.composed = [one, inputs, upstream](std::int64_t) { return with_gradients(one, additive_context(*inputs), inputs->all(), upstream); };
  return operation;
}

}  // namespace attend::bench
