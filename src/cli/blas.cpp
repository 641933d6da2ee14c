#include "cli/blas.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "attend/base/format.h"

namespace attend::cli {
namespace {

// In bits. OpenBLAS 0.3's names; a name that isn't here counts as wide enough, so that a later OpenBLAS is left alone.
int vector_width(std::string_view kernels) {
  constexpr std::array sse = {"Katmai", "Coppermine", "Northwood", "Prescott", "Banias", "Core2",     "Penryn",        "Dunnington", "Nehalem",
                              "Atom",   "Athlon",     "Opteron",   "Opteron_SSE3", "Barcelona", "Bobcat", "Nano"};
  constexpr std::array avx = {"Sandybridge", "Bulldozer", "Piledriver", "Steamroller", "Excavator", "Haswell", "Zen"};
  for (const char* name : sse) {
    if (kernels == name) return 128;
  }
  for (const char* name : avx) {
    if (kernels == name) return 256;
  }
  return 512;
}

// The kernels for the widest vectors of this processor; empty: no more than every processor has.
std::string_view widest_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return {};
}

std::string chosen_kernels(void* library) {
  using Name = const char* (*)();
  const auto name = reinterpret_cast<Name>(dlsym(library, "openblas_get_corename"));
  return name != nullptr ? name() : "";
}

}  // namespace

Blas find_blas() {
  void* library = dlopen("libblas.so.3", RTLD_LAZY | RTLD_NODELETE);  // what it opens in its turn keeps memory that an unloading would orphan
  if (library == nullptr) return {.file = "none", .kernels = "", .advice = ""};
  const link_map* place = nullptr;
  Blas blas;
  if (dlinfo(library, RTLD_DI_LINKMAP, &place) == 0 && place != nullptr) {
    std::error_code error;
    const auto file = std::filesystem::canonical(place->l_name, error);
    blas.file = error ? place->l_name : file.string();
  }
  blas.kernels = chosen_kernels(library);
  dlclose(library);
  if (blas.file.find("/openblas-openmp/") != std::string::npos || blas.file.find("/mkl") != std::string::npos) return blas;
  const bool known = blas.file.find("/blas/") != std::string::npos || blas.file.find("/openblas-pthread/") != std::string::npos;
  if (known) {
    const std::filesystem::path folder = std::filesystem::path(blas.file).parent_path().parent_path();  // /usr/lib/x86_64-linux-gnu
    blas.advice = format(
        "matrix products will be slow: libblas.so.3 is {}.\n"
        "  apt-get install libopenblas0-openmp && update-alternatives --set libblas.so.3-{} {}",
        blas.file, folder.filename().string(), (folder / "openblas-openmp/libblas.so.3").string());
  }
  return blas;
}

void restart_with_widest_kernels(char** arguments) {
  constexpr const char* request = "OPENBLAS_CORETYPE";
  if (std::getenv(request) != nullptr) return;
  const std::string_view widest = widest_kernels();
  const std::string chosen = find_blas().kernels;
  if (widest.empty() || chosen.empty() || vector_width(chosen) >= vector_width(widest)) return;
  setenv(request, widest.data(), 0);
  std::error_code error;  // by its own path, so that it keeps its name among the processes
  execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), arguments);
  unsetenv(request);  // could not start anew: go on with slower products
}

}  // namespace attend::cli
