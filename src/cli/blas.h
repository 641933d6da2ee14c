// The BLAS that libtorch's matrix products run on.
#pragma once

#include <string>

namespace attend::cli {

// The file that libblas.so.3 resolves to, and what to do where it is a slow one (empty: nothing).
struct Blas {
  std::string file, advice;
};
Blas find_blas();

}  // namespace attend::cli
