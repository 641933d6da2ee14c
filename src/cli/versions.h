// What `attend --version` says.
#pragma once

#include <string>

namespace attend::cli {

// Version of attend, and of what it stands on: libtorch, BLAS, SIMD target, threads. Loads no libtorch.
std::string version_text();

// The file that libblas.so.3 resolves to, and what to do where it is a slow one (empty: nothing).
struct Blas {
  std::string file, advice;
};
Blas find_blas();

}  // namespace attend::cli
