#include "attend/addressing/dot_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "bench/machine.h"
#include "bench/operation.h"

namespace attend::bench {
namespace {

constexpr std::int64_t checked_queries = 64;

struct DotInputs {
  Tensor query, key, value;  // [B, H, L, D]
};

Mask mask_of(const BenchmarkCase& one) {
  if (one.visible == Visible::causal) return Mask::causal();
  return one.visible == Visible::band ? Mask::band(one.left, one.right) : Mask();
}

DotInputs dot_inputs(const BenchmarkCase& one, std::int64_t copy) {
  const auto seed = static_cast<std::uint64_t>(3 * copy);
  const bool gradients = one.pass == Pass::forward_backward;
  const auto make = [&](std::int64_t length, std::uint64_t number) {
    return random_tensor({one.batch, one.heads, length, one.width}, seed + number).set_requires_grad(gradients);
  };
  return {make(one.queries, 0), make(one.keys, 1), make(one.keys, 2)};
}

// 0, and minus infinity where a query doesn't see the key: [1, Lq, Lk]; undefined where all is seen.
Tensor addend(const BenchmarkCase& one, const DotInputs& inputs) {
  if (one.visible == Visible::all) return {};
  const Tensor keep = *mask_of(one).tensors("attend::bench", {1, 1, one.queries, one.keys}, inputs.query).keep;
  return at::zeros(keep.sizes(), at::kFloat).masked_fill(keep.logical_not(), -std::numeric_limits<double>::infinity()).squeeze(0);
}

Tensor dot_context(const BenchmarkCase& one, const DotInputs& inputs, const Tensor& addend) {
  const std::int64_t count = one.batch * one.heads;
  const double scale = 1 / std::sqrt(static_cast<double>(one.width));
  const Tensor query = inputs.query.view({count, one.queries, one.width}), key = inputs.key.view({count, one.keys, one.width}).transpose(1, 2);
  const Tensor scores = addend.defined() ? at::baddbmm(addend, query, key, 1, scale)
                                         : at::empty({count, one.queries, one.keys}, at::kFloat).baddbmm_(query, key, 0, scale);  // [B·H, Lq, Lk]
  const Tensor context = at::bmm(scores.softmax(-1), inputs.value.view({count, one.keys, one.width}));
  return context.view({one.batch, one.heads, one.queries, one.width});
}

// Lined up at the lower right, the last queries see the same keys alone as among all.
Tensor last_context(const BenchmarkCase& one, const DotInputs& inputs) {
  addressing::DotProductOptions options;
  options.read.path = Path::composed;
  const Tensor last = inputs.query.slice(2, std::max<std::int64_t>(0, one.queries - checked_queries));
  return addressing::dot_product(last.to(at::kDouble), inputs.key.to(at::kDouble), inputs.value.to(at::kDouble), mask_of(one), options).context;
}

}  // namespace

Operation dot_product_operation(const BenchmarkCase& one) {
  Operation operation;
  const double pairs = static_cast<double>(one.batch * one.heads) * visible_pairs(one);
  operation.operations = (one.pass == Pass::forward ? 4.0 : 14.0) * static_cast<double>(one.width) * pairs;
  const double read = 2.0 * static_cast<double>(one.batch * one.heads * one.keys * one.width) * sizeof(float);
  if (one.streams) {
    operation.bytes = read;
    operation.copies = static_cast<std::int64_t>(std::ceil(4.0 * static_cast<double>(last_cache_size()) / read)) + 1;
  }
  auto inputs = std::make_shared<std::vector<DotInputs>>();
  for (std::int64_t copy = 0; copy < operation.copies; ++copy) inputs->push_back(dot_inputs(one, copy));
  const Tensor added = addend(one, inputs->front()), upstream = random_tensor({one.batch, one.heads, one.queries, one.width}, 1000);
  const auto results = [one, inputs, upstream](std::int64_t copy, const Tensor& context) {
    const DotInputs& own = (*inputs)[static_cast<std::size_t>(copy)];
    return with_gradients(one, context, {own.query, own.key, own.value}, upstream);
  };
  operation.fused = [one, inputs, results](std::int64_t copy) {
    const DotInputs& own = (*inputs)[static_cast<std::size_t>(copy)];
    addressing::DotProductOptions options;
    options.read.path = Path::fused;
    return results(copy, addressing::dot_product(own.query, own.key, own.value, mask_of(one), options).context);
  };
  operation.composed = [one, inputs, results, added](std::int64_t copy) {
    return results(copy, dot_context(one, (*inputs)[static_cast<std::size_t>(copy)], added));
  };
  operation.last_queries = [one, inputs] { return last_context(one, inputs->front()); };
  return operation;
}

}  // namespace attend::bench
