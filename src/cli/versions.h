// What `attend --version` says.
#pragma once

#include <string>

namespace attend::cli {

// Version of attend, and of what it stands on: libtorch, BLAS, SIMD target, threads. Loads no libtorch.
std::string version_text();

}  // namespace attend::cli
