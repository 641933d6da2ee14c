#include "attend/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/io/json.h"
#include "attend/io/toml.h"

namespace attend {
namespace {

enum class Colour { red, dark_green };

struct InnerOptions {
  double rate = 0.5;
  std::optional<std::int64_t> limit = 3;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("rate", self.rate, "how fast");
    visitor("limit", self.limit, "at most");
  }
};

struct AllKinds {
  bool shuffle = true;
  std::int64_t steps = 100;
  double dropout = 0.25;
  std::string name = "plain";
  std::vector<std::string> languages = {"en", "fr"};
  Colour colour = Colour::red;
  std::optional<bool> maybe_bool;
  std::optional<std::int64_t> maybe_integer;
  std::optional<double> maybe_number;
  std::optional<std::string> maybe_text;
  std::optional<std::vector<std::string>> maybe_texts;
  std::optional<Colour> maybe_colour;
  InnerOptions inner;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("shuffle", self.shuffle, "a bool");
    visitor("steps", self.steps, "an integer");
    visitor("dropout", self.dropout, "a number");
    visitor("name", self.name, "a text");
    visitor("languages", self.languages, "texts");
    visitor("colour", self.colour, "a choice");
    visitor("maybe_bool", self.maybe_bool, "a bool or nothing");
    visitor("maybe_integer", self.maybe_integer, "an integer or nothing");
    visitor("maybe_number", self.maybe_number, "a number or nothing");
    visitor("maybe_text", self.maybe_text, "a text or nothing");
    visitor("maybe_texts", self.maybe_texts, "texts or nothing");
    visitor("maybe_colour", self.maybe_colour, "a choice or nothing");
    visitor("inner", self.inner, "a group");
  }
};

}  // namespace

template <>
struct EnumNames<Colour> {
  static constexpr EnumName<Colour> values[] = {{Colour::red, "red"}, {Colour::dark_green, "dark-green"}};
};

namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

AllKinds read_kinds(const std::string& toml) {
  AllKinds options;
  read_options(options, io::parse_toml(toml, "recipe.toml"), "recipe.toml");
  return options;
}

auto reading(const std::string& toml) {
  return [toml] { read_kinds(toml); };
}

auto refuses(const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq(message)); }

TEST(Options, WhatIsAbsentKeepsItsDefault) {
  const AllKinds options = read_kinds("");
  EXPECT_TRUE(options.shuffle);
  EXPECT_EQ(options.steps, 100);
  EXPECT_EQ(options.colour, Colour::red);
  EXPECT_FALSE(options.maybe_number.has_value());
  EXPECT_EQ(options.inner.limit, 3);
}

TEST(Options, EveryKindOfFieldIsRead) {
  const AllKinds options = read_kinds(R"(
shuffle = false
steps = -7
dropout = 0.5
name = "x y"
languages = ["de", "it", "es"]
colour = "dark-green"
maybe_bool = false
maybe_integer = 0
maybe_number = 2.5
maybe_text = ""
maybe_texts = []
maybe_colour = "red"
[inner]
rate = 1e-3
limit = 9
)");
  EXPECT_FALSE(options.shuffle);
  EXPECT_EQ(options.steps, -7);
  EXPECT_EQ(options.dropout, 0.5);
  EXPECT_EQ(options.name, "x y");
  EXPECT_THAT(options.languages, ElementsAre("de", "it", "es"));
  EXPECT_EQ(options.colour, Colour::dark_green);
  EXPECT_EQ(options.maybe_bool, false);
  EXPECT_EQ(options.maybe_integer, 0);
  EXPECT_EQ(options.maybe_number, 2.5);
  EXPECT_EQ(options.maybe_text, "");
  EXPECT_EQ(options.maybe_texts, std::vector<std::string>{});
  EXPECT_EQ(options.maybe_colour, Colour::red);
  EXPECT_EQ(options.inner.rate, 1e-3);
  EXPECT_EQ(options.inner.limit, 9);
}

TEST(Options, AnIntegerIsANumberAndOneTextAListOfOne) {
  EXPECT_EQ(read_kinds("dropout = 1").dropout, 1.0);
  EXPECT_THAT(read_kinds("languages = \"de\"").languages, ElementsAre("de"));
}

TEST(Options, WhatIsWrittenReadsBackAsItWas) {
  AllKinds options = read_kinds("steps = 5\ncolour = \"dark-green\"\nmaybe_text = \"t\"\nmaybe_colour = \"red\"\ninner.rate = 0.1");
  options.inner.limit.reset();
  const io::Value written = write_options(options);
  AllKinds again;
  again.inner.limit.reset();
  read_options(again, io::parse_toml(io::to_toml(written), "again"), "again");
  EXPECT_EQ(io::to_json(write_options(again)), io::to_json(written));
  EXPECT_EQ(again.colour, Colour::dark_green);
  EXPECT_EQ(again.maybe_text, "t");
  EXPECT_EQ(again.inner.rate, 0.1);
}

TEST(Options, WritingKeepsTheOrderAndLeavesOutEmptyOptionals) {
  EXPECT_EQ(io::to_json(write_options(AllKinds{})),
            R"({"shuffle":true,"steps":100,"dropout":0.25,"name":"plain","languages":["en","fr"],"colour":"red",)"
            R"("inner":{"rate":0.5,"limit":3}})");
}

TEST(Options, AnUnknownKeyNamesItsLineAndTheNearestKnownOne) {
  EXPECT_THAT(reading("steps = 1\n\nshufle = true"), refuses(R"(recipe.toml:3: shufle: unknown key; did you mean "shuffle"?)"));
  EXPECT_THAT(reading("[inner]\nrte = 1"), refuses(R"(recipe.toml:2: inner.rte: unknown key; did you mean "rate"?)"));
}

TEST(Options, AnUnknownKeyThatIsNearNothingListsWhatIsKnown) {
  EXPECT_THAT(reading("inner.qqqqqqqq = 1"), refuses("recipe.toml:1: inner.qqqqqqqq: unknown key; known here: rate, limit"));
}

TEST(Options, AValueOfTheWrongKindIsRefusedWithItsPlace) {
  EXPECT_THAT(reading("shuffle = 1"), refuses("recipe.toml:1: shuffle: expected true or false, got an integer"));
  EXPECT_THAT(reading("steps = 1.0"), refuses("recipe.toml:1: steps: expected an integer, got a number"));
  EXPECT_THAT(reading("\ndropout = \"half\""), refuses("recipe.toml:2: dropout: expected a number, got a text"));
  EXPECT_THAT(reading("name = [\"a\"]"), refuses("recipe.toml:1: name: expected a text, got a list"));
  EXPECT_THAT(reading("languages = true"), refuses("recipe.toml:1: languages: expected a text or a list of texts, got a boolean"));
  EXPECT_THAT(reading("languages = [\"a\", 2]"), refuses("recipe.toml:1: languages: expected a list of texts, got an integer"));
  EXPECT_THAT(reading("colour = 3"), refuses("recipe.toml:1: colour: expected a text, got an integer"));
  EXPECT_THAT(reading("maybe_integer = \"3\""), refuses("recipe.toml:1: maybe_integer: expected an integer, got a text"));
  EXPECT_THAT(reading("inner = 3"), refuses("recipe.toml:1: inner: expected a table, got an integer"));
  EXPECT_THAT(reading("[inner]\nlimit = {}"), refuses("recipe.toml:2: inner.limit: expected an integer, got a table"));
}

TEST(Options, ANameThatIsNoneOfTheChoicesIsRefusedWithAllOfThem) {
  EXPECT_THAT(reading("colour = \"dark_green\""),
              refuses(R"(recipe.toml:1: colour: expected one of "red", "dark-green", got "dark_green"; did you mean "dark-green"?)"));
  EXPECT_THAT(reading("maybe_colour = \"xxxxxxxxxxxxxx\""),
              refuses(R"(recipe.toml:1: maybe_colour: expected one of "red", "dark-green", got "xxxxxxxxxxxxxx")"));
}

TEST(Options, AValueWithoutALineIsNamedByItsSource) {
  io::Value table = io::Value::table();
  table.set("steps", "many");
  AllKinds options;
  EXPECT_THAT([&] { read_options(options, table, "--set"); }, refuses("--set: steps: expected an integer, got a text"));
}

TEST(Options, ThePathOfTheTableStandsBeforeItsKeys) {
  InnerOptions options;
  const io::Value table = io::parse_toml("rate = 0.1\nlimt = 2", "r.toml");
  EXPECT_THAT([&] { read_options(options, table, "r.toml", "model"); },
              refuses(R"(r.toml:2: model.limt: unknown key; did you mean "limit"?)"));
}

TEST(Options, SomethingThatIsNoTableIsRefused) {
  InnerOptions options;
  EXPECT_THAT([&] { read_options(options, io::Value(3), "r.toml", "model"); }, refuses("r.toml: model: expected a table, got an integer"));
  EXPECT_THAT([&] { read_options(options, io::Value::list(), "r.json"); }, refuses("r.json: expected a table, got a list"));
}

TEST(Options, AreDescribedByOneRowForEachField) {
  const std::vector<OptionDescription> rows = describe_options<AllKinds>({}, "model");
  ASSERT_EQ(rows.size(), 14u);
  std::vector<std::string> names, defaults;
  for (const OptionDescription& row : rows) names.push_back(row.name), defaults.push_back(row.default_text);
  EXPECT_THAT(names, ElementsAre("model.shuffle", "model.steps", "model.dropout", "model.name", "model.languages", "model.colour",
                                 "model.maybe_bool", "model.maybe_integer", "model.maybe_number", "model.maybe_text", "model.maybe_texts",
                                 "model.maybe_colour", "model.inner.rate", "model.inner.limit"));
  EXPECT_THAT(defaults, ElementsAre("true", "100", "0.25", "\"plain\"", "[\"en\",\"fr\"]", "\"red\"", "", "", "", "", "", "", "0.5", "3"));
  EXPECT_EQ(rows[1].meaning, "an integer");
  EXPECT_TRUE(rows[1].choices.empty());
  EXPECT_THAT(rows[5].choices, ElementsAre("red", "dark-green"));
  EXPECT_THAT(rows[11].choices, ElementsAre("red", "dark-green")) << "an optional choice has the same names";
  EXPECT_EQ(describe_options<InnerOptions>().front().name, "rate");
}

TEST(Options, AnEnumerationsValueWithoutANameIsRefused) {
  EXPECT_EQ(name_of(Colour::dark_green), "dark-green");
  EXPECT_THAT(names_of<Colour>(), ElementsAre("red", "dark-green"));
  EXPECT_THAT([] { name_of(static_cast<Colour>(7)); }, refuses("attend: an enumeration holds a value without a name"));
}

}  // namespace
}  // namespace attend
