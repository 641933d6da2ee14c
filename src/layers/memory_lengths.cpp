#include "layers/memory_lengths.h"

#include "attend/core/shapes.h"

namespace attend::layers {

Tensor lengths_of_memory(const char* where, const Tensor& lengths, const Tensor& keys) {
  const std::int64_t B = keys.size(0), Lk = keys.size(1);
  if (!lengths.defined()) return at::full({B}, Lk, keys.options().dtype(at::kLong));
  check_shape(where, "lengths", lengths, {{"B", B}});
  if (lengths.scalar_type() != at::kLong)
    throw InvalidArgument(format("{}: expected lengths of type int64, got {}", where, at::toString(lengths.scalar_type())));
  if (B == 0) return lengths;
  const auto least = lengths.min().item<std::int64_t>(), most = lengths.max().item<std::int64_t>();
  if (least < 1 || most > Lk) throw InvalidArgument(format("{}: expected lengths from 1 to Lk = {}, got {} to {}", where, Lk, least, most));
  return lengths;
}

}  // namespace attend::layers
