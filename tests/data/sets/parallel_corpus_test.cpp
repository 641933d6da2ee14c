#include "attend/data/sets/parallel_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/json.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

// their crc32 modulo 100 is 1, 2 and 32
constexpr auto test_document = "d37", valid_document = "d1", train_document = "d0";

std::vector<std::string> texts_of(const std::vector<TextPair>& pairs) {
  std::vector<std::string> texts;
  for (const TextPair& pair : pairs) texts.push_back(pair.source + " = " + pair.target);
  return texts;
}

std::int64_t count_of(const ParallelCorpus& corpus, const char* reason) {
  const io::Value* count = corpus.dropped.find(reason);
  return count == nullptr ? 0 : count->as_integer();
}

ParallelCorpus corpus_of(const std::vector<Passage>& passages) { return make_parallel_corpus(passages, {"en", "fr"}); }

TEST(LanguagesFrom, TwoOfThemInEitherSpelling) {
  const auto both = [](const std::string& text) {
    const Languages languages = languages_from(text);
    return languages.source + " " + languages.target;
  };
  EXPECT_EQ(both("en,fr"), "en fr");
  EXPECT_EQ(both("en-fr"), "en fr");
  EXPECT_EQ(both("en,zh-CN"), "en zh-CN");
  EXPECT_EQ(both("en-zh-CN"), "en zh-CN");
  EXPECT_EQ(both("zh-CN-en"), "zh-CN en");
  EXPECT_EQ(both("pt-BR,zh-TW"), "pt-BR zh-TW");
  for (const std::string bad : {"", "en", "en,en", "en,", "EN,fr", "en,fr,de", "en,../../etc", "en fr", "e,f", "\xC3\xA9n,fr"})
    EXPECT_THAT([&] { languages_from(bad); }, ThrowsMessage<InvalidArgument>(HasSubstr("expected two that differ, as en,fr or en,zh-CN, got \"" + bad))) << bad;
}

TEST(CleanText, LeavesWhatPeopleRead) {
  EXPECT_EQ(clean_text("  a\t b\n\u00A0c\u2003 "), "a b c");
  EXPECT_EQ(clean_text("soft\u00ADhyphen \uFEFFmark\u200E \uE000private\x01"), "softhyphen mark private");
  EXPECT_EQ(clean_text("e\u0301"), "\u00E9");
  EXPECT_EQ(clean_text("\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"), "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645");  // Persian is spelt with it
  EXPECT_EQ(clean_text("bad \xFF byte"), "bad \uFFFD byte");
  EXPECT_EQ(clean_text(""), "");
}

TEST(Masked, NumbersAndIdentifiersAreAlike) {
  EXPECT_EQ(masked("Version 2.4 of libfoo-dev, now!"), "version # of #, now!");
  EXPECT_EQ(masked("See /usr/share/doc."), masked("see /etc/passwd."));
  EXPECT_EQ(masked("plain words."), "plain words.");
  EXPECT_EQ(masked("..."), "...");
  EXPECT_EQ(masked(""), "");
}

TEST(MakeParallelCorpus, PassagesAreCutWhereBothSidesHaveTheSameNumberOfSentences) {
  const ParallelCorpus corpus = corpus_of({{train_document, "The first. The second.", "La première. La seconde."},
                                           {train_document, "Only one here.", "Ici deux. Vraiment."}});
  EXPECT_THAT(texts_of(corpus.pairs.train), ElementsAre("The first. = La première.", "The second. = La seconde.", "Only one here. = Ici deux. Vraiment."));
  EXPECT_THAT(corpus.dropped.as_table(), IsEmpty());
}

TEST(MakeParallelCorpus, WhatTeachesNothingIsDroppedAndCounted) {
  const std::string overlong(longest_side + 1, 'x');
  const ParallelCorpus corpus = corpus_of({{train_document, "Good morning", "Bonjour"},
                                           {train_document, "", "Rien"},
                                           {train_document, "Nothing", " \u00A0"},
                                           {train_document, "OK", " OK "},
                                           {train_document, "12 + 3", "quinze"},
                                           {train_document, overlong, "long"},
                                           {train_document, "Good \n morning", "Bonjour"},
                                           {train_document, "Good morning", "Salut"}});
  EXPECT_THAT(texts_of(corpus.pairs.train), ElementsAre("Good morning = Bonjour", "Good morning = Salut"));
  EXPECT_EQ(count_of(corpus, "empty"), 2);
  EXPECT_EQ(count_of(corpus, "identical"), 1);
  EXPECT_EQ(count_of(corpus, "without a letter"), 1);
  EXPECT_EQ(count_of(corpus, "overlong"), 1);
  EXPECT_EQ(count_of(corpus, "repeated"), 1);
}

TEST(MakeParallelCorpus, LengthsAreComparedByTheCorpussOwnRatio) {
  std::vector<Passage> passages;
  for (char c = 'a'; c <= 'z'; ++c) passages.push_back({train_document, std::string(100, c), std::string(30, c)});  // as Chinese is to English
  passages.push_back({train_document, std::string(100, 'A'), std::string(150, 'A')});
  const ParallelCorpus corpus = corpus_of(passages);
  EXPECT_EQ(corpus.pairs.train.size(), 26u);
  EXPECT_EQ(count_of(corpus, "of unlike lengths"), 1);
}

TEST(MakeParallelCorpus, DocumentsStayWholeAndTrainDoesNotLeakIntoTest) {
  const ParallelCorpus corpus = corpus_of({{test_document, "An unseen sentence.", "Une phrase inconnue."},
                                           {test_document, "Install version 2.5 now.", "Installer 2.5."},
                                           {valid_document, "Another one.", "Une autre."},
                                           {valid_document, "KNOWN to train.", "Connu, ici."},
                                           {train_document, "Install version 1.0 now.", "Installer 1.0."},
                                           {train_document, "Known to train.", "Connu."}});
  EXPECT_THAT(texts_of(corpus.pairs.test), ElementsAre("An unseen sentence. = Une phrase inconnue."));
  EXPECT_THAT(texts_of(corpus.pairs.valid), ElementsAre("Another one. = Une autre."));
  EXPECT_THAT(texts_of(corpus.pairs.train), ElementsAre("Install version 1.0 now. = Installer 1.0.", "Known to train. = Connu."));
  EXPECT_EQ(count_of(corpus, "of test known from train"), 1);
  EXPECT_EQ(count_of(corpus, "of validation known from train"), 1);
}

TEST(MakeParallelCorpus, OfNothingComesNothing) {
  const ParallelCorpus corpus = corpus_of({});
  EXPECT_THAT(corpus.pairs.train, IsEmpty());
  EXPECT_THAT(corpus.pairs.test, IsEmpty());
}

TEST(MakeParallelCorpus, StopsWhenItIsTold) {
  MakeCallbacks callbacks;
  std::vector<std::string> told;
  callbacks.progress = [&](double, const std::string& doing) { told.push_back(doing); };
  make_parallel_corpus({{train_document, "a", "b"}}, {"en", "fr"}, callbacks);
  EXPECT_THAT(told, ElementsAre("cutting sentences"));
  callbacks.stop = [] { return true; };
  EXPECT_THAT([&] { make_parallel_corpus({{train_document, "a", "b"}}, {"en", "fr"}, callbacks); },
              ThrowsMessage<SystemError>(HasSubstr("stopped before the end")));
}

TEST(WriteParallelCorpus, WritesThreePartsAndWhatTheyAre) {
  const fixtures::TemporaryFolder folder;
  const ParallelCorpus corpus = corpus_of({{test_document, "Unseen words here.", "Mots inconnus."},
                                           {valid_document, "Other words.", "Autres mots."},
                                           {train_document, "One \t tab.", "Une tabulation."},
                                           {train_document, "Same", "Same"}});
  io::Value about = io::Value::table();
  about.set("name", "tiny");
  const io::Value source = write_parallel_corpus(corpus, about, folder.path() / "set");
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "set/train.tsv"), "One tab.\tUne tabulation.\n");
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "set/valid.tsv"), "Other words.\tAutres mots.\n");
  EXPECT_EQ(fixtures::bytes_of(folder.path() / "set/test.tsv"), "Unseen words here.\tMots inconnus.\n");
  EXPECT_TRUE(io::parse_json(fixtures::bytes_of(folder.path() / "set/SOURCE.json"), "SOURCE.json") == source);
  EXPECT_EQ(source.find_path("name")->as_text(), "tiny");
  EXPECT_THAT(source.find_path("split")->as_text(), AllOf(StartsWith("by document"), HasSubstr("crc32")));
  EXPECT_EQ(source.find_path("test.source words")->as_integer(), 3);
  EXPECT_EQ(source.find_path("train.pairs")->as_integer(), 1);
  EXPECT_EQ(source.find_path("dropped.identical")->as_integer(), 1);
}

}  // namespace
}  // namespace attend::data
