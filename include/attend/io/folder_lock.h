// One writer for a folder.
#pragma once

#include <filesystem>

#include "attend/base/api.h"

namespace attend::io {

// Holds FOLDER/.lock (flock) while it lives; the system releases it when the process ends, however it ends. SystemError
// "FOLDER: another process (PID) is writing here; …" where it is taken. A child made by fork() shares the lock until it calls exec or
// ends.
class ATTEND_API FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attend::io
