#include "attend/data/text_vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/core/tokens.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

TextVocabularyOptions options_for(Unit unit, bool lower_case = false) {
  TextVocabularyOptions options;
  options.unit = unit;
  options.lower_case = lower_case;
  options.pieces.vocabulary_size = 50;
  return options;
}

const std::vector<std::string> sentences = {"The cat sat on the mat.", "The dog sat on the log.", "A cat, a dog and a mat!", "Cats and dogs sit on mats and logs.",
                                            "The log is on the mat, the cat is on the log.", "Nobody knows why the dogs are running after cats.",
                                            "Running dogs make noise; sitting cats make none.", "What do the cats do when nobody is running?",
                                            "They sit on mats, and they know everything about logs.", "Everybody knows that dogs bark at everything."};

class TextVocabularies : public testing::TestWithParam<Unit> {
 protected:
  const fixtures::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "vocabulary.source";
};

INSTANTIATE_TEST_SUITE_P(AllUnits, TextVocabularies, testing::Values(Unit::characters, Unit::symbols, Unit::words, Unit::sentencepiece),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_P(TextVocabularies, TextsComeBackFromTheirNumbers) {
  const TextVocabulary vocabulary = TextVocabulary::make(sentences, options_for(GetParam()), file);
  for (const std::string& sentence : sentences) {
    std::vector<std::string> tokens;
    for (const std::int64_t id : vocabulary.ids(vocabulary.cut(sentence))) {
      EXPECT_GT(id, end_token) << sentence;
      tokens.push_back(vocabulary.token(id));
    }
    EXPECT_EQ(tokens, vocabulary.cut(sentence));
    EXPECT_EQ(vocabulary.join(tokens), sentence);
  }
  EXPECT_EQ(vocabulary.join({}), "");
  EXPECT_THAT(vocabulary.cut(""), testing::IsEmpty());
}

// As where an unknown token has been replaced by one of the source.
TEST_P(TextVocabularies, ATokenThatItDoesntHaveStandsForItself) {
  const TextVocabulary vocabulary = TextVocabulary::make(sentences, options_for(GetParam()), file);
  std::vector<std::string> tokens = vocabulary.cut(sentences.front());
  tokens.push_back("Ω");
  EXPECT_THAT(vocabulary.join(tokens), testing::AllOf(testing::StartsWith(sentences.front()), testing::EndsWith("Ω")));
}

TEST_P(TextVocabularies, TheSameTextsGiveTheSameBytesAndTheFileGivesTheSameVocabulary) {
  const auto options = options_for(GetParam());
  const TextVocabulary made = TextVocabulary::make(sentences, options, file);
  TextVocabulary::make(sentences, options, folder.path() / "again");
  const auto place = TextVocabulary::file_of(file, GetParam());
  EXPECT_FALSE(fixtures::bytes_of(place).empty());
  EXPECT_EQ(fixtures::bytes_of(place), fixtures::bytes_of(TextVocabulary::file_of(folder.path() / "again", GetParam())));
  const TextVocabulary loaded = TextVocabulary::load(file, options);
  EXPECT_EQ(loaded.size(), made.size());
  EXPECT_EQ(loaded.fingerprint(), made.fingerprint());
  for (const std::string& sentence : sentences) EXPECT_EQ(loaded.cut(sentence), made.cut(sentence));
  loaded.save(folder.path() / "copy");
  EXPECT_EQ(fixtures::bytes_of(TextVocabulary::file_of(folder.path() / "copy", GetParam())), fixtures::bytes_of(place));
}

TEST_P(TextVocabularies, OtherTextsHaveAnotherFingerprint) {
  const auto options = options_for(GetParam());
  std::vector<std::string> more = sentences;
  more.push_back("Quite another zebra jumped over fences, then xylophones played.");
  EXPECT_NE(TextVocabulary::make(sentences, options, file).fingerprint(), TextVocabulary::make(more, options, folder.path() / "more").fingerprint());
}

TEST_P(TextVocabularies, SourcesMayBeMadeLowerCase) {
  const TextVocabulary vocabulary = TextVocabulary::make(sentences, options_for(GetParam(), /*lower_case=*/true), file);
  EXPECT_EQ(vocabulary.cut("The CAT"), vocabulary.cut("the cat"));
  EXPECT_EQ(vocabulary.join(vocabulary.cut("The CAT")), "the cat");
}

TEST_P(TextVocabularies, TextsAreComposedBeforeTheyAreCut) {
  std::vector<std::string> texts = sentences;
  texts.push_back("caf\u00E9");
  const TextVocabulary vocabulary = TextVocabulary::make(texts, options_for(GetParam()), file);
  EXPECT_EQ(vocabulary.ids(vocabulary.cut("cafe\u0301")), vocabulary.ids(vocabulary.cut("caf\u00E9")));
}

TEST_P(TextVocabularies, WhatWasNeverSeenIsUnknown) {
  const TextVocabulary vocabulary = TextVocabulary::make(sentences, options_for(GetParam()), file);
  EXPECT_THAT(vocabulary.ids(vocabulary.cut("\u4E2D")), testing::Contains(unknown_token));
}

TEST_P(TextVocabularies, AMissingFileIsNamed) {
  EXPECT_THAT([&] { TextVocabulary::load(file, options_for(GetParam())); },
              ThrowsMessage<SystemError>(StartsWith(TextVocabulary::file_of(file, GetParam()).string() + ": cannot be opened")));
}

TEST(TextVocabulary, ListsKeepWhatIsFrequent) {
  const fixtures::TemporaryFolder folder;
  TextVocabularyOptions options = options_for(Unit::words);
  options.largest = 2;
  const TextVocabulary largest = TextVocabulary::make({"a a a b b c"}, options, folder.path() / "largest");
  EXPECT_EQ(largest.size(), 4 + 2);
  EXPECT_THAT(largest.ids({"a", "b", "c"}), ElementsAre(4, 5, unknown_token));
  options.largest = 10, options.least_count = 3;
  EXPECT_EQ(TextVocabulary::make({"a a a b b c"}, options, folder.path() / "least").size(), 4 + 1);
}

TEST(TextVocabulary, AListThatIsThereCanBeTaken) {
  const TextVocabulary vocabulary(Vocabulary::from_counts({{"B", 2}, {"E", 1}}), options_for(Unit::symbols));
  EXPECT_THAT(vocabulary.ids(vocabulary.cut("B E B X")), ElementsAre(4, 5, 4, unknown_token));
  EXPECT_EQ(vocabulary.fingerprint(), Vocabulary::from_counts({{"B", 2}, {"E", 1}}).fingerprint());
  EXPECT_THAT([] { TextVocabulary(Vocabulary::from_counts({{"B", 2}}), options_for(Unit::sentencepiece)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("got sentencepiece; load() its model")));
}

TEST(TextVocabulary, SubWordsThatDoNotFitTheTextAreRefused) {
  const fixtures::TemporaryFolder folder;
  TextVocabularyOptions options = options_for(Unit::sentencepiece);
  options.pieces.vocabulary_size = 5000;
  EXPECT_THAT([&] { TextVocabulary::make(sentences, options, folder.path() / "v"); },
              ThrowsMessage<InvalidArgument>(AllOf(StartsWith("SentencePiece: "), HasSubstr("5000"))));
  EXPECT_THAT([&] { TextVocabulary::make({}, options_for(Unit::sentencepiece), folder.path() / "v"); }, ThrowsMessage<InvalidArgument>(HasSubstr("got none")));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "v.model"));
}

TEST(TextVocabulary, AModelThatIsNoneIsRefused) {
  const fixtures::TemporaryFolder folder;
  const auto model = folder.write("v.model", "garbage");
  EXPECT_THAT([&] { TextVocabulary::load(folder.path() / "v", options_for(Unit::sentencepiece)); },
              ThrowsMessage<InvalidData>(StartsWith(model.string() + ": is not a SentencePiece model")));
}

}  // namespace
}  // namespace attend::data
