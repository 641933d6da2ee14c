// What all normalisers but softmax begin with: checks, and scores in which hidden keys can't win.
#pragma once

#include <optional>

#include "attend/core/libtorch.h"

namespace attend::addressing {

struct Visible {
  Tensor scores;  // [B, H, Lq, Lk]: minus infinity at hidden keys, 0 in rows that see nothing; half types as float32
  Tensor hidden;  // bool [B, H, Lq, Lk]
  Tensor empty;   // bool [B, H, Lq, 1]: sees nothing
};

// `where` is the public function named in messages.
Visible visible(const char* where, const Tensor& scores, const std::optional<Tensor>& keep);

}  // namespace attend::addressing
