#include "attend/data/sets/cmudict.h"

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
using testing::StartsWith;
using testing::ThrowsMessage;

std::vector<std::string> spoken(const std::vector<TextPair>& pairs) {
  std::vector<std::string> texts;
  for (const TextPair& pair : pairs) texts.push_back(pair.source + " = " + pair.target);
  return texts;
}

// crc32("winter") mod 100 is 8, that of "music" 10, of "night" 11, of "attention" 69.
TEST(PartOf, SplitsByTheHashOfTheWord) {
  EXPECT_EQ(part_of("winter"), Part::test);
  EXPECT_EQ(part_of("music"), Part::valid);
  EXPECT_EQ(part_of("night"), Part::train);
  EXPECT_EQ(part_of("attention"), Part::train);
  EXPECT_EQ(part_of(""), Part::test);
}

TEST(ReadCmudict, KeepsAllPronunciationsOfAWordInOnePart) {
  const fixtures::TemporaryFolder folder;
  const auto file = folder.write("cmudict.dict",
                                 "attention AH T EH N SH AH N\n"
                                 "music M Y UW Z IH K\n"
                                 "night N AY T\n"
                                 "o'clock AH K L AA K\n"
                                 "winter W IH N T ER\n"
                                 "winter(2) W IH N ER\n"
                                 "winter(3) W IY N ER\n"
                                 "\n"
                                 "x-ray EH K S R EY\n");
  const SplitPairs split = read_cmudict(file);
  EXPECT_THAT(spoken(split.test), ElementsAre("winter = W IH N T ER", "winter = W IH N ER", "winter = W IY N ER"));
  EXPECT_THAT(spoken(split.valid), ElementsAre("music = M Y UW Z IH K"));
  EXPECT_THAT(spoken(split.train),
              ElementsAre("attention = AH T EH N SH AH N", "night = N AY T", "o'clock = AH K L AA K", "x-ray = EH K S R EY"));
  EXPECT_EQ(split.test.back().line, 7);
  EXPECT_EQ(split.train.back().line, 9);
}

TEST(ReadCmudict, RefusesAWordWithoutPronunciation) {
  const fixtures::TemporaryFolder folder;
  for (const std::string line : {"night", "night "}) {
    const auto file = folder.write("cmudict.dict", "music M Y UW Z IH K\n" + line + "\n");
    EXPECT_THAT([&] { read_cmudict(file); },
                ThrowsMessage<InvalidData>(AllOf(StartsWith(file.string() + ":2: "), HasSubstr("a word and its phonemes, got \"" + line + "\""))));
  }
}

TEST(ReadCmudict, NamesAFileThatIsMissing) {
  EXPECT_THAT([] { read_cmudict("missing.dict"); }, ThrowsMessage<SystemError>(StartsWith("missing.dict: cannot be opened")));
}

}  // namespace
}  // namespace attend::data
