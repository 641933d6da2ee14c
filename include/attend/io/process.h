// Other programs, run and waited for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/api.h"

namespace attend::io {

struct ProcessResult {
  int status = 0;      // what it returned; 128 + n where signal n ended it
  std::string output;  // standard output and error as they came, the last 64 KiB
};

// Runs `arguments[0]` (searched in PATH) in `folder`, without a shell and without standard input. SystemError where it can't be started.
ATTEND_API ProcessResult run_process(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

}  // namespace attend::io
