#include "attend/io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "attend/base/error.h"

namespace attend::io {
namespace {

// What the holder wrote; "unknown" where it hasn't yet.
std::string holder(int descriptor) {
  char digits[16];
  const ssize_t count = ::pread(descriptor, digits, sizeof digits, 0);
  const std::string text(digits, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const std::string process = text.substr(0, text.find_first_not_of("0123456789"));
  return process.empty() ? "unknown" : process;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const std::string name = folder.string();
  descriptor_ = ::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) throw SystemError(format("{}: cannot be locked: {}", name, std::generic_category().message(errno)));
  int result = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  while (result < 0 && errno == EINTR) result = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  if (result < 0) {
    const int error = errno;
    const std::string process = holder(descriptor_);
    ::close(descriptor_);
    if (error != EWOULDBLOCK) throw SystemError(format("{}: cannot be locked: {}", name, std::generic_category().message(error)));
    throw SystemError(format("{}: another process ({}) is writing here; wait until it ends, or choose another folder", name, process));
  }
  // Only for the message: the lock holds without it, on a full disk too.
  const std::string process = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, process.data(), process.size(), 0);
}

// The file stays: removing it would let two processes lock two files of the same name.
FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace attend::io
