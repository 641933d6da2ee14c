#include "attend/data/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace attend::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CutWords, PunctuationSaysWhatItTouches) {
  EXPECT_THAT(cut_words("She said: \"don't!\""), ElementsAre("She", "said", "￭:", "\"￭", "don't", "￭!", "￭\""));
  EXPECT_THAT(cut_words("Hello, world."), ElementsAre("Hello", "￭,", "world", "￭."));
  EXPECT_THAT(cut_words("(see 3.14 / 2)"), ElementsAre("(￭", "see", "3.14", "/", "2", "￭)"));
  EXPECT_THAT(cut_words("either/or"), ElementsAre("either", "￭/￭", "or"));
  EXPECT_THAT(cut_words("Où va-t-il ?"), ElementsAre("Où", "va", "￭-￭", "t", "￭-￭", "il", "?"));
}

TEST(CutWords, AWordIsTheSameTokenWhereverItStands) {
  for (const std::string text : {"word", "(word", "word)", "\"word\"", "a word.", "-word-"}) EXPECT_THAT(cut_words(text), testing::Contains("word")) << text;
}

TEST(CutWords, ScriptsWithoutSpacesNeedNoMark) {
  EXPECT_THAT(cut_words("输入一个空格。"), ElementsAre("输入", "一个", "空格", "。"));
  EXPECT_THAT(cut_words("在Writer中"), ElementsAre("在", "￭Writer", "￭中"));
  EXPECT_THAT(cut_words("在 Writer 中"), ElementsAre("在", "Writer", "中"));
  EXPECT_EQ(join_words(cut_words("ภาษาไทย")), "ภาษาไทย");
}

TEST(CutWords, BlankTextsHaveNone) {
  for (const std::string text : {"", " ", "\t \u00A0 \u3000"}) EXPECT_THAT(cut_words(text), IsEmpty());
  EXPECT_THAT(cut_words("a"), ElementsAre("a"));
  EXPECT_THAT(cut_words("."), ElementsAre("."));
}

TEST(CutWords, BytesThatAreNoTextDoNotFail) {
  EXPECT_EQ(join_words(cut_words("a \xFF b")), "a \xFF b");
  EXPECT_FALSE(cut_words("\xE2\x82").empty());
}

TEST(JoinWords, UndoesACut) {
  for (const std::string text :
       {"", "Hello, world.", "It's 5 o'clock: \"run!\" (now) ...", "x/y a-b c_d http://example.org/a?b=c&d", "L'homme dit : « Non ! »",
        "Zwei Wörter — drei", "#include <a.h>", "a ... b!?", "输入一个空格。 Press Ctrl+F（查找）。", "나는 학교에 간다.", "😀👍 ok", "e\u0301te\u0301", "''quoted''"})
    EXPECT_EQ(join_words(cut_words(text)), text);
}

TEST(JoinWords, KeepsOneSpaceForMany) {
  EXPECT_EQ(join_words(cut_words("  a \t b\u00A0c ")), "a b c");
  EXPECT_EQ(join_words(cut_words("我 喜欢")), "我喜欢");  // as the header says
  EXPECT_EQ(join_words(cut_words("a￭b")), "a■b");
}

TEST(JoinWords, TakesWhatAModelMayWrite) {
  EXPECT_EQ(join_words({}), "");
  EXPECT_EQ(join_words({"￭"}), "");
  EXPECT_EQ(join_words({"￭,", "a", "￭", "b", "(￭"}), ", ab (");
  EXPECT_EQ(join_words({"<unk>", "￭.", "", "x"}), "<unk>. x");
}

TEST(CountWords, LeavesOutPunctuation) {
  EXPECT_EQ(count_words(""), 0);
  EXPECT_EQ(count_words(" ... !"), 0);
  EXPECT_EQ(count_words("Don't count: these, 5 words!"), 5);
  EXPECT_EQ(count_words("输入一个空格。"), 3);
}

TEST(CutSentences, EndWhereSentencesEnd) {
  EXPECT_THAT(cut_sentences("One. Two?  Three!", "en"), ElementsAre("One.", "Two?", "Three!"));
  EXPECT_THAT(cut_sentences("Version 1.5 is out. See e.g. the manual.", "en"), ElementsAre("Version 1.5 is out.", "See e.g. the manual."));
  EXPECT_THAT(cut_sentences("第一句。第二句！", "zh-CN"), ElementsAre("第一句。", "第二句！"));
  EXPECT_THAT(cut_sentences("no border", "fr"), ElementsAre("no border"));
  for (const std::string blank : {"", "  "}) EXPECT_THAT(cut_sentences(blank, "en"), IsEmpty());
}

TEST(CutSentences, KnowTheAbbreviationsOfALanguage) {
  EXPECT_THAT(cut_sentences("Ask Mr. Smith. He knows.", "en"), ElementsAre("Ask Mr. Smith.", "He knows."));
}

TEST(CutWords, WorksInSeveralThreads) {
  std::vector<std::vector<std::string>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&result] { result = cut_words("Hello, world."); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, cut_words("Hello, world."));
}

}  // namespace
}  // namespace attend::data
