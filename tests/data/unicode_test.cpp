#include "attend/data/unicode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>
#include <string>
#include <thread>

#include "attend/base/error.h"

namespace attend::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string replacement = "\xEF\xBF\xBD";
const std::string joiner = "\u200D";
const std::string family = "👨" + joiner + "👩" + joiner + "👧" + joiner + "👦";

TEST(Utf8, AcceptsWhatIsValid) {
  for (const std::string text : {"", "plain", "naïve", "日本語", "👍🏽", "\u007F\u0080\u07FF\u0800\uFFFF", "\U0010FFFF"}) {
    EXPECT_TRUE(is_valid_utf8(text)) << text;
    EXPECT_EQ(first_invalid_utf8(text), std::nullopt) << text;
  }
  EXPECT_TRUE(is_valid_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("\xFF"), 0u);
  EXPECT_EQ(first_invalid_utf8("twelve bytes\x80"), 12u);
  EXPECT_EQ(first_invalid_utf8("é\xC3"), 2u);                  // cut off
  EXPECT_EQ(first_invalid_utf8("ab\xC0\x80"), 2u);             // overlong
  EXPECT_EQ(first_invalid_utf8("日\xED\xA0\x80"), 3u);         // a surrogate
  EXPECT_EQ(first_invalid_utf8("x\xF4\x90\x80\x80"), 1u);      // beyond U+10FFFF
  EXPECT_EQ(first_invalid_utf8("1234567\xE9t\xE9"), 7u);       // Latin-1
  EXPECT_FALSE(is_valid_utf8("caf\xE9"));
}

TEST(Graphemes, AreWhatAReaderSees) {
  EXPECT_THAT(graphemes(""), IsEmpty());
  EXPECT_THAT(graphemes("abc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(graphemes("a\r\nb"), ElementsAre("a", "\r\n", "b"));
  EXPECT_THAT(graphemes("e\u0301a"), ElementsAre("e\u0301", "a"));
  EXPECT_THAT(graphemes("한국"), ElementsAre("한", "국"));
  EXPECT_THAT(graphemes("\u1112\u1161\u11AB\u1100"), ElementsAre("\u1112\u1161\u11AB", "\u1100"));
  EXPECT_THAT(graphemes("किताब"), ElementsAre("कि", "ता", "ब"));
  EXPECT_THAT(graphemes("注意"), ElementsAre("注", "意"));
  EXPECT_THAT(graphemes("x" + family + "👍🏽"), ElementsAre("x", family, "👍🏽"));
  EXPECT_THAT(graphemes("🇫🇷🇯🇵"), ElementsAre("🇫🇷", "🇯🇵"));
  EXPECT_THAT(graphemes("שָׁלוֹם"), ElementsAre("שָׁ", "ל", "וֹ", "ם"));
}

TEST(Graphemes, GiveTheTextAgainEvenWhereItIsInvalid) {
  for (const std::string text : {"a\xFF\xFEz", "é\xC3", "\xE6\x97", "日\xED\xA0\x80本", "\x80\u0301"}) {
    const auto parts = graphemes(text);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::string()), text);
  }
}

TEST(Normalize, ComposesWhatHasAComposedForm) {
  EXPECT_EQ(normalize_nfc(""), "");
  EXPECT_EQ(normalize_nfc("plain"), "plain");
  EXPECT_EQ(normalize_nfc("e\u0301"), "é");
  EXPECT_EQ(normalize_nfc("\u1112\u1161\u11AB"), "한");
  EXPECT_EQ(normalize_nfc("q\u0307\u0323"), "q\u0323\u0307");  // marks in canonical order
  EXPECT_EQ(normalize_nfc("Å"), "Å");                          // the Ångström sign
  EXPECT_EQ(normalize_nfc("ﬁ"), "ﬁ");                          // compatibility characters stay
  EXPECT_EQ(normalize_nfc("e\u0301\xFF"), "é" + replacement);
}

TEST(LowerCase, IsFullAndOfTheRootLocale) {
  EXPECT_EQ(lower_case(""), "");
  EXPECT_EQ(lower_case("HELLO, World [@`{]"), "hello, world [@`{]");
  EXPECT_EQ(lower_case("ÉCOLE"), "école");
  EXPECT_EQ(lower_case("ΟΔΟΣ"), "οδος");
  EXPECT_EQ(lower_case("I\u0130"), "ii\u0307");
  EXPECT_EQ(lower_case("ẞ日本"), "ß日本");
  EXPECT_EQ(lower_case("É\xC3"), "é" + replacement);
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("a\tb\x1B\x7F"), 2);
  EXPECT_EQ(display_width("naïve"), 5);
  EXPECT_EQ(display_width("nai\u0308ve"), 5);
  EXPECT_EQ(display_width("注意"), 4);
  EXPECT_EQ(display_width("Ａ"), 2);  // full width
  EXPECT_EQ(display_width("ｱ"), 1);   // half width
  EXPECT_EQ(display_width("한"), 2);
  EXPECT_EQ(display_width("\u1112\u1161\u11AB"), 2);
  EXPECT_EQ(display_width("שָׁלוֹם"), 4);
  EXPECT_EQ(display_width("a\u200Bb\u200E"), 2);
  EXPECT_EQ(display_width("\u0085\u2028"), 0);
  EXPECT_EQ(display_width("a\u00ADb"), 3);  // a soft hyphen is shown
  EXPECT_EQ(display_width("░▒▓█…│"), 6);
  EXPECT_EQ(display_width("a\xFF"), 2);
}

TEST(DisplayWidth, CountsAPictureOnce) {
  EXPECT_EQ(display_width("😀"), 2);
  EXPECT_EQ(display_width(family), 2);
  EXPECT_EQ(display_width("👍🏽"), 2);
  EXPECT_EQ(display_width("🇫🇷"), 2);
  EXPECT_EQ(display_width("❤"), 1);
  EXPECT_EQ(display_width("❤\uFE0F"), 2);
  EXPECT_EQ(display_width("1\uFE0F\u20E3"), 2);
  EXPECT_EQ(display_width("a😀b"), 4);
}

TEST(ReplaceControls, LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(replace_controls(""), "");
  EXPECT_EQ(replace_controls("plain ü 日本 " + family), "plain ü 日本 " + family);
  EXPECT_EQ(replace_controls("\x1B[31mred"), "␛[31mred");
  EXPECT_EQ(replace_controls("a\tb\nc\r\x7F"), "a␉b␊c␍␡");
  EXPECT_EQ(replace_controls(std::string_view("\0", 1)), "␀");
  EXPECT_EQ(replace_controls("\u009B31m\u0085"), replacement + "31m" + replacement);
  EXPECT_EQ(replace_controls("a\u202Eb\u202C"), "a" + replacement + "b" + replacement);
  EXPECT_EQ(replace_controls("\u2066x\u2069\u2028\uFFF9"), replacement + "x" + replacement + replacement + replacement);
  EXPECT_EQ(replace_controls("\xFFz\xE6\x97"), replacement + "z" + replacement);
  EXPECT_EQ(replace_controls("שלום\u200F"), "שלום\u200F");  // marks only place what stands beside them
}

TEST(EscapeToAscii, WritesEverythingElseAsNumbers) {
  EXPECT_EQ(escape_to_ascii(""), "");
  EXPECT_EQ(escape_to_ascii("plain ~\\"), "plain ~\\");
  EXPECT_EQ(escape_to_ascii("é日😀\x1B\xFF"), "\\xE9\\u65E5\\U0001F600\\x1B\\uFFFD");
}

TEST(RightToLeft, IsFoundInMixedText) {
  EXPECT_FALSE(has_right_to_left(""));
  EXPECT_FALSE(has_right_to_left("naïve 日本 123\xFF"));
  EXPECT_TRUE(has_right_to_left("abc שלום"));
  EXPECT_TRUE(has_right_to_left("سلام"));
}

TEST(Unicode, RefusesTextsLongerThanIcuCounts) {
  const std::size_t length = std::size_t{1} << 31;
  void* pages = mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);  // never touched
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_THROW(replace_controls(std::string_view(static_cast<const char*>(pages), length)), InvalidArgument);
  munmap(pages, length);
}

TEST(Unicode, MayBeUsedByThreads) {
  std::vector<int> widths(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int& width : widths) {
      threads.emplace_back([&width] {
        for (int i = 0; i < 200; ++i) width = display_width(family + "日") + static_cast<int>(graphemes("한e\u0301").size());
      });
    }
  }
  EXPECT_THAT(widths, ElementsAre(6, 6, 6, 6));
}

}  // namespace
}  // namespace attend::data
