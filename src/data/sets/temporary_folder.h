// Folders for what is downloaded.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "attend/base/error.h"

namespace attend::data {

// A new folder that only this user may enter; who makes it removes it.
inline std::filesystem::path make_temporary_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "attend-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw SystemError(format("{}: cannot be made: {}", pattern, std::strerror(errno)));
  return pattern;
}

}  // namespace attend::data
