// Items with fewer numbers, for recordings and pages that would be too large.
#pragma once

#include <cstdint>

#include "attend/base/api.h"
#include "attend/view/record.h"

namespace attend::view {

// What is kept of each panel.
struct Keep {
  Form form = Form::all;
  std::int64_t k = 8;      // top_k: weights of each row
  std::int64_t size = 64;  // thumbnail: most rows and columns
};

// `item` in the wanted form, with the entropy of each row. It is left as it is where that form would not be smaller, where it is shortened already, where it has fewer than two axes,
// and where its kind is glimpse. A NaN counts as larger than any number in top_k, so that it stays visible, and makes its block NaN.
// InvalidArgument where k or size is below 1, and as check_item() says of an item that doesn't fit itself.
ATTEND_API Item shortened(const Item& item, const Keep& keep);

// −Σ w log2 w of a row, in bits, of the weights divided by their sum; negative and non-finite weights don't count; 0 where nothing is left.
ATTEND_API float row_entropy(const float* weights, std::int64_t columns);

}  // namespace attend::view
