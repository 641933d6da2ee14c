// Which vector instructions attend's own kernels run on here.
#pragma once

#include <string>

#include "attend/base/api.h"

namespace attend::addressing {

// Highway's name of the target that run-time dispatch takes on this processor: "AVX3", "AVX2", "NEON", …
ATTEND_API std::string simd_target();

}  // namespace attend::addressing
