#include "attend/io/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::io {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

Value parse_recipe(std::string_view text) { return parse_toml(text, "a.toml"); }

constexpr const char* recipe = R"(format = 1
system = "B3"
figure = { metric = "PER", at_most = 6.0 }
[data]
corpus = "cmudict"  # a comment
[model]
name = "luong"
sizes = [1, 2]
nested.b = true
nested.a = 0.1
[[train.phase]]
steps = 1_000
[[train.phase]]
steps = 2
[alpha]
)";

TEST(ParseToml, KeepsTheOrderOfTheFile) {
  EXPECT_EQ(
      to_json(parse_recipe(recipe)),
      R"({"format":1,"system":"B3","figure":{"metric":"PER","at_most":6.0},"data":{"corpus":"cmudict"},)"
      R"("model":{"name":"luong","sizes":[1,2],"nested":{"b":true,"a":0.1}},"train":{"phase":[{"steps":1000},{"steps":2}]},"alpha":{}})");
  EXPECT_EQ(to_json(parse_recipe("[z.y]\nb = 1\n[z.x]\n[a]\n[z]\na = 1")), R"({"z":{"y":{"b":1},"x":{},"a":1},"a":{}})");
}

TEST(ParseToml, ValuesCarryTheirLine) {
  const Value value = parse_recipe(recipe);
  EXPECT_EQ(value.at("system").line(), 2);
  EXPECT_EQ(value.find_path("model.nested.a")->line(), 10);
  EXPECT_EQ(value.find_path("train.phase")->as_list()[1].at("steps").line(), 14);
}

TEST(ParseToml, DatesAndTimesAreTexts) {
  const Value value = parse_recipe("date = 1979-05-27\ntime = 07:32:00\nboth = 1979-05-27T07:32:00Z");
  EXPECT_EQ(value.at("date"), Value("1979-05-27"));
  EXPECT_EQ(value.at("time"), Value("07:32:00"));
  EXPECT_EQ(value.at("both"), Value("1979-05-27T07:32:00Z"));
}

TEST(ParseToml, RefusesMalformedTextWithItsLine) {
  EXPECT_THAT([] { parse_recipe("a = 1\nb = \n"); }, ThrowsMessage<InvalidData>(StartsWith("a.toml:2: not valid TOML: ")));
  EXPECT_THAT([] { parse_recipe("a = 1\na = 2\n"); }, ThrowsMessage<InvalidData>(StartsWith("a.toml:2: ")));
  for (const char* text : {"a", "a = ", "[a", "a = 1 b = 2", "a = 'x", "= 1", "a = \"\xff\"", "a = 99999999999999999999", "[a]\n[a]",
                           "a = {b = 1,, c = 2}", "a = \"\\q\"", "a = 1\n[a]\n", "\x01"})
    EXPECT_THROW(parse_recipe(text), InvalidData) << text;
  EXPECT_THROW(parse_recipe(std::string_view("a = 1\n\0b = 2", 12)), InvalidData);
}

TEST(ParseToml, RefusesTextsThatBreakAssertionsOfTheParser) {
  EXPECT_THAT([] { parse_recipe("a = 1\nb = [\n1,\n}\nc = 1\n"); }, ThrowsMessage<InvalidData>(StartsWith("a.toml:4: not valid TOML: ")));
  EXPECT_THAT([] { parse_recipe("a = [}"); }, ThrowsMessage<InvalidData>(StartsWith("a.toml:1: not valid TOML: ")));
  EXPECT_EQ(parse_toml_value("[}"), Value("[}"));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(ParseToml, RefusesTooDeepNesting) {
  EXPECT_TRUE(parse_recipe("a = " + repeated("[", 199) + repeated("]", 199)).at("a").is_list());
  EXPECT_TRUE(parse_recipe(repeated("a.", 200) + "a = 1").at("a").is_table());
  for (const std::string& text :
       {"a = " + repeated("[", 100'000), repeated("a.", 100'000) + "a = 1", "[" + repeated("a.", 100'000) + "a]",
        "[" + repeated("\"]\" . ", 100'000) + "a]", "x = " + repeated("{" + repeated("a.", 150) + "a = ", 250),
        "x = '\\'\n" + repeated("a.", 100'000) + "a = 1", "x = \"\\\"\"\n" + repeated("a.", 100'000) + "a = 1",
        "x = ['''x'''', {" + repeated("a.", 100'000) + "a = 1}]", "x = [\"\"\"x\"\"\"\"\", {" + repeated("a.", 100'000) + "a = 1}]",
        "x = '''\n''\\'''\n" + repeated("a.", 100'000) + "a = 1", "# \"\n" + repeated("a.", 100'000) + "a = 1"})
    EXPECT_THAT([&] { parse_recipe(text); }, ThrowsMessage<InvalidData>(HasSubstr("at most 200"))) << text.substr(0, 40);
}

TEST(ParseToml, CountsNoDotsOfTextsCommentsAndNumbers) {
  const std::string dots(1000, '.');
  EXPECT_EQ(parse_recipe("a = \"" + dots + "\\\"" + dots + "\" # " + dots).at("a").as_text().size(), 2001u);
  EXPECT_EQ(parse_recipe("a = '''\n" + dots + "\n" + dots + "'''").at("a").as_text().size(), 2001u);
  EXPECT_EQ(parse_recipe("a = [" + repeated("0.5, ", 1000) + "]").at("a").as_list().size(), 1000u);
  EXPECT_EQ(parse_recipe(repeated("[[a.b]]\nc.d = 1.5\n", 1000)).find_path("a.b")->as_list().size(), 1000u);
}

TEST(ReadToml, NamesTheFile) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "attend_read_toml_test.toml";
  write_file(file, "steps = 3\n");
  EXPECT_EQ(read_toml(file).at("steps").as_integer(), 3);
  write_file(file, "steps = \n");
  EXPECT_THAT([&] { read_toml(file); }, ThrowsMessage<InvalidData>(StartsWith(file.string() + ":1: ")));
  std::filesystem::remove(file);
  EXPECT_THROW(read_toml(file), SystemError);
}

TEST(ParseTomlValue, TakesAValueOrTheTextItself) {
  EXPECT_EQ(parse_toml_value("5"), Value(5));
  EXPECT_EQ(parse_toml_value("5").line(), 0);
  EXPECT_EQ(parse_toml_value("0.5"), Value(0.5));
  EXPECT_EQ(parse_toml_value("true"), Value(true));
  EXPECT_EQ(parse_toml_value("\"general\""), Value("general"));
  EXPECT_EQ(parse_toml_value("general"), Value("general"));
  EXPECT_EQ(parse_toml_value("local-p"), Value("local-p"));
  EXPECT_EQ(parse_toml_value("[1, 2]"), Value(Value::List{1, 2}));
  EXPECT_EQ(to_json(parse_toml_value("{ score = \"dot\" }")), R"({"score":"dot"})");
}

TEST(ParseTomlValue, SwallowsNothing) {
  for (const char* text :
       {"", "5 # five", "5,", "1, 2", "5\nother = 6", "5\n[other]", "5]\nother = [6", "5]#", "\"a", "../data", "#5", "${ATTEND_DATA}/x"})
    EXPECT_EQ(parse_toml_value(text), Value(text)) << text;
}

TEST(ToToml, WritesPlainKeysFirstThenTables) {
  Value value;
  value.set_path("model.attention.score", "general");
  value.set_path("model.attention.empty", Value());
  value.set_path("model.parts", Value::List{});
  value.set_path("seed", 1);
  value.set_path("nothing", Value());
  Value phase;
  phase.set("steps", 5);
  phase.set_path("rate.start", 0.1);
  value.set_path("train.phase", Value::List{phase, Value::table()});
  value.set_path("odd key", Value::List{1.0, "x\x7f\"\n", Value::List{phase}, Value()});
  EXPECT_EQ(to_toml(value),
            "seed = 1\n"
            "\"odd key\" = [1.0, \"x\\u007F\\\"\\n\", [{ steps = 5, rate = { start = 0.1 } }]]\n"
            "\n[model]\nparts = []\n"
            "\n[model.attention]\nscore = \"general\"\n"
            "\n[[train.phase]]\nsteps = 5\n"
            "\n[train.phase.rate]\nstart = 0.1\n"
            "\n[[train.phase]]\n");
  EXPECT_THROW(to_toml(Value(1)), InvalidArgument);
  EXPECT_EQ(to_toml(Value::table()), "");
}

TEST(ToToml, IsReadBackUnchanged) {
  const Value value = parse_recipe(recipe);
  EXPECT_EQ(parse_recipe(to_toml(value)), value);
  EXPECT_EQ(to_toml(parse_recipe(to_toml(value))), to_toml(value));
  Value hard;
  for (const char* key : {"", "a.b", "ä", "\"", "plain-key_1", "new\nline", "\x7f\x01"}) hard.set(key, Value::table()).set(key, key);
  for (const double number : {1.0, 0.1, 1e22, 1e300, -0.0, 5e-324, 1e-7, 123456.789}) hard.set(std::to_string(number), number);
  hard.set("limits", Value::List{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), INFINITY, -INFINITY});
  hard.set("mixed", Value::List{Value::table(), 1, "x", Value::list()});
  EXPECT_EQ(parse_recipe(to_toml(hard)), hard) << to_toml(hard);
  EXPECT_TRUE(std::isnan(parse_recipe("a = nan").at("a").as_number()));
  EXPECT_EQ(to_toml(parse_recipe("a = nan")), "a = nan\n");
}

}  // namespace
}  // namespace attend::io
