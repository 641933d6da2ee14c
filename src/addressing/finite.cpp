#include "addressing/finite.h"

#include <algorithm>
#include <atomic>

#include "core/fused_operation.h"
#include "kernels/finite.h"

namespace attend::addressing {
namespace {

template <class T>
bool dense_and_finite(const Tensor& tensor) {
  constexpr std::int64_t part = 1 << 16;
  const std::int64_t count = tensor.numel();
  const T* const numbers = tensor.data_ptr<T>();
  std::atomic<bool> finite = true;
  in_parallel((count + part - 1) / part, [&](std::int64_t i) {
    if (!kernels::all_finite(std::min(part, count - i * part), numbers + i * part)) finite = false;
  }, 4 * part);
  return finite;
}

}  // namespace

bool is_finite(const Tensor& tensor) {
  if (!has_kernels(tensor) || !tensor.is_non_overlapping_and_dense()) return at::isfinite(tensor).all().item<bool>();
  return tensor.scalar_type() == at::kFloat ? dense_and_finite<float>(tensor) : dense_and_finite<double>(tensor);
}

Tensor finite_rows(const Tensor& tensor) { return at::isfinite(tensor.detach()).all(-1); }

Tensor zero_rows(const Tensor& tensor, const Tensor& finite) { return tensor.masked_fill(finite.logical_not().unsqueeze(-1), 0.0); }

}  // namespace attend::addressing
