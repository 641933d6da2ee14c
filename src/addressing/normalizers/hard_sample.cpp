#include "attend/addressing/normalizers/hard_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "addressing/normalizers/visible.h"
#include "attend/core/shapes.h"
#include "kernels/philox.h"

namespace attend::addressing {
namespace {

constexpr auto hard_sample_name = "attend::addressing::hard_sample";
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

std::array<std::uint32_t, 4> words_of_row(std::int64_t seed, const DropoutOrigin& origin, std::int64_t b, std::int64_t h, std::int64_t i) {
  const auto bits = static_cast<std::uint64_t>(seed);
  return kernels::philox4x32({static_cast<std::uint32_t>(origin.batch + b), static_cast<std::uint32_t>(origin.head + h),
                              static_cast<std::uint32_t>(origin.query + i), 0},
                             {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)});
}

// In [0, 1), with 53 bits.
double number_of(const std::array<std::uint32_t, 4>& words) {
  return std::ldexp(static_cast<double>((std::uint64_t{words[0]} << 32 | words[1]) >> 11), -53);
}

// The first key whose running sum of exp(s − max) exceeds `share` of the whole; 0 where a score is NaN. Hidden keys, at minus infinity, add
// exactly 0.
std::int64_t draw_key(const double* scores, std::int64_t keys, double share) {
  const double largest = *std::max_element(scores, scores + keys);
  double whole = 0, running = 0;
  for (std::int64_t j = 0; j < keys; ++j) whole += std::exp(scores[j] - largest);
  for (std::int64_t j = 0; j < keys; ++j)
    if ((running += std::exp(scores[j] - largest)) > share * whole) return j;
  return 0;
}

struct Drawn {
  Tensor key;       // int64 [B, H, Lq]
  Tensor expected;  // bool [B, H, Lq]: takes the expected value instead
};

// Made on the CPU for every device, so that every device draws the same.
Drawn draw_keys(const Tensor& scores, const HardSampleOptions& options) {
  const Tensor plain = scores.detach().to(at::kCPU, at::kDouble).contiguous();
  const std::int64_t heads = plain.size(1), queries = plain.size(2), keys = plain.size(3), rows = plain.size(0) * heads * queries;
  Drawn drawn{at::empty({plain.size(0), heads, queries}, at::kLong), at::empty({plain.size(0), heads, queries}, at::kBool)};
  const double* const data = plain.data_ptr<double>();
  auto* const key = drawn.key.data_ptr<std::int64_t>();
  bool* const expected = drawn.expected.data_ptr<bool>();
  at::parallel_for(0, rows, /*grain_size=*/1 + 4096 / keys, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto words = words_of_row(*options.seed, options.origin, row / (heads * queries), row / queries % heads, row % queries);
      key[row] = draw_key(data + row * keys, keys, number_of(words));
      expected[row] = words[2] < std::floor(std::ldexp(options.expected, 32));
    }
  });
  return {drawn.key.to(scores.device()), drawn.expected.to(scores.device())};
}

HardSample nothing_to_draw(const Tensor& scores) {
  const Tensor rows = at::zeros({scores.size(0), scores.size(1), scores.size(2)}, scores.options().requires_grad(false));
  return {at::zeros_like(scores.detach()), rows, rows};
}

}  // namespace

HardSample hard_sample(const Tensor& scores, const std::optional<Tensor>& keep, const HardSampleOptions& options) {
  const Visible seen = visible(hard_sample_name, scores, keep);
  if (!(options.expected >= 0 && options.expected <= 1))
    throw InvalidArgument(format("{}: expected a probability from 0 to 1 in `expected`, got {}", hard_sample_name, options.expected));
  if (options.expected > 0 && !options.seed)
    throw InvalidArgument(
        format("{}: expected a seed where `expected` is {}, got none; without one nothing is drawn", hard_sample_name, options.expected));
  if (scores.numel() == 0) return nothing_to_draw(scores);
  const Tensor none = seen.empty.squeeze(-1);                                                     // [B, H, Lq]
  Drawn drawn;
  if (options.seed)
    drawn = draw_keys(seen.scores, options);
  else
    drawn = {seen.scores.detach().argmax(-1), at::zeros_like(none)};
  const Tensor key = drawn.key.unsqueeze(-1), log_p = seen.scores.log_softmax(-1);                // [B, H, Lq, 1], [B, H, Lq, Lk]
  const Tensor p = log_p.exp(), bad = log_p.detach().isnan().any(-1);
  Tensor weights = at::zeros_like(log_p.detach()).scatter_(-1, key, 1.0);                         // [B, H, Lq, Lk]
  if (options.expected > 0) weights = at::where(drawn.expected.unsqueeze(-1), p, weights);
  const Tensor log_probability = log_p.gather(-1, key).squeeze(-1).masked_fill(none | drawn.expected, 0.0);           // [B, H, Lq]
  const Tensor entropy = -(p * log_p.masked_fill(seen.hidden, 0.0)).sum(-1).masked_fill(none, 0.0);                   // [B, H, Lq]
  const at::ScalarType type = scores.scalar_type();
  return {weights.masked_fill(seen.empty, 0.0).masked_fill(bad.unsqueeze(-1), quiet_nan).to(type),
          log_probability.masked_fill(bad, quiet_nan).to(type), entropy.to(type)};
}

}  // namespace attend::addressing
