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

class RecordedFile : public ::testing::Test {
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

TEST_F(RecordedFile, ComesBackAsItWas) {
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

// A picture, a sound, sentences, and an item of each form.
Record one_of_everything() {
  Record record;
  Example& example = record.examples.emplace_back();
  example.id = "all";
  example.source = {"a", "b", "c"};
  example.target = {"x", "y"};
  example.picture = Picture{2, 1, 3, {1, 2, 3, 253, 254, 255}};
  example.sound = Sound{8000, {0, 0.5f, -1}};
  example.sentences = {2, 0, 1};
  const std::vector<std::string> axes{"head", "target", "source"};
  example.items.push_back({.module = "top", .axes = axes, .shape = {1, 2, 3}, .weights = {0.75f, 0.25f, 1, 0}, .form = Form::top_k, .k = 2, .keys = {2, 0, 1, -1}, .entropy = {0.8f, 0}});
  example.items.push_back({.module = "mean", .axes = axes, .shape = {1, 2, 3}, .weights = {0.5f, nan_weight}, .form = Form::thumbnail, .block = {2, 2}});
  example.items.push_back({.module = "says", .kind = Kind::hierarchy, .axes = {"sentence"}, .shape = {3}, .weights = {0.7f, 0.1f, 0.2f}});
  example.items.push_back({.module = "words", .kind = Kind::hierarchy, .axes = {"source"}, .shape = {3}, .weights = {0.5f, 0.5f, 1}});
  example.items.push_back({.module = "eye", .kind = Kind::glimpse, .axes = {"step", "coordinate"}, .shape = {1, 4}, .weights = {0.1f, 0.2f, 0.3f, 0.4f}});
  return record;
}

TEST_F(RecordedFile, HoldsPicturesSoundsSentencesAndShortenedItems) {
  write_record(file_, one_of_everything());
  const Record read = read_record(file_);
  const Example &example = read.examples.at(0), wanted = one_of_everything().examples[0];
  ASSERT_TRUE(example.picture && example.sound);
  EXPECT_EQ(example.picture->height, 2);
  EXPECT_EQ(example.picture->width, 1);
  EXPECT_EQ(example.picture->pixels, wanted.picture->pixels);
  EXPECT_EQ(example.sound->rate, 8000);
  EXPECT_EQ(example.sound->samples, wanted.sound->samples);
  EXPECT_EQ(example.sentences, wanted.sentences);
  ASSERT_EQ(example.items.size(), wanted.items.size());
  for (std::size_t i = 0; i < wanted.items.size(); ++i) {
    EXPECT_EQ(example.items[i].form, wanted.items[i].form);
    EXPECT_EQ(example.items[i].shape, wanted.items[i].shape);
    EXPECT_EQ(example.items[i].k, wanted.items[i].k);
    EXPECT_EQ(example.items[i].keys, wanted.items[i].keys);
    EXPECT_EQ(example.items[i].block, wanted.items[i].block);
    EXPECT_EQ(example.items[i].entropy, wanted.items[i].entropy);
    EXPECT_THAT(example.items[i].weights, ::testing::Pointwise(::testing::NanSensitiveFloatEq(), wanted.items[i].weights));
  }
}

TEST_F(RecordedFile, TheSameRecordGivesTheSameBytes) {
  write_record(file_, two_examples());
  const std::string first = io::read_file(file_);
  write_record(file_, two_examples());
  EXPECT_EQ(io::read_file(file_), first);
}

TEST_F(RecordedFile, MayBeEmpty) {
  write_record(file_, {});
  EXPECT_THAT(read_record(file_).examples, IsEmpty());
}

TEST_F(RecordedFile, HoldsTheSmallestMaps) {
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

TEST_F(RecordedFile, IsASafetensorsContainer) {
  write_record(file_, two_examples());
  const auto container = io::SafetensorsFile::read(file_);
  EXPECT_THAT(container.tensor("example.0.item.0").shape, ElementsAre(2, 3, 2));
  EXPECT_THAT(container.meta("attend.record"), StartsWith(R"({"format":1,"examples":[{"id":"news-1","source":["the","cat"],)"));
}

TEST_F(RecordedFile, TextsThatAreNotUtf8AreMended) {
  Record record;
  record.examples.push_back({"\xFF", {"a\xC3"}, {}, {}});
  write_record(file_, record);
  EXPECT_EQ(read_record(file_).examples[0].source[0], "a\uFFFD");
}

TEST_F(RecordedFile, WhatOthersWriteIsRead) {
  write_item(good_item, {1, 1, 2}, io::ElementType::float64);
  EXPECT_THAT(read_record(file_).examples[0].items[0].weights, ElementsAre(0, 0));
  write_item(changed_item("\"heads\"", R"("colour":"blue","heads")"), {1, 1, 2});
  EXPECT_EQ(read_record(file_).examples[0].items[0].module, "m");
}

TEST_F(RecordedFile, RefusesWhatIsNoRecording) {
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

TEST_F(RecordedFile, RefusesItemsThatDoNotFit) {
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

TEST_F(RecordedFile, WritingRefusesWhatReadingWould) {
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

// What check_item() says of `item` of an example with three source and two target tokens.
std::string complaint_about(const Item& item, std::vector<std::int64_t> sentences = {}) {
  Example example{"e", {"a", "b", "c"}, {"x", "y"}, {}};
  example.sentences = std::move(sentences);
  try {
    check_item(example, item);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "none";
}

TEST(CheckItem, LooksAtShortenedItems) {
  const std::vector<std::string> axes{"head", "target", "source"};
  const Item top{.module = "m", .axes = axes, .shape = {1, 2, 3}, .weights = {1, 1}, .form = Form::top_k, .k = 1, .keys = {0, 2}};
  EXPECT_EQ(complaint_about(top), "none");
  Item item = top;
  item.k = 4;
  EXPECT_THAT(complaint_about(item), HasSubstr("expected k from 0 to its 3 columns, got 4"));
  item = top;
  item.keys[1] = 3;
  EXPECT_THAT(complaint_about(item), HasSubstr("expected keys from 0 to 2, or −1 where a row has fewer, got 3"));
  item = top;
  item.keys.pop_back();
  EXPECT_THAT(complaint_about(item), HasSubstr("got 1 keys and 2 weights"));
  item = top;
  item.entropy = {1};
  EXPECT_THAT(complaint_about(item), HasSubstr("expected an entropy for each of 2 rows, got 1"));
  const Item mean{.module = "m", .axes = axes, .shape = {1, 2, 3}, .weights = {1, 1}, .form = Form::thumbnail, .block = {2, 2}};
  EXPECT_EQ(complaint_about(mean), "none");
  item = mean;
  item.block = {0, 2};
  EXPECT_THAT(complaint_about(item), HasSubstr("expected blocks of at least 1 × 1, got 0 × 2"));
  item = {.module = "m", .kind = Kind::channel, .axes = {"channel"}, .shape = {3}, .weights = {1}, .form = Form::thumbnail, .block = {3, 3}};
  EXPECT_THAT(complaint_about(item), HasSubstr("expected two axes or more for the form \"thumbnail\""));
}

TEST(CheckItem, LooksAtGlimpsesAndHierarchies) {
  EXPECT_THAT(complaint_about({.module = "m", .kind = Kind::glimpse, .axes = {"step", "coordinate"}, .shape = {1, 3}, .weights = {0, 0, 1}}), HasSubstr("left, top, width, height"));
  const Item words{.module = "m", .kind = Kind::hierarchy, .axes = {"source"}, .shape = {3}, .weights = {1, 1, 1}};
  EXPECT_THAT(complaint_about(words), HasSubstr("give its \"sentences\""));
  EXPECT_EQ(complaint_about(words, {1, 2}), "none");
  EXPECT_THAT(complaint_about({.module = "m", .kind = Kind::hierarchy, .axes = {"sentence"}, .shape = {3}, .weights = {1, 1, 1}}, {1, 2}), HasSubstr("expected 2 along axis 0"));
  EXPECT_THAT(complaint_about({.module = "m", .kind = Kind::hierarchy, .axes = {"word"}, .shape = {1}, .weights = {1}}, {1, 2}), HasSubstr("[sentence] or [source]"));
}

TEST(CheckExample, LooksAtPictureSoundAndSentences) {
  Example example = one_of_everything().examples[0];
  EXPECT_NO_THROW(check_example(example));
  example.picture->pixels.pop_back();
  EXPECT_THROW(check_example(example), InvalidArgument);
  example = one_of_everything().examples[0];
  example.picture->channels = 2;
  EXPECT_THROW(check_example(example), InvalidArgument);
  example = one_of_everything().examples[0];
  example.sound->rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(check_example(example), InvalidArgument);
  for (const std::vector<std::int64_t>& sentences : {std::vector<std::int64_t>{2}, {4, -1}, {std::int64_t{1} << 62, 3}}) {
    example = one_of_everything().examples[0];
    example.sentences = sentences;
    EXPECT_THROW(check_example(example), InvalidArgument);
  }
}

TEST(Merge, JoinsItemsOfTheSameExample) {
  Record record = two_examples();
  Record more = two_examples();
  more.examples[0].items.resize(1);
  more.examples[0].items[0].module = "other";
  more.examples[1].source.emplace_back("more");
  merge(record, more);
  ASSERT_EQ(record.examples.size(), 3u) << "the second example has other tokens";
  ASSERT_EQ(record.examples[0].items.size(), 3u);
  EXPECT_EQ(record.examples[0].items[2].module, "other");
  EXPECT_EQ(record.examples[2].source.back(), "more");
}

TEST(Merge, KeepsPicturesApart) {
  Record record = one_of_everything(), more = one_of_everything();
  record.examples[0].picture.reset();
  merge(record, more);
  ASSERT_EQ(record.examples.size(), 1u);
  EXPECT_TRUE(record.examples[0].picture);
  more.examples[0].picture->pixels[0] = 77;
  merge(record, more);
  EXPECT_EQ(record.examples.size(), 2u);
}

TEST(Kind, HasTheNamesOfTheFormat) {
  EXPECT_EQ(name_of(Kind::alignment), "alignment");
  EXPECT_EQ(name_of(Kind::hierarchy), "hierarchy");
  EXPECT_THROW(name_of(static_cast<Kind>(99)), InvalidArgument);
  EXPECT_EQ(name_of(Form::top_k), "top-k");
  EXPECT_THROW(name_of(static_cast<Form>(99)), InvalidArgument);
}

}  // namespace
}  // namespace attend::view
