// Which numbers are neither NaN nor infinite. Private.
#pragma once

#include "attend/core/libtorch.h"

namespace attend::addressing {

bool is_finite(const Tensor& tensor);

// Which rows are, along the last dimension: bool, without it.
Tensor finite_rows(const Tensor& tensor);
// Rows that aren't become zeros, without gradient.
Tensor zero_rows(const Tensor& tensor, const Tensor& finite);

}  // namespace attend::addressing
