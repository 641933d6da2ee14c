#include "attend/data/sets/libreoffice_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/process.h"
#include "tests/fixtures/programs.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

// A page as the packages have them, with this inside.
std::string page(const std::string& content) {
  return "<!DOCTYPE html>\n<html lang=\"en-US\"><head><meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\"><title>T</title>"
         "<script>var p = '<p>no text</p>';</script></head><body><header><p>LibreOffice 7.4 Help</p></header>"
         "<div id=\"DisplayArea\" itemprop=\"softwareHelp\">" + content + "</div><footer><p>Donate</p></footer></body></html>";
}

std::vector<HelpBlock> blocks_of(const std::string& content) { return read_help_page(page(content), "page.html"); }

std::vector<std::string> sides(const std::vector<Passage>& passages) {
  std::vector<std::string> texts;
  for (const Passage& passage : passages) texts.push_back(passage.document + ": " + passage.source + " = " + passage.target);
  return texts;
}

TEST(ReadHelpPage, GivesHeadingsAndParagraphsWithoutMarkup) {
  EXPECT_THAT(blocks_of("<h1 id=\"hd_1\"><a name=\"x\"></a>A Title</h1><div class=\"icontable\"><div><p id=\"par_2\" class=\"listitem\">Click "
                        "<a href=\"x.html\"><span class=\"emph\">Insert - Caf\u00E9</span></a> &amp; type &lt;Enter&gt;.<br>Done</p></div></div>"),
              ElementsAre(HelpBlock{"hd_1", "A Title"}, HelpBlock{"par_2", "Click Insert - Caf\u00E9 & type <Enter>. Done"}));
}

TEST(ReadHelpPage, LeavesOutPrograms) {
  EXPECT_THAT(blocks_of("<p id=\"a\" class=\"code\">PRINT 1</p><pre>BEEP</pre><p id=\"b\" class=\"codeintable\">x</p><p id=\"c\" class=\"paragraph\">Text</p>"),
              ElementsAre(HelpBlock{"c", "Text"}));
}

TEST(ReadHelpPage, TakesTheDefaultOfTextsThatDifferBySystem) {
  EXPECT_THAT(blocks_of("<p id=\"a\">Press <span id=\"s\" class=\"switchinline\"><span hidden=\"true\" id=\"MACtext1\" class=\"MAC\">Command</span>"
                        "<span hidden=\"true\" id=\"defaulttext1\"><span class=\"keycode\">Ctrl</span></span></span>+F.</p>"),
              ElementsAre(HelpBlock{"a", "Press Ctrl+F."}));
}

TEST(ReadHelpPage, APageThatIsNoneHasNoBlocksOrIsRefused) {
  EXPECT_THAT(read_help_page("<html><body><p>no area</p></body></html>", "page.html"), IsEmpty());
  EXPECT_THAT(read_help_page("just text \xFF\xFE & more <<<", "page.html"), IsEmpty());
  EXPECT_THAT([] { read_help_page("", "page.html"); }, ThrowsMessage<InvalidData>(StartsWith("page.html: expected a page in HTML")));
}

TEST(PairHelpBlocks, GoInOrderWherePagesAreAlike) {
  EXPECT_THAT(sides(pair_help_blocks("p", {{"1", "a"}, {"", "b"}, {"1", "c"}}, {{"1", "A"}, {"", "B"}, {"1", "C"}})), ElementsAre("p: a = A", "p: b = B", "p: c = C"));
}

TEST(PairHelpBlocks, GoByTheirIdsWhereTheyAreNot) {
  EXPECT_THAT(sides(pair_help_blocks("p", {{"1", "a"}, {"", "b"}, {"2", "c"}, {"1", "d"}, {"3", "e"}}, {{"2", "C"}, {"1", "A"}, {"1", "D"}, {"", "B"}, {"4", "F"}})),
              ElementsAre("p: a = A", "p: c = C", "p: d = D"));
  EXPECT_THAT(pair_help_blocks("p", {}, {{"1", "x"}}), IsEmpty());
}

class HelpPackages : public testing::Test {
 protected:
  // A page of a language in the tree that its package is built from.
  void write_page(const std::string& language, const std::string& name, const std::string& content) const {
    folder.write("tree-" + language + "/usr/share/libreoffice/help/" + language + "/text/" + name, page(content));
  }

  // A package as Debian would build it; the apt-get of the test copies it.
  void build_package(const std::string& language, const std::string& package) const {
    const std::string tree = (folder.path() / ("tree-" + language)).string();
    folder.write("tree-" + language + "/DEBIAN/control",
                 "Package: " + package + "\nVersion: 4:7.4\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\nDescription: help\n");
    const auto built = io::run_process({"dpkg-deb", "--root-owner-group", "-b", tree, (folder.path() / (package + ".deb")).string()}, ".");
    ASSERT_EQ(built.status, 0) << built.output;
  }

  const fixtures::TemporaryFolder folder;
  const fixtures::Programs programs{folder};
};

TEST_F(HelpPackages, GiveADataSet) {
  write_page("en-US", "page2.html", "<h1 id=\"1\">Footnotes</h1><p id=\"2\">Type the note. Press Enter.</p><p id=\"3\">Only English.</p>");
  write_page("fr", "page2.html", "<h1 id=\"1\">Notes de bas de page</h1><p id=\"2\">Saisissez la note. Appuyez sur Entrée.</p><p id=\"3\">Only English.</p>");
  write_page("en-US", "page7.html", "<p id=\"1\">A held-out sentence.</p><p id=\"2\">Footnotes</p>");
  write_page("fr", "page7.html", "<p id=\"1\">Une phrase mise de côté.</p><p id=\"2\">Notes</p>");
  write_page("en-US", "missing-in-french.html", "<p id=\"1\">Nobody translated this.</p>");
  build_package("en-US", "libreoffice-help-en-us");
  build_package("fr", "libreoffice-help-fr");
  programs.add("apt-get", "cp '" + folder.path().string() + "'/\"$3\".deb \"$3\"_7.4_all.deb\n");
  const io::Value source = make_libreoffice_help(folder.path() / "set", {"en", "fr"});
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "set/train.tsv"),
            "Footnotes\tNotes de bas de page\nType the note.\tSaisissez la note.\nPress Enter.\tAppuyez sur Entrée.\n");
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "set/test.tsv"), "A held-out sentence.\tUne phrase mise de côté.\n");
  EXPECT_EQ(source.find_path("name")->as_text(), "libreoffice-help-en-fr");
  EXPECT_EQ(source.find_path("source")->as_text(), "Debian packages libreoffice-help-en-us 4:7.4 and libreoffice-help-fr 4:7.4");
  EXPECT_THAT(source.find_path("licence")->as_text(), StartsWith("MPL-2.0"));
  EXPECT_EQ(source.find_path("dropped.identical")->as_integer(), 1);
  EXPECT_TRUE(programs.left_nothing());
}

TEST_F(HelpPackages, ThatAreNotThereAreNamed) {
  programs.add("apt-get", "echo \"E: Unable to locate package $3\" >&2\nexit 100\n");
  EXPECT_THAT([&] { make_libreoffice_help(folder.path() / "set", {"en", "xx"}); },
              ThrowsMessage<SystemError>(AllOf(StartsWith("Debian package libreoffice-help-en-us: "), HasSubstr("run `apt-get update`"))));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "set"));
  EXPECT_TRUE(programs.left_nothing());
}

TEST_F(HelpPackages, FoldersWithoutACommonPageAreRefused) {
  write_page("en-US", "one.html", "<p>a</p>");
  write_page("fr", "other.html", "<p>b</p>");
  const auto pages = [&](const std::string& language) { return folder.path() / ("tree-" + language) / "usr/share/libreoffice/help" / language / "text"; };
  EXPECT_THAT([&] { read_libreoffice_help(pages("en-US"), pages("fr")); }, ThrowsMessage<SystemError>(HasSubstr("expected pages of help (.html)")));
}

}  // namespace
}  // namespace attend::data
