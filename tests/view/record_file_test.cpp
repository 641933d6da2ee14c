#include "attend/view/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "attend/io/safetensors.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/view/alignment.h"

namespace attend::view {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Example looked_at() {
  Example example{"e", {"a", "b"}, {"x"}, {}};
  example.picture = Picture{1, 2, 1, {7, 9}};
  example.sound = Sound{100, {0.25f}};
  example.items.push_back(alignment(1, example, {0.25f, 0.75f}));
  return example;
}

TEST(RecordFile, GivesNumbersWhenAskedForThem) {
  const fixtures::TemporaryFolder folder;
  write_record(folder.path() / "a.attn", {{looked_at()}});
  const RecordFile file = RecordFile::open(folder.path() / "a.attn");
  ASSERT_EQ(file.examples().size(), 1u);
  const Example& example = file.examples()[0];
  EXPECT_THAT(example.source, ElementsAre("a", "b"));
  ASSERT_EQ(example.items.size(), 1u);
  EXPECT_THAT(example.items[0].shape, ElementsAre(1, 1, 2));
  EXPECT_THAT(example.items[0].weights, IsEmpty());
  EXPECT_EQ(example.picture->width, 2);
  EXPECT_THAT(example.picture->pixels, IsEmpty());
  EXPECT_THAT(file.item(0, 0).weights, ElementsAre(0.25f, 0.75f));
  EXPECT_THAT(file.picture(0).pixels, ElementsAre(7, 9));
  EXPECT_THAT(file.sound(0).samples, ElementsAre(0.25f));
}

TEST(RecordFile, HasNoMoreThanItHas) {
  const fixtures::TemporaryFolder folder;
  Example example = looked_at();
  example.picture.reset();
  example.sound.reset();
  write_record(folder.path() / "a.attn", {{example}});
  const RecordFile file = RecordFile::open(folder.path() / "a.attn");
  EXPECT_THROW(file.item(0, 1), std::out_of_range);
  EXPECT_THROW(file.item(1, 0), std::out_of_range);
  EXPECT_THROW(file.picture(0), std::out_of_range);
  EXPECT_THROW(file.sound(0), std::out_of_range);
}

// A recording whose one item is described by `kept`, with tensors w [1, 1, 1] and k of `type`, whose bytes are all `byte`.
void write_shortened(const std::filesystem::path& file, const std::string& kept, io::ElementType type, std::byte byte, const std::string& more = "") {
  const std::vector<std::byte> zeros(4), keys(io::size_of(type), byte), pixels(6);
  const std::map<std::string, io::TensorView> tensors = {
      {"w", {io::ElementType::float32, {1, 1, 1}, zeros}}, {"k", {type, {1, 1, 1}, keys}}, {"p", {io::ElementType::uint8, {1, 2, 3}, pixels}}, {"q", {io::ElementType::uint8, {6}, pixels}}};
  const std::string item = R"({"module":"m","kind":"alignment","tensor":"w","axes":["head","target","source"],"heads":1,"layer":0,"shape":[1,1,2],"kept":)" + kept + "}";
  io::write_safetensors(file, tensors, {{"attend.record", R"({"format":1,"examples":[{"id":"e","source":["a","b"],"target":["x"],)" + more + R"("items":[)" + item + "]}]}"}});
}

std::string complaint_of(const std::filesystem::path& path) {
  try {
    RecordFile::open(path).item(0, 0);
  } catch (const InvalidData& error) {
    return error.what();
  }
  return "none";
}

TEST(RecordFile, RefusesShortenedItemsThatDoNotFit) {
  const fixtures::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.attn";
  const std::string top = R"({"form":"top-k","k":1,"keys":"k"})";
  write_shortened(file, top, io::ElementType::int32, std::byte{0});
  EXPECT_EQ(complaint_of(file), "none");
  write_shortened(file, top, io::ElementType::int64, std::byte{0xFF});
  EXPECT_EQ(complaint_of(file), "none") << "−1: no key";
  write_shortened(file, top, io::ElementType::int64, std::byte{1});
  EXPECT_THAT(complaint_of(file), HasSubstr("example 0: item 0: \"m\" (alignment): expected keys from 0 to 1"));
  write_shortened(file, top, io::ElementType::float32, std::byte{0});
  EXPECT_THAT(complaint_of(file), HasSubstr("expected keys of type I32 or I64, tensor \"k\" has F32"));
  write_shortened(file, R"({"form":"top-k","k":2,"keys":"k"})", io::ElementType::int32, std::byte{0});
  EXPECT_THAT(complaint_of(file), HasSubstr("expected shape [1, 1, 2] of tensor \"w\", got [1, 1, 1]"));
  write_shortened(file, R"({"form":"topk"})", io::ElementType::int32, std::byte{0});
  EXPECT_THAT(complaint_of(file), HasSubstr("unknown form \"topk\"; did you mean \"top-k\"?"));
  write_shortened(file, R"({"form":"thumbnail","block":[2]})", io::ElementType::int32, std::byte{0});
  EXPECT_THAT(complaint_of(file), HasSubstr("expected \"block\" as [rows, columns], got 1 numbers"));
  write_shortened(file, R"({"form":"thumbnail","block":[9223372036854775807,2]})", io::ElementType::int32, std::byte{0});
  EXPECT_EQ(complaint_of(file), "none") << "one block holds all";
}

TEST(RecordFile, RefusesPicturesAndSoundsThatAreNone) {
  const fixtures::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.attn";
  const auto complaint_with = [&](const std::string& more) {
    write_shortened(file, R"({"form":"top-k","k":1,"keys":"k"})", io::ElementType::int32, std::byte{0}, more + ",");
    return complaint_of(file);
  };
  EXPECT_EQ(complaint_with(R"("picture":"p")"), "none");
  EXPECT_THAT(complaint_with(R"("picture":"q")"), HasSubstr("expected a picture as [height, width, 1 or 3], tensor \"q\" has shape [6]"));
  EXPECT_THAT(complaint_with(R"("picture":"w")"), HasSubstr("expected a picture of type U8"));
  EXPECT_THAT(complaint_with(R"("sound":{"tensor":"w","rate":1})"), HasSubstr("expected a sound of one channel"));
  EXPECT_THAT(complaint_with(R"("sentences":[1])"), HasSubstr("expected sentences that hold its 2 source tokens together"));
}

}  // namespace
}  // namespace attend::view
