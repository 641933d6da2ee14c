// What the tests of this folder draw.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "attend/view/record.h"

namespace attend::view {

inline constexpr float nan_weight = std::numeric_limits<float>::quiet_NaN();

// The alignment of an example's tokens, weights row by row, head by head.
inline Item alignment(std::int64_t heads, const Example& example, std::vector<float> weights) {
  return {.module = "decoder.attention", .axes = {"head", "target", "source"}, .heads = heads,
          .shape = {heads, std::ssize(example.target), std::ssize(example.source)}, .weights = std::move(weights)};
}

}  // namespace attend::view
