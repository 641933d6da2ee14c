#include <cstdio>

#include "attend/addressing/dot_product.h"

int main() {
  const at::Tensor zeros = at::zeros({1, 1, 2, 4});
  attend::addressing::DotProductOptions options;
  options.read.return_weights = true;
  const attend::AttentionResult result = attend::addressing::dot_product(zeros, zeros, zeros + 3, attend::Mask::causal(), options);
  const double last = result.weights[0][0][1][0].item<double>(), context = result.context[0][0][1][0].item<double>();
  std::puts(attend::format("weight {:.2f}, context {:.2f}", last, context).c_str());
  return last == 0.5 && context == 3.0 ? 0 : 1;
}
