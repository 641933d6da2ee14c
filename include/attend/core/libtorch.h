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

#include <cstdint>
#include <optional>
#include <vector>

namespace attend {

using at::Tensor;

}  // namespace attend
