#include "attend/io/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "attend/base/error.h"
#include "attend/io/file.h"

namespace attend::io {
namespace {

namespace fs = std::filesystem;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

class FolderLockTest : public testing::Test {
 protected:
  FolderLockTest() : folder(fs::path(testing::TempDir()) / ("attend_lock_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
  }
  ~FolderLockTest() override { fs::remove_all(folder); }

  std::string taken_by(pid_t process) const {
    return folder.string() + ": another process (" + std::to_string(process) +
           ") is writing here; wait until it ends, or choose another folder";
  }

  const fs::path folder;
};

TEST_F(FolderLockTest, IsHeldWhileItLives) {
  {
    const FolderLock lock(folder);
    EXPECT_THAT([&] { FolderLock second(folder); }, ThrowsMessage<SystemError>(StrEq(taken_by(::getpid()))));
    EXPECT_EQ(read_file(folder / ".lock"), std::to_string(::getpid()) + "\n");
  }
  EXPECT_NO_THROW(FolderLock again(folder));
}

TEST_F(FolderLockTest, IsReleasedWhenItsProcessIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FolderLock lock(folder);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT([&] { FolderLock lock(folder); }, ThrowsMessage<SystemError>(StrEq(taken_by(child))));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(FolderLock lock(folder));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FolderLockTest, DoesNotTrustWhatTheLockFileSays) {
  const FolderLock lock(folder);
  const fs::path file = folder / ".lock";
  fs::resize_file(file, 0);
  EXPECT_THAT([&] { FolderLock second(folder); }, ThrowsMessage<SystemError>(StartsWith(folder.string() + ": another process (unknown) ")));
}

TEST_F(FolderLockTest, SaysWhyTheFolderCannotBeLocked) {
  const fs::path missing = folder / "missing";
  EXPECT_THAT([&] { FolderLock lock(missing); },
              ThrowsMessage<SystemError>(StrEq(missing.string() + ": cannot be locked: No such file or directory")));
}

}  // namespace
}  // namespace attend::io
