#include "attend/view/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <span>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "attend/io/file.h"
#include "attend/io/safetensors.h"
#include "tests/view/alignment.h"

namespace attend::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RecordFile : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A container with one tensor "t" of `shape` and this text as its record.
  void write_container(const std::string& record, const std::vector<std::int64_t>& shape, io::ElementType type = io::ElementType::float32) {
    std::size_t count = io::size_of(type);
    for (const std::int64_t length : shape) count *= static_cast<std::size_t>(length);
    const std::vector<std::byte> zeros(count);
    io::write_safetensors(file_, {{"t", {type, shape, zeros}}}, {{"attend.record", record}});
  }

  // One example with sources a b, target x, and one item as given.
  void write_item(const std::string& item, const std::vector<std::int64_t>& shape, io::ElementType type = io::ElementType::float32) {
    write_container(R"({"format":1,"examples":[{"id":"e","source":["a","b"],"target":["x"],"items":[)" + item + "]}]}", shape, type);
  }

  // The message of the InvalidData that reading throws.
  std::string message_of_reading() const {
    try {
      read_record(file_);
    } catch (const InvalidData& error) {
      EXPECT_THAT(error.what(), StartsWith(file_.string()));
      return error.what();
    }
    return "nothing was thrown";
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / format("attend-record-{}", getpid());
  std::filesystem::path file_ = folder_ / "a.attn";
};

const std::string good_item =
    R"({"module":"m","kind":"alignment","tensor":"t","axes":["head","target","source"],"heads":1,"layer":0})";

std::string changed_item(const std::string& from, const std::string& to) {
  std::string item = good_item;
  return item.replace(item.find(from), from.size(), to);
}

Record two_examples() {
  Record record;
  record.examples.push_back({"news-1", {"the", "cat"}, {"le", "chat", "."}, {}});
  const std::vector<float> weights{1, 0, 0.25f, 0.75f, nan_weight, nan_weight, 0, 1, 0.5f, 0.5f, -0.0f, 3};
  record.examples[0].items.push_back({.module = "decoder.attention", .axes = {"head", "target", "source"}, .heads = 2, .layer = 1,
                                      .shape = {2, 3, 2}, .weights = weights});
  record.examples[0].items.push_back({.module = "encoder.layers.0", .kind = Kind::self, .axes = {"head", "source", "source"},
                                      .shape = {1, 2, 2}, .weights = {0.9f, 0.1f, 0.2f, 0.8f}});
  record.examples.push_back({"", {"\"quoted\"", "日本", "\n"}, {}, {}});
  record.examples[1].items.push_back({.module = "gate", .kind = Kind::channel, .axes = {"channel"}, .shape = {3}, .weights = {1, 2, 3}});
  return record;
}

TEST_F(RecordFile, ComesBackAsItWas) {
  const Record written = two_examples();
  write_record(file_, written);
  const Record read = read_record(file_);
  ASSERT_EQ(read.examples.size(), 2u);
  for (std::size_t e = 0; e < 2; ++e) {
    const Example &a = written.examples[e], &b = read.examples[e];
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.source, b.source);
    EXPECT_EQ(a.target, b.target);
    ASSERT_EQ(a.items.size(), b.items.size());
    for (std::size_t i = 0; i < a.items.size(); ++i) {
      EXPECT_EQ(a.items[i].module, b.items[i].module);
      EXPECT_EQ(a.items[i].kind, b.items[i].kind);
      EXPECT_EQ(a.items[i].axes, b.items[i].axes);
      EXPECT_EQ(a.items[i].heads, b.items[i].heads);
      EXPECT_EQ(a.items[i].layer, b.items[i].layer);
      EXPECT_EQ(a.items[i].shape, b.items[i].shape);
      EXPECT_THAT(b.items[i].weights, ::testing::Pointwise(::testing::NanSensitiveFloatEq(), a.items[i].weights));
    }
  }
}

TEST_F(RecordFile, TheSameRecordGivesTheSameBytes) {
  write_record(file_, two_examples());
  const std::string first = io::read_file(file_);
  write_record(file_, two_examples());
  EXPECT_EQ(io::read_file(file_), first);
}

TEST_F(RecordFile, MayBeEmpty) {
  write_record(file_, {});
  EXPECT_THAT(read_record(file_).examples, IsEmpty());
}

TEST_F(RecordFile, HoldsTheSmallestMaps) {
  Record record;
  const std::vector<std::string> axes{"head", "target", "source"};
  record.examples.push_back({"none", {}, {}, {{.module = "m", .axes = axes, .shape = {1, 0, 0}}}});
  record.examples.push_back({"one", {"a"}, {"b"}, {{.module = "m", .axes = axes, .shape = {1, 1, 1}, .weights = {0.5f}}}});
  write_record(file_, record);
  const Record read = read_record(file_);
  EXPECT_THAT(read.examples[0].items[0].shape, ElementsAre(1, 0, 0));
  EXPECT_THAT(read.examples[0].items[0].weights, IsEmpty());
  EXPECT_THAT(read.examples[1].items[0].weights, ElementsAre(0.5f));
}

TEST_F(RecordFile, IsASafetensorsContainer) {
  write_record(file_, two_examples());
  const auto container = io::SafetensorsFile::read(file_);
  EXPECT_THAT(container.tensor("example.0.item.0").shape, ElementsAre(2, 3, 2));
  EXPECT_THAT(container.meta("attend.record"), StartsWith(R"({"format":1,"examples":[{"id":"news-1","source":["the","cat"],)"));
}

TEST_F(RecordFile, TextsThatAreNotUtf8AreMended) {
  Record record;
  record.examples.push_back({"\xFF", {"a\xC3"}, {}, {}});
  write_record(file_, record);
  EXPECT_EQ(read_record(file_).examples[0].source[0], "a\uFFFD");
}

TEST_F(RecordFile, WhatOthersWriteIsRead) {
  write_item(good_item, {1, 1, 2}, io::ElementType::float64);
  EXPECT_THAT(read_record(file_).examples[0].items[0].weights, ElementsAre(0, 0));
  write_item(changed_item("\"heads\"", R"("colour":"blue","heads")"), {1, 1, 2});
  EXPECT_EQ(read_record(file_).examples[0].items[0].module, "m");
}

TEST_F(RecordFile, RefusesWhatIsNoRecording) {
  EXPECT_THROW(read_record(folder_ / "missing.attn"), SystemError);
  io::write_file(file_, "this is a letter to my grandmother, not a recording");
  EXPECT_NE(message_of_reading(), "nothing was thrown");
  io::write_file(file_, "");
  EXPECT_NE(message_of_reading(), "nothing was thrown");
  io::write_safetensors(file_, {}, {{"attend.model", "{}"}});
  EXPECT_THAT(message_of_reading(), HasSubstr("not a recording: it has no metadata \"attend.record\"; expected what `attend predict"));
  write_container("{not json", {});
  EXPECT_THAT(message_of_reading(), HasSubstr("attend.record"));
  write_container("[]", {});
  EXPECT_THAT(message_of_reading(), HasSubstr("has no format number"));
  write_container(R"({"format":"1","examples":[]})", {});
  EXPECT_THAT(message_of_reading(), HasSubstr("has no format number"));
  write_container(R"({"format":2,"examples":[]})", {});
  EXPECT_THAT(message_of_reading(), HasSubstr("a recording of format 2, but this attend reads 1 at most; update attend"));
  write_container(R"({"format":1})", {});
  EXPECT_THAT(message_of_reading(), HasSubstr("examples"));
}

TEST_F(RecordFile, RefusesItemsThatDoNotFit) {
  write_item(changed_item("alignment", "alinement"), {1, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("example 0: item 0: unknown kind \"alinement\"; did you mean \"alignment\"?"));
  write_item(changed_item("\"t\"", "\"u\""), {1, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("tensor \"u\" is missing"));
  write_item(good_item, {1, 1, 2}, io::ElementType::int64);
  EXPECT_THAT(message_of_reading(), HasSubstr("expected weights of type F32 or F64, tensor \"t\" has I64"));
  write_item(good_item, {1, 1, 3});
  EXPECT_THAT(message_of_reading(), HasSubstr("expected 2 along axis 2 (\"source\"), as many as the example says, got 3"));
  write_item(good_item, {2, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("expected 1 along axis 0 (\"head\")"));
  write_item(good_item, {1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("expected a name for each of the 2 dimensions"));
  write_item(changed_item("\"target\",\"source\"", "\"source\",\"target\""), {1, 2, 1});
  EXPECT_THAT(message_of_reading(), HasSubstr("expected axes [head, target, source] for an alignment, got [head, source, target]"));
  write_item(changed_item("\"heads\":1", "\"heads\":0"), {0, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("expected at least 1 head"));
  write_item(changed_item("\"layer\":0", "\"layer\":-1"), {1, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("layer -1"));
  write_item(changed_item("\"module\":\"m\",", ""), {1, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("module"));
  write_item(changed_item("\"heads\":1", "\"heads\":\"one\""), {1, 1, 2});
  EXPECT_THAT(message_of_reading(), HasSubstr("expected an integer"));
}

TEST_F(RecordFile, WritingRefusesWhatReadingWould) {
  Record record = two_examples();
  record.examples[0].items[1].axes = {"head", "source", "target"};
  try {
    write_record(file_, record);
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("example 0: item 1: \"encoder.layers.0\" (self): expected axes [head, source, source]"));
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_THROW(write_record(folder_ / "no" / "such.attn", two_examples()), SystemError);
}

TEST(CheckItem, CountsTheWeights) {
  Item item{.module = "m", .kind = Kind::spatial, .axes = {"row", "column"}, .shape = {2, 2}, .weights = {1, 2, 3}};
  EXPECT_THROW(check_item({}, item), InvalidArgument);
  item.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_THROW(check_item({}, item), InvalidArgument);
  item.shape = {-1, -3};
  EXPECT_THROW(check_item({}, item), InvalidArgument);
  item.shape = {1, 3};
  EXPECT_NO_THROW(check_item({}, item));
}

TEST(Kind, HasTheNamesOfTheFormat) {
  EXPECT_EQ(name_of(Kind::alignment), "alignment");
  EXPECT_EQ(name_of(Kind::hierarchy), "hierarchy");
  EXPECT_THROW(name_of(static_cast<Kind>(99)), InvalidArgument);
}

}  // namespace
}  // namespace attend::view
