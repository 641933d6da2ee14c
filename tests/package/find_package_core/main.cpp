#include <ATen/ATen.h>

#include <cstdio>

#include "attend/base/format.h"

int main() {
  const at::Tensor weights = at::softmax(at::zeros({2, 4}), 1);
  const std::string text = attend::format("{} weights of {:.2f}", weights.numel(), weights[0][0].item<double>());
  std::puts(text.c_str());
  return text == "8 weights of 0.25" ? 0 : 1;
}
