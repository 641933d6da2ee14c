#include "attend/io/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "attend/base/error.h"

namespace attend::io {
namespace {

using testing::HasSubstr;
using testing::StrEq;
using testing::ThrowsMessage;

TEST(Value, HoldsEachKind) {
  EXPECT_EQ(Value().kind(), "null");
  EXPECT_EQ(Value(true).kind(), "a boolean");
  EXPECT_EQ(Value(1).kind(), "an integer");
  EXPECT_EQ(Value(1.5f).kind(), "a number");
  EXPECT_EQ(Value("x").kind(), "a text");
  EXPECT_EQ(Value::list().kind(), "a list");
  EXPECT_EQ(Value::table().kind(), "a table");
  EXPECT_TRUE(Value(true).as_bool());
  EXPECT_EQ(Value(std::size_t{7}).as_integer(), 7);
  EXPECT_EQ(Value(3).as_number(), 3.0);
  EXPECT_EQ(Value(2.5).as_number(), 2.5);
  EXPECT_EQ(Value(std::string_view("text")).as_text(), "text");
  EXPECT_EQ(Value(Value::List{1, "two"}).as_list().size(), 2u);
}

TEST(Value, DoesNotTakeAPointerForABool) {
  EXPECT_FALSE((std::is_constructible_v<Value, int*>));
  EXPECT_TRUE(Value(nullptr).is_null());
  EXPECT_TRUE(Value(0).is_integer());
}

TEST(Value, SaysWhatWasExpectedAndWhatItHolds) {
  EXPECT_THAT([] { (void)Value::list().as_text(); }, ThrowsMessage<InvalidArgument>(StrEq("expected a text, got a list")));
  EXPECT_THAT([] { (void)Value(1.5).as_integer(); }, ThrowsMessage<InvalidArgument>(StrEq("expected an integer, got a number")));
  EXPECT_THAT([] { (void)Value("1").as_number(); }, ThrowsMessage<InvalidArgument>(StrEq("expected a number, got a text")));
  EXPECT_THAT([] { (void)Value().as_bool(); }, ThrowsMessage<InvalidArgument>(StrEq("expected a boolean, got null")));
  EXPECT_THROW(Value(1).as_list(), InvalidArgument);
  EXPECT_THROW(Value(1).as_table(), InvalidArgument);
  EXPECT_THROW(Value(1).append(2), InvalidArgument);
  EXPECT_THROW(Value(1).set("key", 2), InvalidArgument);
}

TEST(Value, TableKeepsTheOrderOfItsKeys) {
  Value table = Value::table();
  table.set("zebra", 1);
  table.set("ape", 2);
  table.set("zebra", 3);
  ASSERT_EQ(table.as_table().size(), 2u);
  EXPECT_EQ(table.as_table()[0].first, "zebra");
  EXPECT_EQ(table.at("zebra").as_integer(), 3);
  table.find("ape")->set_line(4);
  EXPECT_EQ(table.at("ape").line(), 4);
  EXPECT_EQ(table.find("cat"), nullptr);
  EXPECT_EQ(Value(1).find("cat"), nullptr);
}

TEST(Value, AtNamesTheMissingKeyAndTheNearestOne) {
  Value table = Value::table();
  table.set("steps", 1);
  EXPECT_THAT([&] { table.at("step"); }, ThrowsMessage<InvalidArgument>(HasSubstr("\"step\", which is missing; did you mean \"steps\"?")));
  EXPECT_THAT([] { Value(1).at("step"); }, ThrowsMessage<InvalidArgument>(StrEq("expected a table, got an integer")));
}

TEST(Value, PathsRunThroughTables) {
  Value root;
  root.set_path("model.attention.score", "general");
  root.set_path("model.attention.window", "global");
  root.set_path("seed", 1);
  EXPECT_EQ(root.find_path("model.attention.score")->as_text(), "general");
  EXPECT_EQ(root.find_path("model.attention")->as_table().size(), 2u);
  EXPECT_EQ(root.find_path("seed")->as_integer(), 1);
  EXPECT_EQ(root.find_path("model.missing.score"), nullptr);
  EXPECT_EQ(root.find_path("seed.deeper"), nullptr);
  EXPECT_EQ(root.find_path(""), nullptr);
}

TEST(Value, SetPathRefusesWhatIsNoTable) {
  Value root;
  root.set_path("seed", 1);
  EXPECT_THAT([&] { root.set_path("seed.deeper", 2); },
              ThrowsMessage<InvalidArgument>(StrEq("\"seed.deeper\" cannot be set: expected a table before \"deeper\", got an integer")));
  for (const char* path : {"", ".", "a.", ".a", "a..b"}) EXPECT_THROW(root.set_path(path, 2), InvalidArgument) << path;
  EXPECT_EQ(root.as_table().size(), 1u);
}

TEST(Value, NullBecomesWhatIsPutIntoIt) {
  Value list, table;
  list.append(1);
  table.set("key", 1);
  EXPECT_EQ(list, Value(Value::List{1}));
  EXPECT_EQ(table.at("key"), Value(1));
}

TEST(Value, EqualityIgnoresLinesAndTheOrderOfKeys) {
  Value a, b;
  a.set("x", 1);
  a.set("y", "text");
  b.set("y", "text");
  b.set("x", 1).set_line(9);
  EXPECT_EQ(a, b);
  EXPECT_EQ(Value(Value::List{a}), Value(Value::List{b}));
  b.set("z", 1);
  EXPECT_NE(a, b);
  a.set("w", 1);
  EXPECT_NE(a, b);
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_NE(Value(), Value(false));
}

}  // namespace
}  // namespace attend::io
