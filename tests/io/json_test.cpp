#include "attend/io/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "attend/base/error.h"

namespace attend::io {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

Value parse_text(std::string_view text) { return parse_json(text, "a.json"); }

TEST(ParseJson, ReadsEachKind) {
  const Value value =
      parse_text(R"( {"null": null, "yes": true, "one": 1, "half": 0.5, "text": "a\u00e4\n\"", "list": [1, [], {}], "table": {"x": -1}} )");
  EXPECT_TRUE(value.at("null").is_null());
  EXPECT_TRUE(value.at("yes").as_bool());
  EXPECT_EQ(value.at("one").as_integer(), 1);
  EXPECT_EQ(value.at("half").as_number(), 0.5);
  EXPECT_EQ(value.at("text").as_text(), "aä\n\"");
  EXPECT_EQ(value.at("list"), Value(Value::List{1, Value::list(), Value::table()}));
  EXPECT_EQ(value.find_path("table.x")->as_integer(), -1);
  EXPECT_EQ(value.as_table()[0].first, "null");
  EXPECT_EQ(value.as_table()[6].first, "table");
}

TEST(ParseJson, ReadsScalarsAtTheTop) {
  EXPECT_EQ(parse_text("3"), Value(3));
  EXPECT_EQ(parse_text("\"x\""), Value("x"));
  EXPECT_EQ(parse_text("1.0"), Value(1.0));
  EXPECT_EQ(parse_text("1e2"), Value(100.0));
}

TEST(ParseJson, KnowsTheLimitsOfIntegers) {
  EXPECT_EQ(parse_text("9223372036854775807").as_integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_text("-9223372036854775808").as_integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_text("9223372036854775808.0").as_number(), 9223372036854775808.0);
  EXPECT_THAT([] { parse_text("[1,\n9223372036854775808]"); },
              ThrowsMessage<InvalidData>(StartsWith("a.json:2: expected an integer between")));
  EXPECT_THROW(parse_text("18446744073709551616"), InvalidData);
  EXPECT_THROW(parse_text("-9223372036854775809"), InvalidData);
  EXPECT_THROW(parse_text("1e999"), InvalidData);
  EXPECT_THROW(parse_text("NaN"), InvalidData);
}

TEST(ParseJson, ValuesCarryTheirLine) {
  const Value value = parse_text("{\n\"a\": 1,\n\"b\": [\n2\n,3]\n}");
  EXPECT_EQ(value.line(), 1);
  EXPECT_EQ(value.at("a").line(), 2);
  EXPECT_EQ(value.at("b").line(), 3);
  EXPECT_EQ(value.at("b").as_list()[0].line(), 4);
  EXPECT_EQ(value.at("b").as_list()[1].line(), 5);
}

TEST(ParseJson, RefusesMalformedTextWithItsLine) {
  EXPECT_THAT([] { parse_text("{\n\"a\": 1,\n\"b\" 2}"); },
              ThrowsMessage<InvalidData>(StartsWith("a.json:3: not valid JSON: syntax error")));
  for (const char* text : {"",         " ",           "{",  "[1,]", "{\"a\":1,}", "[1 2]",   "nul", "'a'", "\"a",   "\"\n\"",
                           "\"\xff\"", "\"\\ud800\"", "01", "1.",   "+1",         "// x\n1", "1 2", "]",   "{1:2}", "\x01"})
    EXPECT_THROW(parse_text(text), InvalidData) << text;
}

TEST(ParseJson, RefusesWhatFollowsAZeroByte) {
  EXPECT_THAT([] { parse_text(std::string_view("{}\n\0{}", 6)); }, ThrowsMessage<InvalidData>(StartsWith("a.json:2: ")));
  EXPECT_THROW(parse_text(std::string_view("\0", 1)), InvalidData);
}

TEST(ParseJson, RefusesTooDeepNestingWithoutRecursion) {
  EXPECT_EQ(parse_text(std::string(200, '[') + std::string(200, ']')).as_list().size(), 1u);
  EXPECT_THAT([] { parse_text(std::string(201, '[') + std::string(201, ']')); }, ThrowsMessage<InvalidData>(HasSubstr("at most 200")));
  EXPECT_THROW(parse_text(std::string(1'000'000, '[')), InvalidData);
  std::string tables;
  for (int i = 0; i < 100'000; ++i) tables += "{\"a\":";
  EXPECT_THROW(parse_text(tables), InvalidData);
}

TEST(ParseJson, LastOfDuplicateKeysCountsUnlessTheyAreRefused) {
  const Value value = parse_text(R"({"a": 1, "b": 2, "a": 3, "c": 4, "a": 5})");
  EXPECT_EQ(to_json(value), R"({"a":5,"b":2,"c":4})");
  EXPECT_THAT([] { parse_json("{\"a\": 1,\n\"a\": 3}", "a.json", DuplicateKeys::refuse); },
              ThrowsMessage<InvalidData>(HasSubstr("a.json:2: the key \"a\" occurs twice")));
  EXPECT_EQ(parse_json(R"({"a": {"a": 1}})", "a.json", DuplicateKeys::refuse).find_path("a.a")->as_integer(), 1);
}

TEST(ParseJson, ManyKeysTakeNoQuadraticTime) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += format("\"{}\":0,", i % 200'000);
  text += "\"last\":1}";
  EXPECT_EQ(parse_text(text).as_table().size(), 200'001u);
}

TEST(ParseJson, QuotesLittleOfALongBadText) {
  try {
    parse_text("\"" + std::string(1'000'000, 'x'));
    FAIL() << "accepted";
  } catch (const InvalidData& error) {
    EXPECT_LT(std::string(error.what()).size(), 400u);
  }
}

TEST(ToJson, WritesOneLineInTheOrderOfTheKeys) {
  Value value;
  value.set("z", Value::List{1, true, nullptr, "ä\"\\\n\x01/"});
  value.set("a", Value::table());
  value.set("e", Value::list());
  EXPECT_EQ(to_json(value), "{\"z\":[1,true,null,\"ä\\\"\\\\\\n\\u0001/\"],\"a\":{},\"e\":[]}");
}

TEST(ToJson, WritesDoublesInTheShortestFormThatReadsBack) {
  EXPECT_EQ(to_json(1.0), "1.0");
  EXPECT_EQ(to_json(0.1), "0.1");
  EXPECT_EQ(to_json(-0.0), "-0.0");
  EXPECT_EQ(to_json(1e22), "1e+22");
  EXPECT_EQ(to_json(Value::List{std::nan(""), INFINITY, -INFINITY}), "[null,null,null]");
  std::uint64_t bits = 88172645463325252;
  for (int i = 0; i < 2000; ++i) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;  // xorshift
    const double number = std::bit_cast<double>(bits);
    if (!std::isfinite(number)) continue;
    EXPECT_EQ(parse_text(to_json(number)), Value(number)) << to_json(number);
  }
}

TEST(ToJson, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(to_json("a\xff"
                    "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
}

TEST(ToJson, IsReadBackUnchanged) {
  const char* text = R"({"a":[{"b":[[1,2.5,"x"],{"c":null}]},false],"d":{"e":{"f":-3}}})";
  EXPECT_EQ(to_json(parse_text(text)), text);
}

TEST(ToPrettyJson, IndentsByTwoSpaces) {
  Value value;
  value.set("list", Value::List{1, Value::list()});
  value.set("table", Value::table()).set("x", 1.5);
  EXPECT_EQ(to_pretty_json(value), "{\n  \"list\": [\n    1,\n    []\n  ],\n  \"table\": {\n    \"x\": 1.5\n  }\n}");
  EXPECT_EQ(parse_text(to_pretty_json(value)), value);
}

}  // namespace
}  // namespace attend::io
