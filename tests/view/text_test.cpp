#include "attend/view/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <sstream>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "tests/view/alignment.h"

namespace attend::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_colour(const std::string& text) { return std::regex_replace(text, std::regex("\x1B\\[[0-9;]*m"), ""); }

// Where the right side of each frame stands, in columns, and the widest line.
void expect_straight_frames(const std::string& text, int width) {
  int right_side = -1;
  for (const std::string& line : lines_of(without_colour(text))) {
    EXPECT_LE(data::display_width(line), width) << line;
    const bool opens = line.find("┌") != std::string::npos;
    if (opens) right_side = data::display_width(line);
    const std::size_t side = line.rfind("│");
    if (side != std::string::npos) {
      EXPECT_EQ(data::display_width(line.substr(0, side)) + 1, right_side) << line;
    }
    if (line.find("└") != std::string::npos) {
      EXPECT_EQ(data::display_width(line), right_side) << line;
    }
  }
  EXPECT_GE(right_side, 0);
}

const Example english_french{"1", {"the", "cat", "sleeps"}, {"le", "chat", "dort"}, {}};
const Item small = alignment(1, english_french, {0.97f, 0.03f, 0, 0.2f, 0.774f, 0.026f, 0, 0.001f, 0.999f});

TEST(HeatMapText, SmallMapsShowNumbers) {
  EXPECT_EQ(heat_map_text(english_french, small), R"(decoder.attention
          the    cat sleeps
     ┌─────────────────────┐
  le │  █◂ 97      3      ·│
chat │  ░░ 20  █◂ 77      3│
dort │      ·      ·  █◂100│
     └─────────────────────┘

rows: target  columns: source  ◂ largest of its row
percent:  ░░ 5+  ▒▒ 25+  ▓▓ 50+  ██ 75+
)");
}

TEST(HeatMapText, ShadesHaveLabelsDownwards) {
  EXPECT_EQ(heat_map_text(english_french, small, {.cells = Cells::shades}), R"(decoder.attention
          s
          l
          e
      t c e
      h a p
      e t s
     ┌──────┐
  le │█◂    │  97 the
chat │░░█◂  │  77 cat
dort │    █◂│ 100 sleeps
     └──────┘

rows: target  columns: source  ◂ largest of its row
percent:  ░░ 5+  ▒▒ 25+  ▓▓ 50+  ██ 75+
)");
}

TEST(HeatMapText, AsciiIsAsciiOnly) {
  const Example example{"1", {"été", "日", "\x1B[2J"}, {"a", "\t"}, {}};
  const Item item = alignment(1, example, {0.6f, 0.3f, 0.1f, 0.1f, 0.1f, 0.8f});
  const std::string text = heat_map_text(example, item, {.charset = Charset::ascii});
  EXPECT_EQ(text, R"(decoder.attention
       \xE9t\xE9    \u65E5   \x1B[2J
     +------------------------------+
   a |     #< 60     ++ 30     .. 10|
\x09 |     .. 10     .. 10     @< 80|
     +------------------------------+

rows: target  columns: source  < largest of its row
percent:  .. 5+  ++ 25+  ## 50+  @@ 75+
)");
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST(HeatMapText, WideAndCombiningCharactersKeepTheirColumns) {
  const Example example{"1", {"注", "意", "e\u0301", "\u0301", " ", ""}, {"机器翻译", "naïve", "👨‍👩‍👧"}, {}};
  const Item item = alignment(1, example, {1, 0, 0, 0, 0, 0, 0, 0.3f, 0.5f, 0.1f, 0.1f, 0, 0, 0, 0, 0, 0.4f, 0.6f});
  const std::string text = heat_map_text(example, item, {.cells = Cells::shades});
  EXPECT_EQ(text, "decoder.attention\n"
                  "          注意e\u0301 ◌\u0301 ␣\n"
                  "         ┌────────────┐\n"
                  "机器翻译 │█◂          │ 100 注\n"
                  "   naïve │  ▒▒▓◂░░░░  │  50 e\u0301\n"
                  "      👨‍👩‍👧 │        ▒▒▓◂│  60\n"
                  "         └────────────┘\n"
                  "\n"
                  "rows: target  columns: source  ◂ largest of its row\n"
                  "percent:  ░░ 5+  ▒▒ 25+  ▓▓ 50+  ██ 75+\n");
  expect_straight_frames(text, 80);
}

TEST(HeatMapText, RightToLeftTokensStandBetweenMarks) {
  const Example example{"1", {"שלום", "עולם"}, {"hello", "سلام"}, {}};
  const Item item = alignment(1, example, {0.9f, 0.1f, 0.2f, 0.8f});
  EXPECT_EQ(heat_map_text(example, item), "decoder.attention\n"
                                          "         \u200Eשלום\u200E  \u200Eעולם\u200E\n"
                                          "      ┌────────────┐\n"
                                          "hello │ █◂ 90 ░░ 10│\n"
                                          " \u200Eسلام\u200E │ ░░ 20 █◂ 80│\n"
                                          "      └────────────┘\n"
                                          "\n"
                                          "rows: target  columns: source  ◂ largest of its row\n"
                                          "percent:  ░░ 5+  ▒▒ 25+  ▓▓ 50+  ██ 75+\n");
}

TEST(HeatMapText, FlagsAndJoinersDoNotMergeWithTheirNeighbours) {
  const Example example{"1", {"🇫", "🇷", "👩\u200D", "👧"}, {"x"}, {}};
  const std::string text = heat_map_text(example, alignment(1, example, {0.25f, 0.25f, 0.25f, 0.25f}), {.cells = Cells::shades});
  EXPECT_THAT(text, HasSubstr("\u200E🇫\u200E\u200E🇷\u200E\u200E👩\u200D\u200E👧"));
  EXPECT_EQ(data::display_width(lines_of(text)[1]), 3 + 8);
}

TEST(HeatMapText, NanIsShownAndNeverTheLargest) {
  const Example example{"1", {"a", "b"}, {"x", "y"}, {}};
  const Item item = alignment(1, example, {nan_weight, nan_weight, nan_weight, 0.5f});
  EXPECT_THAT(heat_map_text(example, item), HasSubstr("x │    ??    ??│\ny │    ?? ▓◂ 50│\n"));
  EXPECT_THAT(heat_map_text(example, item, {.cells = Cells::shades}), HasSubstr("x │????│\ny │??▓◂│  50 b\n"));
  EXPECT_THAT(heat_map_text(example, item, {.colour = true}), HasSubstr("    ??\x1B[0m"));
}

TEST(HeatMapText, ARowThatAttendsToNothingHasNoMark) {
  const Example example{"1", {"a", "b"}, {"x", "y"}, {}};
  EXPECT_THAT(heat_map_text(example, alignment(1, example, {0, 0, 0, 1})), HasSubstr("x │     ·     ·│\ny │     · █◂100│\n"));
}

TEST(HeatMapText, NumbersBeyondThreeColumnsAreCutToSigns) {
  const Example example{"1", {"a", "b", "c", "d"}, {"x"}, {}};
  const float infinity = std::numeric_limits<float>::infinity();
  const Item item = alignment(1, example, {infinity, -infinity, 9.99f, -0.99f});
  EXPECT_THAT(heat_map_text(example, item), HasSubstr("x │ █◂>>>   <<< ██999   -99│\n"));
}

TEST(HeatMapText, EmptyMapsSaySo) {
  EXPECT_EQ(heat_map_text({}, alignment(1, {}, {})), "decoder.attention: nothing to show (0 target, 0 source)\n");
  const Example no_target{"1", {"a"}, {}, {}};
  EXPECT_EQ(heat_map_text(no_target, alignment(2, no_target, {})), "decoder.attention: nothing to show (0 target, 1 source)\n");
}

TEST(HeatMapText, EachHeadHasAHeading) {
  const Example example{"1", {"a"}, {"x"}, {}};
  const std::string text = heat_map_text(example, alignment(3, example, {1, 0.5f, 0}));
  EXPECT_THAT(text, HasSubstr("decoder.attention, head 1 of 3\n"));
  EXPECT_THAT(text, HasSubstr("decoder.attention, head 3 of 3\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 * 6 + 2);
}

TEST(HeatMapText, WideMapsAreSplit) {
  Example example{"1", {}, {"first", "second"}, {}};
  for (int i = 0; i < 30; ++i) example.source.push_back("s" + std::to_string(i));
  std::vector<float> weights(60, 0.01f);
  weights[3] = 0.7f;
  weights[30 + 29] = 0.6f;
  const std::string text = heat_map_text(example, alignment(1, example, weights), {.width = 50});
  EXPECT_EQ(text, R"(decoder.attention, columns 1 to 16 of 30
                            s s s s s s
        s s s s s s s s s s 1 1 1 1 1 1
        0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
       ┌────────────────────────────────┐
 first │      ▓◂                        │  70 s3
second │                                │
       └────────────────────────────────┘

decoder.attention, columns 17 to 30 of 30
        s s s s s s s s s s s s s s
        1 1 1 1 2 2 2 2 2 2 2 2 2 2
        6 7 8 9 0 1 2 3 4 5 6 7 8 9
       ┌────────────────────────────┐
 first │                            │
second │                          ▓◂│  60 s29
       └────────────────────────────┘

rows: target  columns: source
◂ largest of its row
percent:  ░░ 5+  ▒▒ 25+  ▓▓ 50+  ██ 75+
)");
  expect_straight_frames(text, 50);
}

TEST(HeatMapText, LongTokensAreElided) {
  const Example example{"1", {"antidisestablishmentarianism", "機械学習機械学習機械学習"}, {"Donaudampfschifffahrtsgesellschaft"}, {}};
  const std::string text = heat_map_text(example, alignment(1, example, {0.5f, 0.5f}), {.label_width = 10});
  EXPECT_THAT(text, HasSubstr("Donaudamp… │"));
  EXPECT_THAT(text, HasSubstr(" antidises…  機械学習…\n"));
  expect_straight_frames(text, 80);
}

TEST(HeatMapText, ScaleCanBeTheLargestWeight) {
  const Example example{"1", {"a", "b"}, {"x"}, {}};
  const Item item = alignment(1, example, {0.04f, 0.02f});
  EXPECT_THAT(heat_map_text(example, item), HasSubstr("x │  ◂  4     2│"));
  const std::string text = heat_map_text(example, item, {.full_scale = 0});
  EXPECT_THAT(text, HasSubstr("x │ █◂  4 ▓▓  2│"));
  EXPECT_THAT(text, HasSubstr("percent:  ░░ 0.2+  ▒▒ 1+  ▓▓ 2+  ██ 3+"));
}

TEST(HeatMapText, ColourPaintsTheSameLayout) {
  for (const Cells cells : {Cells::numbers, Cells::shades}) {
    const std::string plain = heat_map_text(english_french, small, {.cells = cells});
    const std::string colour = heat_map_text(english_french, small, {.cells = cells, .colour = true});
    const auto expected = lines_of(plain), got = lines_of(without_colour(colour));
    ASSERT_GE(got.size(), expected.size());
    for (std::size_t i = 0; i + 2 < expected.size(); ++i) EXPECT_EQ(data::display_width(got[i]), data::display_width(expected[i]));
    expect_straight_frames(colour, 80);
  }
  const Example one{"1", {"a"}, {"x"}, {}};
  const std::string text = heat_map_text(one, alignment(1, one, {1}), {.colour = true});
  const int surface = terminal_colour(heat_map_colour(1, Background::dark));
  EXPECT_THAT(text, HasSubstr("x │\x1B[1;48;5;" + std::to_string(surface) + ";38;5;16m  ◂100\x1B[0m│\n"));
}

TEST(HeatMapText, NothingInATokenSteersTheTerminal) {
  const Example example{"1", {"\x1B[31m", "a\nb", "\u202Eevil", "\x9B", "\xFF\xFE"}, {"\r", "\a\b", "\x7F", "\u0085", "ok"}, {}};
  Item item = alignment(1, example, std::vector<float>(25, 0.2f));
  item.module = "m\x1B]0;title\a";
  for (const Cells cells : {Cells::numbers, Cells::shades}) {
    const std::string text = heat_map_text(example, item, {.cells = cells});
    EXPECT_EQ(std::count_if(text.begin(), text.end(), [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }), 0);
    EXPECT_THAT(text, Not(HasSubstr("\u202E")));
    EXPECT_TRUE(data::is_valid_utf8(text));
    expect_straight_frames(text, 80);
  }
}

TEST(HeatMapText, NarrowTerminalsStillGetAMap) {
  const Example example{"1", {"international", "注意機構", "c"}, {"Verständigung", "b"}, {}};
  for (const Cells cells : {Cells::automatic, Cells::numbers, Cells::shades}) {
    const std::string text = heat_map_text(example, alignment(1, example, {1, 0, 0, 0, 1, 0}), {.width = 20, .cells = cells});
    expect_straight_frames(text, 20);
  }
}

TEST(HeatMapText, OtherKindsUseNumbersForLabels) {
  const Item item{.module = "block.gate", .kind = Kind::channel, .axes = {"channel"}, .shape = {3}, .weights = {0.1f, 0.9f, 0.5f}};
  EXPECT_EQ(heat_map_text({}, item), R"(block.gate
      1     2     3
┌──────────────────┐
│ ░░ 10 █◂ 90 ▓▓ 50│
└──────────────────┘

columns: channel  ◂ largest of its row
percent:  ░░ 5+  ▒▒ 25+  ▓▓ 50+  ██ 75+
)");
}

TEST(HeatMapText, RefusesWhatItCannotDraw) {
  EXPECT_THROW(heat_map_text({}, small), InvalidArgument);
  EXPECT_THROW(heat_map_text(english_french, small, {.width = 19}), InvalidArgument);
  EXPECT_THROW(heat_map_text(english_french, small, {.label_width = 1}), InvalidArgument);
  EXPECT_THROW(heat_map_text(english_french, small, {.full_scale = -1}), InvalidArgument);
  EXPECT_THROW(heat_map_text(english_french, small, {.full_scale = std::nan("")}), InvalidArgument);
}

}  // namespace
}  // namespace attend::view
