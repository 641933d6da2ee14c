#include "attend/addressing/simd_target.h"

#include <hwy/targets.h>

#include <cstdint>

namespace attend::addressing {

std::string simd_target() {
  // Dispatch takes the best target that was compiled and that the processor has; better ones have lower bits.
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets ? targets & -targets : HWY_STATIC_TARGET);
}

}  // namespace attend::addressing
