#include "attend/addressing/dropout.h"

#include <limits>

#include "attend/core/shapes.h"
#include "kernels/philox.h"

namespace attend::addressing {

std::int64_t draw_dropout_seed(const std::optional<at::Generator>& generator) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();  // without it libtorch draws 63 bits
  const Tensor seed = at::empty({}, at::kLong);
  return (generator ? seed.random_(least, {}, *generator) : seed.random_(least, {}, {})).item<std::int64_t>();
}

namespace {

template <class T>
void fill_multipliers(Tensor& out, double probability, std::int64_t seed, const DropoutOrigin& origin) {
  const std::int64_t heads = out.size(1), queries = out.size(2), keys = out.size(3);
  T* data = out.data_ptr<T>();
  const std::int64_t rows = out.size(0) * heads * queries;
  at::parallel_for(0, rows, /*grain_size=*/1 + 16384 / (keys + 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t b = row / (heads * queries), h = row / queries % heads, i = row % queries;
      kernels::dropout_multipliers(static_cast<std::uint64_t>(seed), probability, static_cast<std::uint32_t>(origin.batch + b),
                                   static_cast<std::uint32_t>(origin.head + h), static_cast<std::uint32_t>(origin.query + i), origin.key,
                                   keys, data + row * keys);
    }
  });
}

}  // namespace

Tensor dropout_multipliers(at::IntArrayRef sizes, double probability, std::int64_t seed, const Tensor& like, const DropoutOrigin& origin) {
  constexpr auto where = "attend::addressing::dropout_multipliers";
  if (!(probability >= 0 && probability <= 1))
    throw InvalidArgument(format("{}: expected a probability from 0 to 1, got {}", where, probability));
  if (sizes.size() != 4) throw InvalidArgument(format("{}: expected sizes [B, H, Lq, Lk], got {}", where, shape_text(sizes)));
  check_floating(where, "like", like);
  const bool in_double = like.scalar_type() == at::kDouble;
  // the words are made on the CPU for every device, so that every device drops the same
  Tensor out = at::empty(sizes, at::TensorOptions().dtype(in_double ? at::kDouble : at::kFloat));
  if (in_double)
    fill_multipliers<double>(out, probability, seed, origin);
  else
    fill_multipliers<float>(out, probability, seed, origin);
  return out.to(like.options());
}

}  // namespace attend::addressing
