#include "bench/operation.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>

namespace attend::bench {

Tensor random_tensor(at::IntArrayRef sizes, std::uint64_t seed, double deviation) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::TensorOptions(at::kFloat)).mul_(deviation);
}

std::vector<Tensor> with_gradients(const BenchmarkCase& one, const Tensor& output, const std::vector<Tensor>& inputs, const Tensor& upstream) {
  std::vector<Tensor> results = {output.detach()};
  if (one.pass == Pass::forward) return results;
  for (const Tensor& gradient : torch::autograd::grad({output}, inputs, {upstream})) results.push_back(gradient);
  return results;
}

Operation make_operation(const BenchmarkCase& one) {
  switch (one.mechanism) {
    case Mechanism::dot_product: return dot_product_operation(one);
    case Mechanism::additive: return additive_operation(one);
    case Mechanism::attentive_gru: return attentive_gru_operation(one);
    case Mechanism::input_feeding: return input_feeding_operation(one);
    case Mechanism::rnnsearch: return rnnsearch_operation(one);
  }
  throw InvalidArgument("attend::bench: a mechanism without an operation");
}

std::string disagreement(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, std::int64_t terms) {
  if (got.size() != wanted.size()) return format("{} results instead of {}", got.size(), wanted.size());
  const double unit = std::ldexp(1.0, -24) * (64 + 8 * std::sqrt(static_cast<double>(terms)));  // as in the tests, of either side
  std::string worst;
  double largest = 1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].sizes() != wanted[i].sizes()) return format("result {}: another shape", i);
    if (got[i].numel() == 0) continue;
    const double tolerance = (i == 0 ? 2 : 32) * unit * std::max(1.0, wanted[i].abs().max().item<double>());
    const double difference = (got[i] - wanted[i]).abs().max().item<double>();
    if (!(difference / tolerance <= largest)) {  // NaN differs too
      worst = format("result {} differs by {:.3g}, tolerance {:.3g}", i, difference, tolerance);
      largest = std::isnan(difference) ? INFINITY : difference / tolerance;
    }
  }
  return worst;
}

}  // namespace attend::bench
