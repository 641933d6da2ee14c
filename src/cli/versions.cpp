#include "cli/versions.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>

#include <filesystem>

#include "attend/addressing/simd_target.h"
#include "attend/base/format.h"

namespace attend::cli {
namespace {

int usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

Blas find_blas() {
  void* library = dlopen("libblas.so.3", RTLD_LAZY);
  if (library == nullptr) return {"none", ""};
  const link_map* place = nullptr;
  Blas blas;
  if (dlinfo(library, RTLD_DI_LINKMAP, &place) == 0 && place != nullptr) {
    std::error_code error;
    const auto file = std::filesystem::canonical(place->l_name, error);
    blas.file = error ? place->l_name : file.string();
  }
  dlclose(library);
  constexpr auto fast = "/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3";
  if (blas.file.find("/openblas-openmp/") != std::string::npos || blas.file.find("/mkl") != std::string::npos) return blas;
  const bool known = blas.file.find("/blas/") != std::string::npos || blas.file.find("/openblas-pthread/") != std::string::npos;
  if (known)
    blas.advice = format(
        "matrix products will be slow: libblas.so.3 is {}.\n"
        "  apt-get install libopenblas0-openmp && update-alternatives --set libblas.so.3-x86_64-linux-gnu {}",
        blas.file, fast);
  return blas;
}

std::string version_text() {
  return format("attend {}\nlibtorch {}\nBLAS {}\nSIMD {}\nthreads {}\n", ATTEND_VERSION, ATTEND_LIBTORCH_VERSION, find_blas().file,
                addressing::simd_target(), usable_cores());
}

}  // namespace attend::cli
