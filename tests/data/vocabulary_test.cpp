#include "attend/data/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using fixtures::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr auto special_lines = "<pad>\n<unk>\n<s>\n</s>\n";

std::vector<std::string> all_tokens(const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) tokens.push_back(vocabulary.token(id));
  return tokens;
}

TEST(Cut, CharactersAreWhatAReaderSees) {
  EXPECT_THAT(cut("", Unit::characters), IsEmpty());
  EXPECT_THAT(cut("it's", Unit::characters), ElementsAre("i", "t", "'", "s"));
  EXPECT_THAT(cut("e\u0301a b", Unit::characters), ElementsAre("e\u0301", "a", " ", "b"));
}

TEST(Cut, SymbolsStandBetweenSpaces) {
  EXPECT_THAT(cut("", Unit::symbols), IsEmpty());
  EXPECT_THAT(cut(" \t ", Unit::symbols), IsEmpty());
  EXPECT_THAT(cut("AH0 T  EH1\tN ", Unit::symbols), ElementsAre("AH0", "T", "EH1", "N"));
}

TEST(Join, UndoesACut) {
  for (const std::string text : {"", "na\u00EFve", "one two"}) EXPECT_EQ(join(cut(text, Unit::characters), Unit::characters), text);
  EXPECT_EQ(join({"AH0", "T"}, Unit::symbols), "AH0 T");
  EXPECT_EQ(join({}, Unit::symbols), "");
}

TEST(Cut, WordsAreThoseOfNaturalText) {
  EXPECT_THAT(cut("Hello, world.", Unit::words), ElementsAre("Hello", "\uFFED,", "world", "\uFFED."));
  EXPECT_EQ(join(cut("Hello, world.", Unit::words), Unit::words), "Hello, world.");
}

TEST(Cut, SubWordsNeedTheirModel) {
  EXPECT_THAT([] { cut("text", Unit::sentencepiece); }, ThrowsMessage<InvalidArgument>(HasSubstr("got sentencepiece, which needs its model; use a TextVocabulary")));
  EXPECT_THAT([] { join({"text"}, Unit::sentencepiece); }, ThrowsMessage<InvalidArgument>(HasSubstr("got sentencepiece")));
}

TEST(VocabularyFromTokens, TakesThemByTheirPlace) {
  EXPECT_THAT(all_tokens(Vocabulary::from_tokens({"<pad>", "<unk>", "<s>", "</s>", "b", "a"})), ElementsAre("<pad>", "<unk>", "<s>", "</s>", "b", "a"));
  for (const std::vector<std::string>& bad : {std::vector<std::string>{}, {"a", "b", "c", "d"}, {"<pad>", "<unk>", "<s>"}})
    EXPECT_THAT([&] { Vocabulary::from_tokens(bad); }, ThrowsMessage<InvalidArgument>(HasSubstr("begin with <pad>, <unk>, <s>, </s>")));
  EXPECT_THAT([] { Vocabulary::from_tokens({"<pad>", "<unk>", "<s>", "</s>", "a", "a"}); }, ThrowsMessage<InvalidArgument>(HasSubstr("got one twice")));
}

TEST(VocabularyFromCounts, PutsTheSpecialTokensFirstThenTheMostFrequent) {
  const Vocabulary vocabulary = Vocabulary::from_counts({{"b", 2}, {"a", 2}, {"z", 9}, {"rare", 1}});
  EXPECT_THAT(all_tokens(vocabulary), ElementsAre("<pad>", "<unk>", "<s>", "</s>", "z", "a", "b", "rare"));
  EXPECT_EQ(vocabulary.size(), 8);
}

TEST(VocabularyFromCounts, LeavesOutWhatIsRareOrTooMuch) {
  const std::map<std::string, std::int64_t> counts = {{"a", 3}, {"b", 2}, {"c", 1}};
  EXPECT_THAT(all_tokens(Vocabulary::from_counts(counts, 2)), ElementsAre("<pad>", "<unk>", "<s>", "</s>", "a", "b"));
  EXPECT_THAT(all_tokens(Vocabulary::from_counts(counts, 1, 1)), ElementsAre("<pad>", "<unk>", "<s>", "</s>", "a"));
}

TEST(VocabularyFromCounts, LeavesOutWhatNoFileOfLinesCanHold) {
  EXPECT_THAT(all_tokens(Vocabulary::from_counts({{"", 5}, {"\n", 5}, {"\r\n", 5}, {"<s>", 5}, {"x", 1}})),
              ElementsAre("<pad>", "<unk>", "<s>", "</s>", "x"));
}

TEST(Vocabulary, NoTextMapsToASpecialToken) {
  const Vocabulary vocabulary = Vocabulary::from_counts({{"a", 1}, {"</s>", 7}});
  EXPECT_THAT(vocabulary.ids({"a", "never seen", "<pad>", "<s>", "</s>"}), ElementsAre(4, 1, 1, 1, 1));
  EXPECT_EQ(vocabulary.id("<unk>"), 1);
}

TEST(Vocabulary, RefusesANumberThatItLacks) {
  const Vocabulary vocabulary = Vocabulary::from_counts({{"a", 1}});
  EXPECT_EQ(vocabulary.token(4), "a");
  for (const std::int64_t id : {-1, 5})
    EXPECT_THAT([&] { vocabulary.token(id); }, ThrowsMessage<InvalidArgument>(HasSubstr("expected a token from 0 to 4, got " + std::to_string(id))));
}

TEST(Vocabulary, ComesBackFromItsFile) {
  const TemporaryFolder folder;
  const Vocabulary vocabulary = Vocabulary::from_counts({{"\u00E9", 3}, {" ", 2}, {"#", 1}});
  vocabulary.save(folder.path() / "vocabulary");
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "vocabulary"), special_lines + std::string("\u00E9\n \n#\n"));
  const Vocabulary loaded = Vocabulary::load(folder.path() / "vocabulary");
  EXPECT_EQ(all_tokens(loaded), all_tokens(vocabulary));
  EXPECT_EQ(loaded.fingerprint(), vocabulary.fingerprint());
}

TEST(Vocabulary, ItsFingerprintTellsItFromOthers) {
  const Vocabulary vocabulary = Vocabulary::from_counts({{"a", 2}, {"b", 1}});
  EXPECT_THAT(vocabulary.fingerprint(), testing::MatchesRegex("[0-9a-f]{8}"));
  EXPECT_EQ(vocabulary.fingerprint(), Vocabulary::from_counts({{"a", 20}, {"b", 10}}).fingerprint());
  EXPECT_NE(vocabulary.fingerprint(), Vocabulary::from_counts({{"a", 1}, {"b", 2}}).fingerprint());
  EXPECT_NE(vocabulary.fingerprint(), Vocabulary::from_counts({{"ab", 1}}).fingerprint());
}

TEST(VocabularyFile, IsRefusedWhereItWasAltered) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& content, const std::string& where, const std::string& why) {
    const std::filesystem::path file = folder.write("vocabulary", content);
    EXPECT_THAT([&] { Vocabulary::load(file); },
                ThrowsMessage<InvalidData>(testing::AllOf(StartsWith(file.string() + where), HasSubstr(why))));
  };
  refusal("", ":1: ", "begins with the lines <pad>, <unk>, <s>, </s>");
  refusal("a\nb\nc\nd\ne\n", ":1: ", "begins with the lines");
  refusal(special_lines + std::string("a\n\nb\n"), ":6: ", "got an empty line");
  refusal(special_lines + std::string("a\nb\na\n"), ":7: ", "\"a\" stands in line 5 already");
  EXPECT_THAT([&] { Vocabulary::load(folder.path() / "missing"); }, ThrowsMessage<SystemError>(HasSubstr("missing: cannot be opened")));
}

}  // namespace
}  // namespace attend::data
