#include "cli/versions.h"

#include <sched.h>

#include "attend/addressing/simd_target.h"
#include "attend/base/format.h"
#include "cli/blas.h"

namespace attend::cli {
namespace {

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

std::string version_text() {
  const Blas blas = find_blas();
  const std::string kernels = blas.kernels.empty() ? "" : format(" ({})", blas.kernels);
  return format("attend {}\nlibtorch {}\nBLAS {}{}\nSIMD {}\nthreads {}\n", ATTEND_VERSION, ATTEND_LIBTORCH_VERSION, blas.file, kernels,
                addressing::simd_target(), usable_cores());
}

}  // namespace attend::cli
