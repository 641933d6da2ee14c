// What operations with kernels and a backward pass of their own share. Private.
#pragma once

#include <ATen/Parallel.h>
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend {

inline bool has_kernels(const Tensor& tensor) {
  return tensor.device().is_cpu() && (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

// What waking a thread costs, in operations of a kernel.
constexpr std::int64_t operations_worth_a_thread = 1 << 20;

// Tasks of about that many operations each: whoever is free takes the next one.
template <class F>
void in_parallel(std::int64_t tasks, const F& each, std::int64_t operations = operations_worth_a_thread) {
  std::atomic<std::int64_t> next = 0;
  const double all = static_cast<double>(tasks) * static_cast<double>(operations);
  const std::int64_t worth = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(all / operations_worth_a_thread, 1e6)));
  const std::int64_t workers = std::min({tasks, worth, static_cast<std::int64_t>(at::get_num_threads())});
  at::parallel_for(0, workers, 1, [&](std::int64_t, std::int64_t) {
    for (std::int64_t task = next++; task < tasks; task = next++) each(task);
  });
}

// Rows of a batch, in parts that are worth a thread.
template <class F>
void for_rows(std::int64_t rows, std::int64_t width, const F& each) {
  at::parallel_for(0, rows, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(width, 1)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) each(row);
  });
}

// Bytes of scratch memory that all threads hold together: it grows to what the largest call took, and stays.
ATTEND_API std::int64_t scratch_bytes();
void count_scratch(std::int64_t bytes);

// Memory of this thread, of at least that size, aligned to vectors: what stood there is of no use.
template <class T>
T* thread_scratch(std::int64_t size) {
  thread_local hwy::AlignedFreeUniquePtr<T[]> scratch;
  thread_local std::int64_t held = 0;
  if (held < size) {
    scratch = hwy::AllocateAligned<T>(static_cast<std::size_t>(size));
    if (scratch == nullptr) {
      held = 0;
      throw std::bad_alloc();
    }
    count_scratch((size - held) * static_cast<std::int64_t>(sizeof(T)));
    held = size;
  }
#ifdef __SANITIZE_ADDRESS__
  std::memset(scratch.get(), 0xff, static_cast<std::size_t>(size) * sizeof(T));  // NaN: whoever reads what he hasn't written is found out
#endif
  return scratch.get();
}

// Under create_graph: gradients of `inputs` that can be differentiated again; undefined where an input is, or needs none. Outputs are of the composed form.
inline std::vector<Tensor> differentiable_gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& upstream, const std::vector<Tensor>& inputs) {
  const auto needs_one = [](const Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  std::vector<Tensor> needed;
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(needed), needs_one);
  const std::vector<Tensor> found =
      torch::autograd::grad(outputs, needed, upstream, /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  std::vector<Tensor> gradients;
  std::size_t next = 0;
  for (const Tensor& input : inputs) gradients.push_back(needs_one(input) ? found[next++] : Tensor());
  return gradients;
}

}  // namespace attend
