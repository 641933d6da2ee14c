#include "cli/blas.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "attend/base/format.h"

namespace attend::cli {

Blas find_blas() {
  void* library = dlopen("libblas.so.3", RTLD_LAZY | RTLD_NODELETE);  // what it opens in its turn keeps memory that an unloading would orphan
  if (library == nullptr) return {"none", ""};
  const link_map* place = nullptr;
  Blas blas;
  if (dlinfo(library, RTLD_DI_LINKMAP, &place) == 0 && place != nullptr) {
    std::error_code error;
    const auto file = std::filesystem::canonical(place->l_name, error);
    blas.file = error ? place->l_name : file.string();
  }
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

}  // namespace attend::cli
