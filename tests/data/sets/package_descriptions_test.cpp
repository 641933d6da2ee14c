#include "attend/data/sets/package_descriptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "tests/fixtures/programs.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

constexpr auto english = "Package: game\nDescription-md5: 11\nDescription-en: a game of strategy\n It is played in real time. It is\n free.\n .\n Features:\n"
                         "  * fast\n    graphics\n  - sound\n After the list.\n .\n The end.\n"
                         "\n"
                         "Package: tool\nDescription-md5: 22\nDescription-en: a tool\n One paragraph.\n";
constexpr auto french = "Package: game\nDescription-md5: 11\nDescription-fr: jeu de stratégie\n Il se joue en temps réel. Il est\n libre.\n .\n Caractéristiques :\n"
                        "  * graphismes\n    rapides\n  * son\n Après la liste.\n .\n La fin.\n"
                        "\n"
                        "Package: tool\nDescription-md5: 22\nDescription-fr: un outil\n Un paragraphe.\n .\n Encore un.\n"
                        "\n"
                        "Package: old\nDescription-md5: 33\nDescription-fr: un vieux\n Rien.\n";

std::vector<std::string> passages_as_texts(const std::vector<Passage>& passages) {
  std::vector<std::string> texts;
  for (const Passage& passage : passages) texts.push_back(passage.document + ": " + passage.source + " = " + passage.target);
  return texts;
}

class Descriptions : public testing::Test {
 protected:
  std::map<std::string, PackageDescription> read(const std::string& content) const { return read_package_descriptions(folder.write("Translation-xx", content)); }
  const fixtures::TemporaryFolder folder;
};

TEST_F(Descriptions, AreReadByTheSumOfTheEnglishText) {
  const auto read_back = read(english);
  ASSERT_THAT(read_back, UnorderedElementsAre(Pair("11", testing::_), Pair("22", testing::_)));
  const PackageDescription& game = read_back.at("11");
  EXPECT_EQ(game.package, "game");
  EXPECT_EQ(game.title, "a game of strategy");
  EXPECT_THAT(game.paragraphs, ElementsAre(ElementsAre("It is played in real time. It is free."),
                                           ElementsAre("Features:", "fast graphics", "sound", "After the list."), ElementsAre("The end.")));
}

TEST_F(Descriptions, LinesOfJapaneseGoOnWithoutASpace) {
  const auto read_back = read("Package: g\nDescription-md5: 1\nDescription-ja: 題\n ローテーショ\n ンが可能です。\n");
  EXPECT_THAT(read_back.at("1").paragraphs, ElementsAre(ElementsAre("ローテーションが可能です。")));
}

TEST_F(Descriptions, TakeWhateverAFileHolds) {
  for (const std::string bad : {"", "\n\n\n", "garbage", " .\n text without a field\n", "Package: x\n\n", "Description-md5: 1\n text\n", "field: value\n"})
    EXPECT_THAT([&] { read(bad); }, ThrowsMessage<InvalidData>(HasSubstr("expected descriptions of packages"))) << bad;
  EXPECT_EQ(read("Package: g\nDescription-md5: 1\nDescription-fr: only a title").at("1").title, "only a title");
  EXPECT_THAT([&] { read_package_descriptions(folder.path() / "missing"); }, ThrowsMessage<SystemError>(HasSubstr("cannot be opened")));
}

TEST_F(Descriptions, TheSourceOfAPackageIsItsDocument) {
  const auto file = folder.write("Packages", "Package: game\nSource: game-src (1.2)\nDescription: x\n\nPackage: tool\n\nPackage: lib\nSource: tool\n");
  EXPECT_THAT(read_source_packages(file), UnorderedElementsAre(Pair("game", "game-src"), Pair("lib", "tool")));
}

TEST_F(Descriptions, ArePairedWhereTheirPartsGoTogether) {
  const auto passages = pair_package_descriptions(read(english), read(french), {{"game", "game-src"}});
  EXPECT_THAT(passages_as_texts(passages),
              ElementsAre("game-src: a game of strategy = jeu de stratégie",
                          "game-src: It is played in real time. It is free. = Il se joue en temps réel. Il est libre.", "game-src: Features: = Caractéristiques :",
                          "game-src: fast graphics = graphismes rapides", "game-src: sound = son", "game-src: After the list. = Après la liste.",
                          "game-src: The end. = La fin.", "tool: a tool = un outil"));
}

TEST_F(Descriptions, GiveADataSet) {
  const fixtures::Programs programs(folder);
  folder.write("en", english);
  folder.write("fr", french);
  folder.write("packages", "Package: game\nSource: source-of-game\n");
  const std::string place = folder.path().string();
  programs.add("apt-get", "if [ \"$1\" = indextargets ]; then printf 'Debian\\tDebian\\tmain\\tbookworm\\thttp://mirror.example/\\n'; exit 0; fi\n"
                          "cd \"$(dirname \"$2\")/lists\" && cp '" + place + "/en' m_i18n_Translation-en && cp '" + place + "/fr' m_i18n_Translation-fr && cp '" +
                              place + "/packages' m_binary-amd64_Packages\n");
  const io::Value source = make_package_descriptions(folder.path() / "set", {"en", "fr"});
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "set/train.tsv"),
            "a game of strategy\tjeu de stratégie\nIt is played in real time.\tIl se joue en temps réel.\nIt is free.\tIl est libre.\n"
            "Features:\tCaractéristiques :\nfast graphics\tgraphismes rapides\nsound\tson\nAfter the list.\tAprès la liste.\nThe end.\tLa fin.\na tool\tun outil\n");
  EXPECT_EQ(source.find_path("name")->as_text(), "package-descriptions-en-fr");
  EXPECT_THAT(source.find_path("source")->as_text(), StartsWith("Debian unknown: main/i18n/Translation-en and -fr"));
  EXPECT_TRUE(programs.left_nothing());
}

}  // namespace
}  // namespace attend::data
