// What a mechanism gives back, and which of its forms ran.
#pragma once

#include <string>
#include <string_view>

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
};

}  // namespace attend
