// What the fused layers share: loops over the rows of a batch, and which tensors the kernels take.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ATen/Parallel.h>

#include "attend/core/libtorch.h"

namespace attend::layers {

// Rows of a batch, in parts that are worth a thread.
template <class F>
void for_rows(std::int64_t rows, std::int64_t width, const F& each) {
  at::parallel_for(0, rows, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(width, 1)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) each(row);
  });
}

inline bool has_kernels(const Tensor& tensor) {
  return tensor.device().is_cpu() && (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

}  // namespace attend::layers
