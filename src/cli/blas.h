// The BLAS that libtorch's matrix products run on.
#pragma once

#include <string>

namespace attend::cli {

// The file that libblas.so.3 resolves to; OpenBLAS's name for the kernels it chose (empty: not OpenBLAS); and what to do where the file is
// a slow one (empty: nothing).
struct Blas {
  std::string file, kernels, advice;
};
Blas find_blas();

// OpenBLAS goes by the processor's model number, and on a model that came out after it falls back to SSE kernels, a quarter as fast. It
// chooses once, while it is loaded. Where its choice is narrower than the processor and the user asked for none (OPENBLAS_CORETYPE), this
// asks for the right one and starts the program anew; it returns where nothing is to be done. To be called before libtorch is loaded.
void restart_with_widest_kernels(char** arguments);

}  // namespace attend::cli
