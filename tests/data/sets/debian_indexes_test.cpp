#include "attend/data/sets/debian_indexes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "attend/base/error.h"
#include "tests/fixtures/programs.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class Indexes : public testing::Test {
 protected:
  // An apt-get that lists these sources, and on `update` notes its configuration and runs `update`, with $LISTS for the lists of the
  // configuration.
  void add_apt_get(const std::string& sources, const std::string& update) const {
    folder.write("sources", sources);
    const std::string place = folder.path().string();
    programs.add("apt-get", "if [ \"$1\" = indextargets ]; then cat '" + place + "/sources'; exit 0; fi\n"
                            "[ \"$1\" = -c ] || exit 9\n"
                            "LISTS=$(sed -n 's/^Dir::State::lists \"\\(.*\\)\";/\\1/p' \"$2\")\n"
                            "cp \"$2\" '" + place + "/conf'; cp \"$(dirname \"$2\")/sources.list\" '" + place + "/list'\n" + update);
  }

  const std::string debian = "Other\tOther\tmain\tbookworm\thttp://other.example/\n"
                             "Debian\tDebian-Security\tmain\tbookworm-security\thttp://mirror.example/security/\n"
                             "Debian\tDebian\tmain\tbookworm-updates\thttp://mirror.example/debian/\n"
                             "Debian\tDebian\tcontrib\tbookworm\thttp://mirror.example/contrib/\n"
                             "Debian\tDebian\tmain\tbookworm\thttp://mirror.example/debian/\n";
  const fixtures::TemporaryFolder folder;
  const fixtures::Programs programs{folder};
};

TEST_F(Indexes, AreFetchedFromTheMachinesMirrorIntoAFolderOfTheirOwn) {
  add_apt_get(debian,
              "cd \"$LISTS\" && echo packages >m_main_binary-amd64_Packages && echo french >m_main_i18n_Translation-fr && echo chinese >m_main_i18n_Translation-zh%5fCN\n"
              "printf 'Origin: Debian\\nCodename: bookworm\\nVersion: 12.5\\nDate: Sat, 10 Feb 2024\\nMD5Sum:\\n Date: no\\n' >m_dists_bookworm_InRelease\n");
  {
    const DebianIndexes indexes({"fr", "zh-CN"});
    EXPECT_EQ(fixtures::bytes_of(indexes.packages()), "packages\n");
    EXPECT_EQ(fixtures::bytes_of(indexes.translation("fr")), "french\n");
    EXPECT_EQ(fixtures::bytes_of(indexes.translation("zh-CN")), "chinese\n");
    EXPECT_EQ(indexes.release(), "bookworm, 12.5 of Sat, 10 Feb 2024");
    EXPECT_THAT([&] { indexes.translation("xx"); }, ThrowsMessage<SystemError>(HasSubstr("no descriptions in the language xx")));
  }
  EXPECT_TRUE(programs.left_nothing());
  EXPECT_THAT(fixtures::bytes_of(folder.path() / "list"), AllOf(HasSubstr("http://mirror.example/debian/ bookworm main\n"), HasSubstr("target=Packages,Translations")));
  EXPECT_THAT(fixtures::bytes_of(folder.path() / "conf"), AllOf(HasSubstr("Acquire::Languages { \"fr\"; \"zh_CN\"; };"), HasSubstr("#clear APT::Update;"),
                                                               Not(HasSubstr("/var/lib/apt"))));
}

TEST_F(Indexes, WithoutDebianAmongTheSourcesSayWhatToDo) {
  for (const std::string sources : {"", "Ubuntu\tUbuntu\tmain\tjammy\thttp://ubuntu.example/\n"}) {
    add_apt_get(sources, "");
    EXPECT_THAT([] { DebianIndexes indexes({"fr"}); },
                ThrowsMessage<SystemError>(AllOf(HasSubstr("knows no release of Debian"), HasSubstr("run `apt-get update` as root first"))));
    EXPECT_TRUE(programs.left_nothing());
  }
}

TEST_F(Indexes, WithoutANetworkSayWhy) {
  add_apt_get(debian, "echo 'W: Failed to fetch: Temporary failure resolving mirror.example' >&2; exit 100\n");
  EXPECT_THAT([] { DebianIndexes indexes({"fr"}); },
              ThrowsMessage<SystemError>(AllOf(HasSubstr("Temporary failure resolving"), HasSubstr("Is there a network?"))));
  EXPECT_TRUE(programs.left_nothing());
}

TEST_F(Indexes, WithoutAptGetSayThatThisIsNotDebian) {
  const fixtures::EnvironmentVariable nothing("PATH", (folder.path() / "bin").string());
  EXPECT_THAT([] { DebianIndexes indexes({"fr"}); }, ThrowsMessage<SystemError>(AllOf(HasSubstr("apt-get"), HasSubstr("run this on Debian"))));
  EXPECT_TRUE(programs.left_nothing());
}

TEST_F(Indexes, ThatAreMissingAfterAnUpdateAreNamed) {
  add_apt_get(debian, "");
  const DebianIndexes indexes({"fr"});
  EXPECT_THAT([&] { indexes.packages(); }, ThrowsMessage<SystemError>(HasSubstr("no list of packages")));
  EXPECT_EQ(indexes.release(), "unknown");
}

}  // namespace
}  // namespace attend::data
