#include "attend/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "attend/base/error.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::io {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

constexpr std::size_t length_size = 8;

template <class T>
TensorView view(ElementType type, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
  return {type, std::move(shape), std::as_bytes(std::span(elements))};
}

template <class T>
std::vector<T> elements(const TensorView& tensor) {
  std::vector<T> found(tensor.bytes.size() / sizeof(T));
  if (!found.empty()) std::memcpy(found.data(), tensor.bytes.data(), tensor.bytes.size());
  return found;
}

class SafetensorsTest : public testing::Test {
 protected:
  // Neither write_file() nor over the old file: some file systems then wait for the disk, thousands of times.
  void put(std::string_view bytes) const {
    fs::remove(file);
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void put_parts(std::string_view header, std::string_view data) const {
    std::string length;
    for (std::size_t i = 0; i < length_size; ++i) length += static_cast<char>(header.size() >> (8 * i));
    put(length + std::string(header) + std::string(data));
  }

  SafetensorsFile read() const { return SafetensorsFile::read(file); }

  // What is said of a file that must be refused; it begins with the file's name.
  std::string refusal() const {
    try {
      read();
    } catch (const InvalidData& error) {
      const std::string what = error.what();
      EXPECT_THAT(what, StartsWith(file.string() + ": "));
      return what.substr(file.string().size() + 2);
    }
    return "nothing: it was accepted";
  }

  std::string refusal_of(std::string_view header, std::string_view data = "") const {
    put_parts(header, data);
    return refusal();
  }

  void write_small() const {
    write_safetensors(file, {{"weight", view(ElementType::float32, {2, 1}, numbers)}, {"mask", view(ElementType::boolean, {3}, flags)}},
                      {{"attend.record", "{\"a\": \"b\"}"}, {"k", "v"}});
  }

  const fixtures::TemporaryFolder temporary;
  const fs::path file = temporary.path() / "a.safetensors";
  const std::vector<float> numbers = {1.5f, -2.0f};
  const std::vector<std::uint8_t> flags = {1, 0, 1};
};

using WriteSafetensors = SafetensorsTest;
using ReadSafetensors = SafetensorsTest;
using ReadHostileSafetensors = SafetensorsTest;

TEST(ElementTypes, HaveTheContainersNamesAndSizes) {
  EXPECT_EQ(name_of(ElementType::boolean), "BOOL");
  EXPECT_EQ(name_of(ElementType::bfloat16), "BF16");
  EXPECT_EQ(name_of(ElementType::int64), "I64");
  EXPECT_EQ(size_of(ElementType::uint8), 1u);
  EXPECT_EQ(size_of(ElementType::float16), 2u);
  EXPECT_EQ(size_of(ElementType::int32), 4u);
  EXPECT_EQ(size_of(ElementType::float64), 8u);
  EXPECT_THROW(name_of(static_cast<ElementType>(99)), InvalidArgument);
}

TEST_F(WriteSafetensors, IsReadBackUnchanged) {
  const std::vector<double> doubles = {0.1, 1e300};
  const std::vector<std::int64_t> integers = {-1};
  const std::vector<std::uint8_t> nothing;
  write_safetensors(file,
                    {{"a \"quoted\" ä name", view(ElementType::float64, {1, 2}, doubles)},
                     {"scalar", view(ElementType::int64, {}, integers)},
                     {"empty", view(ElementType::float32, {0, 3}, nothing)},
                     {"flags", view(ElementType::boolean, {3}, flags)}},
                    {{"attend.record", "{\"format\": 1}\n"}, {"empty", ""}});
  const SafetensorsFile result = read();
  EXPECT_EQ(result.path(), file);
  EXPECT_EQ(result.tensors().size(), 4u);
  EXPECT_EQ(elements<double>(result.tensor("a \"quoted\" ä name")), doubles);
  EXPECT_THAT(result.tensor("a \"quoted\" ä name").shape, ElementsAre(1, 2));
  EXPECT_EQ(elements<std::int64_t>(result.tensor("scalar")), integers);
  EXPECT_TRUE(result.tensor("scalar").shape.empty());
  EXPECT_TRUE(result.tensor("empty").bytes.empty());
  EXPECT_EQ(elements<std::uint8_t>(result.tensor("flags")), flags);
  EXPECT_EQ(result.meta("attend.record"), "{\"format\": 1}\n");
  EXPECT_EQ(result.meta("empty"), "");
  EXPECT_EQ(result.meta("attend.format"), "1");
}

TEST_F(WriteSafetensors, GivesTheBytesOfTheFormat) {
  write_small();
  std::string bytes = read_file(file);
  const std::string mark = "\"attend.header_crc32c\":\"";
  const std::size_t digits = bytes.find(mark) + mark.size();
  ASSERT_LT(digits, bytes.size());
  const std::string header_sum = bytes.substr(digits, 8);
  bytes.replace(digits, 8, "00000000");
  const std::string data("\0\0\xc0\x3f\0\0\0\xc0\1\0\1", 11);
  const std::string data_sum = format("{:08x}", crc32c(std::as_bytes(std::span(data))));
  std::string header =
      "{\"__metadata__\":{\"attend.crc32c\":\"" + data_sum +
      "\",\"attend.format\":\"1\",\"attend.header_crc32c\":\"00000000\",\"attend.record\":\"{\\\"a\\\": \\\"b\\\"}\",\"k\":\"v\"},"
      "\"weight\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
      "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[8,11]}}";
  while (header.size() % 8) header += ' ';
  EXPECT_EQ(header_sum, format("{:08x}", crc32c(std::as_bytes(std::span(header)))));
  std::string length;
  for (std::size_t i = 0; i < length_size; ++i) length += static_cast<char>(header.size() >> (8 * i));
  EXPECT_EQ(bytes, length + header + data);
}

TEST_F(WriteSafetensors, SameInputGivesTheSameBytes) {
  write_small();
  const std::string first = read_file(file);
  write_small();
  EXPECT_EQ(read_file(file), first);
}

TEST_F(WriteSafetensors, MetadataThatWereReadCanBeWrittenAgain) {
  write_small();
  const std::string first = read_file(file);
  const SafetensorsFile result = read();
  write_safetensors(file, result.tensors(), result.metadata());
  EXPECT_EQ(read_file(file), first);
}

TEST_F(WriteSafetensors, EachTensorLiesAtAMultipleOfItsElement) {
  const std::vector<std::uint8_t> bytes(64);
  const std::span all = std::as_bytes(std::span(bytes));
  write_safetensors(file,
                    {{"a", {ElementType::boolean, {3}, all.first(3)}},
                     {"b", {ElementType::float64, {1}, all.first(8)}},
                     {"c", {ElementType::float16, {3}, all.first(6)}},
                     {"d", {ElementType::float32, {3}, all.first(12)}}},
                    {});
  const SafetensorsFile result = read();
  for (const auto& [name, tensor] : result.tensors())
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % size_of(tensor.type), 0u) << name;
}

TEST_F(WriteSafetensors, RefusesWhatDoesNotFit) {
  const auto write = [&](const std::string& name, TensorView tensor) { write_safetensors(file, {{name, std::move(tensor)}}, {}); };
  EXPECT_THAT([&] { write("a", view(ElementType::float32, {3}, numbers)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("tensor \"a\": expected 12 bytes for its type and shape, got 8")));
  EXPECT_THROW(write("a", view(ElementType::float32, {-2}, numbers)), InvalidArgument);
  EXPECT_THROW(write("a", view(ElementType::float32, {1LL << 62, 8}, numbers)), InvalidArgument);
  EXPECT_THROW(write("__metadata__", view(ElementType::float32, {2}, numbers)), InvalidArgument);
  EXPECT_THAT([&] { write("a\xff", view(ElementType::float32, {2}, numbers)); }, ThrowsMessage<InvalidArgument>(HasSubstr("UTF-8")));
  EXPECT_THROW(write_safetensors(file, {}, {{"k", "\xff"}}), InvalidArgument);
  EXPECT_THROW(write_safetensors(file, {}, {{"\xff", "v"}}), InvalidArgument);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_THROW(write_safetensors(file / "missing", {}, {}), SystemError);
}

TEST_F(WriteSafetensors, MarkOfTheSumInATextIsNotTakenForTheSum) {
  const std::string mark = "\"attend.header_crc32c\":\"";
  write_safetensors(file, {{mark + "00000000", view(ElementType::float32, {2}, numbers)}}, {{"a", mark + "12345678\""}, {mark, mark}});
  EXPECT_EQ(read().meta("a"), mark + "12345678\"");
}

TEST_F(ReadSafetensors, EveryTruncationIsRefused) {
  write_small();
  const std::string bytes = read_file(file);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    put(bytes.substr(0, size));
    EXPECT_THAT(refusal(), HasSubstr("truncated")) << size;
  }
  put(bytes + '\0');
  EXPECT_THAT(refusal(), HasSubstr("has 12 bytes of data, its tensors need 11"));
}

TEST_F(ReadSafetensors, EveryFlippedBitIsRefused) {
  write_small();
  const std::string bytes = read_file(file);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ 1 << bit);
      put(altered);
      EXPECT_THROW(read(), InvalidData) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST_F(ReadSafetensors, CopiesOutliveTheOriginal) {
  write_small();
  auto original = std::make_unique<SafetensorsFile>(read());
  const SafetensorsFile copy = *original;
  original.reset();
  EXPECT_EQ(elements<float>(copy.tensor("weight")), numbers);
}

TEST_F(ReadSafetensors, NamesWhatIsMissing) {
  write_small();
  const SafetensorsFile result = read();
  EXPECT_THAT([&] { result.tensor("weights"); },
              ThrowsMessage<InvalidData>(StrEq(file.string() + ": has no tensor \"weights\"; did you mean \"weight\"?")));
  EXPECT_THAT([&] { result.meta("attend.recrod"); },
              ThrowsMessage<InvalidData>(StrEq(file.string() + ": has no metadata \"attend.recrod\"; did you mean \"attend.record\"?")));
}

TEST_F(ReadSafetensors, ReadsFilesOfOtherPrograms) {
  // Spaces behind the header, entries out of order, members of no meaning to us, no metadata.
  put_parts(R"({"b": {"shape": [2], "data_offsets": [3, 5], "dtype": "U8", "more": null}, )"
            R"("a": {"dtype": "I8", "shape": [3, 1], "data_offsets": [0, 3]}}   )",
            "\1\2\3\4\5");
  const SafetensorsFile result = read();
  EXPECT_THAT(elements<std::uint8_t>(result.tensor("b")), ElementsAre(4, 5));
  EXPECT_THAT(elements<std::int8_t>(result.tensor("a")), ElementsAre(1, 2, 3));
  EXPECT_TRUE(result.metadata().empty());
  put_parts("{}", "");
  EXPECT_TRUE(read().tensors().empty());
  put_parts(R"({"__metadata__":{"format":"pt"}})", "");
  EXPECT_EQ(read().meta("format"), "pt");
}

TEST_F(ReadSafetensors, RefusesAnotherFormatOfOurs) {
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"attend.format":"2"}})"),
              HasSubstr("has format 2; this version of attend reads formats up to 1"));
  for (const char* number : {"", "x", "0", "-1", "1.0", "1 ", "99999999999999999999"})
    EXPECT_THAT(refusal_of("{\"__metadata__\":{\"attend.format\":\"" + std::string(number) + "\"}}"), HasSubstr("a whole number from 1"))
        << number;
}

TEST_F(ReadSafetensors, OurMetadataAreAllThereOrNone) {
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"attend.format":"1"}})"), HasSubstr("altered"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"attend.crc32c":"00000000"}})"), HasSubstr("\"attend.format\", which is missing"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"attend.header_crc32c":"00000000"}})"), HasSubstr("\"attend.format\", which is missing"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"attend.format":"1","attend.header_crc32c":"00"}})"), HasSubstr("altered"));
}

TEST_F(ReadSafetensors, MissingFileIsASystemError) { EXPECT_THROW(read(), SystemError); }

std::string tensor_entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
}

TEST_F(ReadHostileSafetensors, HeaderLengths) {
  for (const std::string_view length : {"\xff\xff\xff\xff\xff\xff\xff\xff", "\xff\xff\xff\xff\xff\xff\xff\x7f", "\x03\0\0\0\0\0\0\0"}) {
    put(std::string(length.data(), length_size) + "{}");
    EXPECT_THAT(refusal(), HasSubstr("but only 2 follow"));
  }
  put(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", length_size) + "{}");
  EXPECT_THAT(refusal(), HasSubstr("18446744073709551615"));
  put(std::string(length_size, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("its header is no JSON table"));
  {
    std::ofstream large(file, std::ios::binary);
    large.write("\x01\xe1\xf5\x05\0\0\0\0{", length_size + 1);  // 100,000,001 bytes of header, mostly a hole of the file system
    large.seekp(100'000'001 + static_cast<std::streamoff>(length_size) - 1).put('}');
  }
  EXPECT_THAT(refusal(), HasSubstr("at most 100000000 are allowed"));
}

TEST_F(ReadHostileSafetensors, Headers) {
  for (const char* header : {"[]", "1", "null", "\"x\"", " {}", "x"})
    EXPECT_THAT(refusal_of(header), HasSubstr("its header is no JSON table")) << header;
  for (const char* header : {"{", "{}}", "{\"a\":}", "{\"\xff\":1}"})
    EXPECT_THAT(refusal_of(header), StartsWith("header:1: not valid JSON")) << header;
  EXPECT_THAT(refusal_of(std::string_view("{}\0", 3)), HasSubstr("a zero byte"));
  EXPECT_THAT(refusal_of("{\"a\":" + std::string(1'000'000, '[')), HasSubstr("at most 200"));
  EXPECT_THAT(refusal_of("{\"a\":1}"), HasSubstr("tensor \"a\": expected a table, got an integer"));
  EXPECT_THAT(refusal_of("{\"a\":{}}"), HasSubstr("tensor \"a\": its \"dtype\" is missing"));
  EXPECT_THAT(refusal_of("{\"a\":{\"dtype\":\"F32\"}}"), HasSubstr("its \"shape\" is missing"));
  EXPECT_THAT(refusal_of("{\"\\u001b[31m\":1}"), HasSubstr("\\u001b"));
}

TEST_F(ReadHostileSafetensors, Metadata) {
  EXPECT_THAT(refusal_of(R"({"__metadata__":1})"), HasSubstr("expected metadata that is a table, got an integer"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"k":{}}})"), HasSubstr("expected metadata \"k\" that is a text, got a table"));
}

TEST_F(ReadHostileSafetensors, NamesThatOccurTwice) {
  const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(refusal_of("{" + entry + "," + entry + "}", "x"), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{},"__metadata__":{}})"), HasSubstr("occurs twice"));
  EXPECT_THAT(refusal_of(R"({"__metadata__":{"k":"1","k":"2"}})"), HasSubstr("occurs twice"));
}

TEST_F(ReadHostileSafetensors, TypesAndShapes) {
  for (const char* dtype : {"\"F8_E4M3\"", "\"f32\"", "\"\"", "1", "null", "[]"})
    EXPECT_THAT(refusal_of(tensor_entry(dtype, "[1]", "[0,1]"), "x"), HasSubstr("expected a dtype of BOOL, U8")) << dtype;
  for (const char* shape : {"1", "null", "[-1]", "[1.0]", "[\"1\"]", "{}", "[[1]]", "[null]"})
    EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", shape, "[0,1]"), "x"), HasSubstr("expected shape that is a list of integers from 0"))
        << shape;
  EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[9223372036854775808]", "[0,1]"), "x"), HasSubstr("expected an integer between"));
  for (const char* shape : {"[9223372036854775807,2]", "[4294967296,4294967296]", "[4294967296,4294967296,0]", "[0,9223372036854775807,2]"})
    EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", shape, "[0,0]")), HasSubstr("its shape is too large")) << shape;
  EXPECT_THAT(refusal_of(tensor_entry("\"F64\"", "[2305843009213693952]", "[0,0]")), HasSubstr("its shape is too large"));
  EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[2]", "[0,1]"), "x"), HasSubstr("type and shape need 2 bytes, data_offsets give 1"));
}

TEST_F(ReadHostileSafetensors, Offsets) {
  for (const char* offsets : {"1", "[]", "[0]", "[0,1,1]", "[1,0]", "[-1,0]", "[0.0,1.0]", "[\"0\",\"1\"]", "{}"})
    EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[1]", offsets), "x"), HasSubstr("expected data_offsets")) << offsets;
  EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[9223372036854775807]", "[0,9223372036854775807]"), "x"), HasSubstr("is truncated"));
  EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[1]", "[9223372036854775806,9223372036854775807]"), "x"), HasSubstr("is truncated"));
  EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[1]", "[1,2]"), "xy"), HasSubstr("neither overlap nor leave holes"));
  EXPECT_THAT(refusal_of(tensor_entry("\"U8\"", "[1]", "[0,1]"), "xy"), HasSubstr("has 2 bytes of data, its tensors need 1"));
  const auto two = [](const std::string& first, const std::string& second) {
    return "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + first +
           "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":" + second + "}}";
  };
  EXPECT_EQ(refusal_of(two("[0,2]", "[2,4]"), "wxyz"), "nothing: it was accepted");
  EXPECT_EQ(refusal_of(two("[2,4]", "[0,2]"), "wxyz"), "nothing: it was accepted");
  const std::string holed_or_overlapping = "neither overlap nor leave holes";
  EXPECT_THAT(refusal_of(two("[0,2]", "[1,3]"), "xyz"), HasSubstr(holed_or_overlapping));
  EXPECT_THAT(refusal_of(two("[0,2]", "[0,2]"), "xy"), HasSubstr(holed_or_overlapping));
  EXPECT_THAT(refusal_of(two("[0,2]", "[3,5]"), "vwxyz"), HasSubstr(holed_or_overlapping));
  EXPECT_THAT(refusal_of(two("[3,5]", "[1,3]"), "vwxyz"), HasSubstr(holed_or_overlapping));
}

TEST_F(ReadHostileSafetensors, VeryManyTensorsTakeNoQuadraticTime) {
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) header += format(R"("{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}},)", i, i, i + 1);
  header.back() = '}';
  put_parts(header, std::string(100'000, 'x'));
  EXPECT_EQ(read().tensors().size(), 100'000u);
}

TEST_F(ReadSafetensors, ReadsRealFilesOfOtherPrograms) {
  const char* given = std::getenv("ATTEND_SHARED");
  const fs::path folder = (given ? fs::path(given) : fs::path(ATTEND_SOURCE_DIR) / ".." / "shared") / "vectors";
  if (!fs::is_directory(folder)) GTEST_SKIP() << folder << " is missing: set ATTEND_SHARED to the folder that holds vectors/";
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    ++files;
    const SafetensorsFile result = SafetensorsFile::read(entry.path());
    EXPECT_FALSE(result.tensors().empty()) << entry.path();
    const std::string bytes = read_file(entry.path());
    put(std::string_view(bytes).substr(0, bytes.size() - 1));
    EXPECT_THROW(read(), InvalidData) << entry.path();
  }
  if (files == 0) GTEST_SKIP() << folder << " holds no .safetensors file";
}

}  // namespace
}  // namespace attend::io
