#include "attend/io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

// A folder of its own for each test.
class FileTest : public testing::Test {
 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().filename().string());
    std::ranges::sort(found);
    return found;
  }

  const fixtures::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  const fs::path file = folder / "a.txt";
};

using ReadFile = FileTest;
using AtomicFileTest = FileTest;
using AppendLine = FileTest;
using MakeFolders = FileTest;
using RemoveStalePartialFiles = FileTest;

// What `work` returns in a process of its own, or minus the signal that ended it.
template <class Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs `work` where no file may grow beyond `limit` bytes: 0 where it throws a SystemError that says `expected`.
template <class Work>
int refused_on_full_disk(rlim_t limit, const std::string& expected, Work work) {
  return in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit size = {limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &size);
    try {
      work();
    } catch (const SystemError& error) {
      return std::string(error.what()).find(expected) == std::string::npos ? 2 : 0;
    }
    return 1;
  });
}

TEST_F(ReadFile, GivesTheBytes) {
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 300000u}) {
    std::string text(size, 'x');
    if (size) text.back() = '\0';
    write_file(file, text);
    EXPECT_EQ(read_file(file), text) << size;
  }
}

TEST_F(ReadFile, ReadsWhatHasNoSize) {
  EXPECT_THAT(read_file("/proc/self/status"), HasSubstr("Name:"));
  EXPECT_EQ(read_file("/dev/null"), "");
}

TEST_F(ReadFile, SaysWhyItCannot) {
  EXPECT_THAT([&] { read_file(file); }, ThrowsMessage<SystemError>(StrEq(file.string() + ": cannot be opened: No such file or directory")));
  EXPECT_THAT([&] { read_file(folder); }, ThrowsMessage<SystemError>(StrEq(folder.string() + ": is a folder, expected a file")));
  EXPECT_THAT([&] { read_file("/proc/self/mem"); }, ThrowsMessage<SystemError>(StartsWith("/proc/self/mem: cannot be read: ")));
}

TEST_F(AtomicFileTest, AppearsOnCommitOnly) {
  {
    AtomicFile atomic(file);
    atomic.write("one ");
    EXPECT_FALSE(fs::exists(file));
    EXPECT_THAT(names(), ElementsAre("a.txt.partial-" + std::to_string(::getpid())));
    atomic.write("two");
    atomic.commit();
    EXPECT_EQ(read_file(file), "one two");
  }
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, WithoutCommitTheOldFileStays) {
  write_file(file, "old");
  {
    AtomicFile atomic(file);
    atomic.write("new");
  }
  EXPECT_EQ(read_file(file), "old");
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, FullDiskLeavesTheOldFile) {
  write_file(file, "old");
  EXPECT_EQ(refused_on_full_disk(4096, file.string() + ": cannot be written: File too large",
                                 [&] { write_file(file, std::string(100'000, 'x')); }),
            0);
  EXPECT_EQ(read_file(file), "old");
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, DeathOfTheProcessLeavesTheOldFile) {
  write_file(file, "old");
  const int result = in_child([&] {
    AtomicFile atomic(file);
    atomic.write("new");
    return ::kill(::getpid(), SIGKILL);
  });
  EXPECT_EQ(result, -SIGKILL);
  EXPECT_EQ(read_file(file), "old");
  EXPECT_EQ(names().size(), 2u);
  remove_stale_partial_files(folder);
  EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(AtomicFileTest, KeepsPermissionsAndLinks) {
  const fs::path target = folder / "target.txt";
  write_file(target, "old");
  ::chmod(target.c_str(), 0600);
  fs::create_symlink("target.txt", file);
  write_file(file, "new");
  EXPECT_TRUE(fs::is_symlink(file));
  EXPECT_EQ(read_file(target), "new");
  EXPECT_EQ(fs::status(target).permissions(), fs::perms(0600));
}

TEST_F(AtomicFileTest, WritesToADeviceInsteadOfReplacingIt) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THAT([] { write_file("/dev/full", "x"); },
              ThrowsMessage<SystemError>(StrEq("/dev/full: cannot be written: No space left on device")));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicFileTest, SaysWhyItCannot) {
  EXPECT_THAT([&] { AtomicFile atomic(folder); }, ThrowsMessage<SystemError>(StrEq(folder.string() + ": is a folder, expected a file")));
  const fs::path missing = folder / "missing" / "a.txt";
  EXPECT_THAT([&] { AtomicFile atomic(missing); },
              ThrowsMessage<SystemError>(StrEq(missing.string() + ": cannot be opened for writing: No such file or directory")));
  AtomicFile atomic(file);
  fs::create_directory(file);
  EXPECT_THAT([&] { atomic.commit(); }, ThrowsMessage<SystemError>(StartsWith(file.string() + ": cannot be put in its place: ")));
  EXPECT_THAT(names(), ElementsAre("a.txt"));
  EXPECT_THROW(atomic.commit(), std::logic_error);
  EXPECT_THROW(atomic.write("x"), SystemError);
}

TEST_F(AppendLine, AddsLinesAndMakesTheFile) {
  append_line(file, "one");
  append_line(file, "");
  append_line(file, "two");
  EXPECT_EQ(read_file(file), "one\n\ntwo\n");
}

TEST_F(AppendLine, RefusesWhatIsNotOneLineOrCannotBeWritten) {
  EXPECT_THROW(append_line(file, "one\ntwo"), InvalidArgument);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_THAT([&] { append_line(folder, "x"); }, ThrowsMessage<SystemError>(StrEq(folder.string() + ": is a folder, expected a file")));
  EXPECT_THROW(append_line(folder / "missing" / "a.txt", "x"), SystemError);
  EXPECT_THAT([] { append_line("/dev/full", "x"); }, ThrowsMessage<SystemError>(HasSubstr("No space left on device")));
}

TEST_F(AppendLine, FullDiskLeavesNoHalfLine) {
  append_line(file, std::string(1000, 'a'));
  EXPECT_EQ(
      refused_on_full_disk(2000, file.string() + ": cannot be written: File too large", [&] { append_line(file, std::string(2000, 'b')); }),
      0);
  EXPECT_EQ(read_file(file), std::string(1000, 'a') + "\n");
}

TEST_F(AppendLine, LinesOfTwoProcessesDoNotMix) {
  const auto append_many = [&](char letter) {
    for (int i = 0; i < 200; ++i) append_line(file, std::string(5000, letter));
    return 0;
  };
  EXPECT_EQ(in_child([&] {
              const pid_t other = ::fork();
              append_many(other == 0 ? 'a' : 'b');
              if (other == 0) ::_exit(0);
              int status = 0;
              ::waitpid(other, &status, 0);
              return status;
            }),
            0);
  const std::string text = read_file(file);
  ASSERT_EQ(text.size(), 400u * 5001);
  for (std::size_t begin = 0; begin < text.size(); begin += 5001)
    ASSERT_EQ(text.substr(begin, 5001), std::string(5000, text[begin]) + "\n") << begin;
}

TEST_F(MakeFolders, MakesParentsToo) {
  make_folders(folder / "a" / "b");
  make_folders(folder / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b"));
  write_file(file, "x");
  EXPECT_THAT([&] { make_folders(file); }, ThrowsMessage<SystemError>(StartsWith(file.string() + ": the folder cannot be made: ")));
  EXPECT_THROW(make_folders(file / "below"), SystemError);
}

TEST_F(RemoveStalePartialFiles, RemovesOnlyThoseOfDeadProcesses) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  const std::string stale = ".partial-" + std::to_string(dead);
  const std::string own = "c.partial-" + std::to_string(::getpid());
  for (const std::string& name : {"a" + stale, "b" + stale + "x", own, std::string("d.partial-"), std::string("e.partial-0"),
                                  std::string("f.partial--1"), std::string("g.partial-99999999999999999999"), std::string("h.txt")})
    write_file(folder / name, "x");
  fs::create_directory(folder / ("i" + stale));
  remove_stale_partial_files(folder);
  EXPECT_THAT(names(), ElementsAre("b" + stale + "x", own, "d.partial-", "e.partial-0", "f.partial--1", "g.partial-99999999999999999999",
                                   "h.txt", "i" + stale));
}

TEST_F(RemoveStalePartialFiles, MissingFolderHasNone) {
  EXPECT_NO_THROW(remove_stale_partial_files(folder / "missing"));
  write_file(file, "x");
  EXPECT_THROW(remove_stale_partial_files(file), SystemError);
}

}  // namespace
}  // namespace attend::io
