#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// The tool with an apt-get of the test's own: the network isn't needed.
class DataCommand : public testing::Test {
 protected:
  DataCommand() { fs::create_directories(folder.path() / "temporary"); }

  void add_apt_get(const std::string& script) const {
    fs::permissions(folder.write("bin/apt-get", "#!/bin/sh\n" + script), fs::perms::owner_all);
  }
  // One that knows two descriptions.
  void add_whole_apt_get() const {
    const std::string place = folder.path().string();
    folder.write("en", "Package: game\nDescription-md5: 1\nDescription-en: a game\n It is free.\n");
    folder.write("fr", "Package: game\nDescription-md5: 1\nDescription-fr: un jeu\n Il est libre.\n");
    add_apt_get("if [ \"$1\" = indextargets ]; then printf 'Debian\\tDebian\\tmain\\tbookworm\\thttp://mirror.example/\\n'; exit 0; fi\n"
                "cd \"$(dirname \"$2\")/lists\" && cp '" + place + "/en' m_i18n_Translation-en && cp '" + place + "/fr' m_i18n_Translation-fr && : >m_binary-amd64_Packages\n");
  }

  Surroundings surroundings() const {
    return {.environment = {{"PATH", (folder.path() / "bin").string() + ":" + getenv("PATH")},
                            {"TMPDIR", (folder.path() / "temporary").string()},
                            {"ATTEND_DATA", (folder.path() / "data").string()}}};
  }

  const fixtures::TemporaryFolder folder;
};

TEST_F(DataCommand, MakesTheSetThatARecipeNames) {
  add_whole_apt_get();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"data", "package-descriptions"}, {"data", "package-descriptions", "--languages", "en,fr"}, {"data", "package-descriptions-en-fr"}}) {
    fs::remove_all(folder.path() / "data");
    const Ending ending = run(arguments, {}, surroundings());
    EXPECT_EQ(ending.status, 0) << ending.errors;
    EXPECT_THAT(ending.output, AllOf(StartsWith("name     package-descriptions-en-fr\nsource   Debian "), HasSubstr("train    2 pairs, "),
                                     HasSubstr("folder   " + (folder.path() / "data/package-descriptions-en-fr").string() + "\n")));
    EXPECT_THAT(ending.errors, IsEmpty());  // progress is for terminals
    EXPECT_EQ(bytes_of(folder.path() / "data/package-descriptions-en-fr/train.tsv"), "a game\tun jeu\nIt is free.\tIl est libre.\n");
    EXPECT_TRUE(fs::is_empty(folder.path() / "temporary"));
  }
}

TEST_F(DataCommand, WhatARecipeMissesIsToldAsTheCommandThatMakesIt) {
  const fs::path recipe = folder.write("mine.toml", "format = 1\n[data]\ncorpus = \"package-descriptions-en-fr\"\nsource = \"words\"\ntarget = \"words\"\n");
  const Ending ending = run({"train", recipe.string(), "--out", (folder.path() / "run").string()}, {}, surroundings());
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.errors, HasSubstr("`attend data package-descriptions-en-fr` makes it"));
}

TEST_F(DataCommand, InterruptedItEndsByTheSignalAndLeavesNothing) {
  add_apt_get("kill -INT $PPID\nexit 130\n");  // a terminal's Ctrl-C ends both
  const Ending ending = run({"data", "libreoffice-help"}, {}, surroundings());
  EXPECT_EQ(ending.signal, SIGINT) << ending.errors;
  EXPECT_TRUE(fs::is_empty(folder.path() / "temporary"));
  EXPECT_FALSE(fs::exists(folder.path() / "data/libreoffice-help-en-fr"));
}

TEST_F(DataCommand, AFailedDownloadSaysWhy) {
  add_apt_get("echo 'Err: Temporary failure resolving deb.debian.org' >&2\nexit 100\n");
  const Ending ending = run({"data", "libreoffice-help"}, {}, surroundings());
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: Debian package libreoffice-help-en-us: "), HasSubstr("Temporary failure resolving")));
}

}  // namespace
}  // namespace attend::tests
