// Gradients that libtorch took, against difference quotients.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/reference/tensors.h"

namespace attend::reference {

// ∂ loss / ∂ input by five-point difference quotients; `input` is a contiguous float64 leaf that `loss` reads.
inline std::vector<double> difference_quotients(const std::function<Tensor()>& loss, const Tensor& input) {
  constexpr double step = 1e-3;
  const torch::NoGradGuard no_gradient;
  std::vector<double> quotients;
  double* const number = input.data_ptr<double>();
  for (std::int64_t i = 0; i < input.numel(); ++i) {
    const double at_rest = number[i];
    const auto moved = [&](double by) {
      number[i] = at_rest + by;
      return loss().item<double>();
    };
    quotients.push_back((8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step));
    number[i] = at_rest;
  }
  return quotients;
}

// Empty where the gradients of `loss` with respect to all `inputs` are near their difference quotients; else what differs, by the input's
// place.
inline std::string gradient_difference(const std::function<Tensor()>& loss, const std::vector<Tensor>& inputs) {
  std::string problems;
  const std::vector<Tensor> gradients = torch::autograd::grad({loss()}, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string problem = difference("gradient of input " + std::to_string(i), numbers(gradients[i]),
                                           difference_quotients(loss, inputs[i]), difference_quotient_tolerance());
    if (!problem.empty()) problems += problem + "\n";
  }
  return problems;
}

}  // namespace attend::reference
