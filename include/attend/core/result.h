// What a mechanism gives back, and which of its forms ran.
#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/options.h"

namespace attend {

// Which form of a mechanism runs. It is never chosen silently: explain() of each mechanism says which would run and why.
enum class Path {
  automatic,  // fused where it is possible, else composed
  fused,      // one kernel; where it is impossible: NotSupported with the reason
  composed,   // libtorch operations, score matrix stored
};

template <>
struct EnumNames<Path> {
  static constexpr EnumName<Path> values[] = {{Path::automatic, "automatic"}, {Path::fused, "fused"}, {Path::composed, "composed"}};
};

struct AttentionResult {
  Tensor context;  // [B, H, Lq, Dv]; [B, Lq, Ev] from modules
  Tensor weights;  // [B, H, Lq, Lk] before dropout, where they were asked for; else undefined
  // What the score-function gradient of a sampled read needs, [B, H, Lq]; else undefined.
  Tensor log_probability = {};  // of the key that was drawn; 0 where none was
  Tensor entropy = {};          // of the probabilities that it was drawn by
};

// `const auto [context, weights] = …` takes the two that every mechanism gives.
template <std::size_t I>
const Tensor& get(const AttentionResult& result) {
  static_assert(I < 2);
  return I == 0 ? result.context : result.weights;
}

}  // namespace attend

template <>
struct std::tuple_size<attend::AttentionResult> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, attend::AttentionResult> {
  using type = const attend::Tensor;
};
