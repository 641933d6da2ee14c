// libtorch, and the one place that knows how its versions differ (1.13 and 2.x).
#pragma once

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR < 2
#include <c10/util/C++17.h>
#endif

#include <cstdint>
#include <string>

namespace attend {

using at::Tensor;

// The key under which an optimiser keeps a parameter's state: a text in 1.13, a pointer in 2.x.
inline auto optimizer_state_key(const Tensor& parameter) {
#if TORCH_VERSION_MAJOR >= 2
  return static_cast<void*>(parameter.unsafeGetTensorImpl());
#else
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
#endif
}

}  // namespace attend
