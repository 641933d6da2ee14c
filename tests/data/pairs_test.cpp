#include "attend/data/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "attend/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

class PairFiles : public testing::Test {
 protected:
  // Expects read_tsv to refuse a file with this content, at its line `line`.
  void expect_refusal(const std::string& content, int line, const std::string& why) {
    const std::filesystem::path file = folder.write("pairs.tsv", content);
    EXPECT_THAT([&] { read_tsv(file); },
                ThrowsMessage<InvalidData>(AllOf(StartsWith(file.string() + ":" + std::to_string(line) + ": "), HasSubstr(why))));
  }

  const fixtures::TemporaryFolder folder;
};

MATCHER_P3(IsPair, source, target, line, "") { return arg.source == source && arg.target == target && arg.line == line; }

TEST_F(PairFiles, ATsvGivesItsFirstTwoColumns) {
  const Pairs read = read_tsv(folder.write("pairs.tsv", "cat\tK AE T\nth\u00E9\tT EY\ta comment\tmore\n"));
  EXPECT_THAT(read.pairs, ElementsAre(IsPair("cat", "K AE T", 1), IsPair("th\u00E9", "T EY", 2)));
  EXPECT_EQ(read.empty_lines, 0);
}

TEST_F(PairFiles, FurtherColumnsMayBeMoreTargets) {
  const std::filesystem::path file = folder.write("pairs.tsv", "abs\tA B\tE B\t\tA I\ncat\tK AE T\t\n\ndog\tD\t \t\tG\r\n");
  const Pairs read = read_tsv(file, FurtherColumns::targets);
  EXPECT_THAT(read.pairs, ElementsAre(IsPair("abs", "A B", 1), IsPair("abs", "E B", 1), IsPair("abs", "A I", 1), IsPair("cat", "K AE T", 2),
                                      IsPair("dog", "D", 4), IsPair("dog", "G", 4)));
  EXPECT_EQ(read.empty_lines, 1);
  EXPECT_THAT(gather_references(read.pairs)[0].targets, ElementsAre("A B", "E B", "A I"));
  EXPECT_THAT(read_tsv(file).pairs, ElementsAre(IsPair("abs", "A B", 1), IsPair("cat", "K AE T", 2), IsPair("dog", "D", 4)));
  EXPECT_THAT([&] { read_tsv(folder.write("pairs.tsv", "a\t\tb\n"), FurtherColumns::targets); },
              ThrowsMessage<InvalidData>(HasSubstr("pairs.tsv:1: the target is empty, but the other side is not")));
}

TEST_F(PairFiles, ForeignLineEndsAndMarksDoNotCount) {
  const Pairs read = read_tsv(folder.write("pairs.tsv", "\xEF\xBB\xBF" "a\tb\r\nc\td\r\ne\tf"));
  EXPECT_THAT(read.pairs, ElementsAre(IsPair("a", "b", 1), IsPair("c", "d", 2), IsPair("e", "f", 3)));
}

TEST_F(PairFiles, EmptyLinesAreLeftOutAndCounted) {
  const Pairs read = read_tsv(folder.write("pairs.tsv", "\na\tb\n  \n\t\nc\td\n"));
  EXPECT_THAT(read.pairs, ElementsAre(IsPair("a", "b", 2), IsPair("c", "d", 5)));
  EXPECT_EQ(read.empty_lines, 3);
  EXPECT_THAT(read_tsv(folder.write("pairs.tsv", "")).pairs, IsEmpty());
}

TEST_F(PairFiles, ATsvIsRefusedAtItsFirstBadLine) {
  expect_refusal("a\tb\njust one column\n", 2, "expected two columns, source TAB target, got one");
  expect_refusal("a\tb\nc\t\n", 2, "the target is empty, but the other side is not");
  expect_refusal("a\tb\n\n \td\n", 3, "the source is empty");
  expect_refusal("a\tb\nc\td\ncaf\xE9\te\n", 3, "byte 4 (0xe9) is not UTF-8; convert the file");
  expect_refusal("a\tb\n" + std::string(1'000'000, 'x') + "\ty\n", 2, "has 1000002 bytes, at most 65536 are read");
}

TEST_F(PairFiles, TheLongestLineIsStillRead) {
  const std::string source(longest_line - 2, 'x');
  EXPECT_THAT(read_tsv(folder.write("pairs.tsv", source + "\ty\n")).pairs, ElementsAre(IsPair(source, "y", 1)));
  EXPECT_NO_THROW(check_line("file:1", std::string(longest_line, 'x')));
  EXPECT_THROW(check_line("file:1", std::string(longest_line + 1, 'x')), InvalidData);
}

TEST_F(PairFiles, ParallelFilesGoTogetherLineByLine) {
  const auto source = folder.write("source", "one\n\nthree \ttabs\n"), target = folder.write("target", "eins\n\ndrei\n");
  const Pairs read = read_parallel(source, target);
  EXPECT_THAT(read.pairs, ElementsAre(IsPair("one", "eins", 1), IsPair("three \ttabs", "drei", 3)));
  EXPECT_EQ(read.empty_lines, 1);
}

TEST_F(PairFiles, ParallelFilesOfDifferentLengthsAreRefusedWithBothCounts) {
  const auto source = folder.write("source", "one\ntwo\nthree\n"), target = folder.write("target", "eins\nzwei\n");
  EXPECT_THAT([&] { read_parallel(source, target); },
              ThrowsMessage<InvalidData>(
                  StrEq(source.string() + ":3: no line goes with this one: the file has 3 lines, " + target.string() +
                        " has 2; line n of one must belong to line n of the other")));
  EXPECT_THAT([&] { read_parallel(target, source); }, ThrowsMessage<InvalidData>(StartsWith(source.string() + ":3: ")));
}

TEST_F(PairFiles, AParallelPairWithOneEmptySideIsRefusedWhereItIsEmpty) {
  const auto source = folder.write("source", "one\n\n"), target = folder.write("target", "eins\nzwei\n");
  EXPECT_THAT([&] { read_parallel(source, target); }, ThrowsMessage<InvalidData>(StartsWith(source.string() + ":2: the source is empty")));
  EXPECT_THAT([&] { read_parallel(target, source); }, ThrowsMessage<InvalidData>(StartsWith(source.string() + ":2: the target is empty")));
}

TEST_F(PairFiles, AFileThatCannotBeReadIsNamed) {
  const auto missing = folder.path() / "missing.tsv";
  EXPECT_THAT([&] { read_tsv(missing); }, ThrowsMessage<SystemError>(StartsWith(missing.string() + ": cannot be opened")));
  EXPECT_THAT([&] { read_tsv(folder.path()); }, ThrowsMessage<SystemError>(HasSubstr("is a folder")));
}

TEST(GatherReferences, KeepsSourcesAndTheirTargetsInOrder) {
  const std::vector<References> gathered = gather_references({{"b", "1", 1}, {"a", "2", 2}, {"b", "3", 3}, {"b", "1", 4}});
  ASSERT_EQ(gathered.size(), 2u);
  EXPECT_EQ(gathered[0].source, "b");
  EXPECT_THAT(gathered[0].targets, ElementsAre("1", "3", "1"));
  EXPECT_EQ(gathered[1].source, "a");
  EXPECT_THAT(gathered[1].targets, ElementsAre("2"));
}

}  // namespace
}  // namespace attend::data
