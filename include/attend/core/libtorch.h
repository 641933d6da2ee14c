// libtorch, and the place for what differs between its versions (1.13 and 2.x): nothing that is used today.
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

namespace attend {

using at::Tensor;

}  // namespace attend
