#include "attend/data/sets/debian_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "attend/base/error.h"
#include "attend/io/process.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::AllOf;

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

// A variable of the environment, set while this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), had_(getenv(name) != nullptr), before_(had_ ? getenv(name) : "") {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  bool had_;
  std::string before_;
};

// A folder for temporary files, and programs of our own in front of PATH: nothing here needs the network.
class DebianPackages : public testing::Test {
 protected:
  DebianPackages() { std::filesystem::create_directories(folder.path() / "temporary"); }

  void make_program(const std::string& name, const std::string& script) const {
    const auto file = folder.write("bin/" + name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  std::string programs() const { return (folder.path() / "bin").string(); }
  bool left_nothing() const { return std::filesystem::is_empty(folder.path() / "temporary"); }

  const fixtures::TemporaryFolder folder;
  const Variable temporary{"TMPDIR", (folder.path() / "temporary").string()};
};

TEST_F(DebianPackages, AnUnknownNameIsRefusedWithWhatToDo) {
  make_program("apt-get", "echo \"E: Unable to locate package $3\" >&2\nexit 100\n");
  const Variable path("PATH", programs() + ":" + getenv("PATH"));
  EXPECT_THAT([] { DebianPackage package("no-such-package"); },
              ThrowsMessage<SystemError>(AllOf(StartsWith("Debian package no-such-package: "),
                                               HasSubstr("E: Unable to locate package no-such-package"), HasSubstr("run `apt-get update`"))));
  EXPECT_TRUE(left_nothing());
}

TEST_F(DebianPackages, AMachineWithoutAptGetIsToldSo) {
  std::filesystem::create_directories(folder.path() / "bin");
  const Variable path("PATH", programs());
  EXPECT_THAT([] { DebianPackage package("some-package"); },
              ThrowsMessage<SystemError>(AllOf(StartsWith("Debian package some-package: "), HasSubstr("apt-get"), HasSubstr("Debian"))));
  EXPECT_TRUE(left_nothing());
}

TEST_F(DebianPackages, FilesLieWhereTheirPathSaysUntilThePackageGoes) {
  const auto source = folder.path() / "source";
  folder.write("source/DEBIAN/control", "Package: tiny\nVersion: 1.2-3\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\nDescription: tiny\n");
  folder.write("source/usr/share/tiny/words", "one\ntwo\n");
  const auto built = io::run_process({"dpkg-deb", "--root-owner-group", "-b", source.string(), (folder.path() / "tiny.deb").string()}, ".");
  ASSERT_EQ(built.status, 0) << built.output;
  make_program("apt-get", "cp '" + (folder.path() / "tiny.deb").string() + "' tiny_1.2-3_all.deb\n");
  const Variable path("PATH", programs() + ":" + getenv("PATH"));
  {
    const DebianPackage package("tiny");
    EXPECT_EQ(package.version(), "1.2-3");
    EXPECT_EQ(fixtures::bytes_of(package.file("usr/share/tiny/words")), "one\ntwo\n");
    EXPECT_THAT([&] { package.file("usr/share/tiny/missing"); },
                ThrowsMessage<SystemError>(AllOf(StartsWith("Debian package tiny 1.2-3: "), HasSubstr("usr/share/tiny/missing"))));
  }
  EXPECT_TRUE(left_nothing());
}

TEST_F(DebianPackages, AnArchiveThatCannotBeUnpackedIsRefused) {
  make_program("apt-get", "echo garbage >tiny_1_all.deb\n");
  const Variable path("PATH", programs() + ":" + getenv("PATH"));
  EXPECT_THAT([] { DebianPackage package("tiny"); }, ThrowsMessage<SystemError>(HasSubstr("`dpkg-deb -x` failed")));
  EXPECT_TRUE(left_nothing());
}

}  // namespace
}  // namespace attend::data
