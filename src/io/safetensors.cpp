#include "attend/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

#include "attend/base/edit_distance.h"
#include "attend/base/error.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the container is little-endian, and its bytes are used as they are");

constexpr std::size_t length_size = 8;               // bytes that hold the header's length
constexpr std::size_t longest_header = 100'000'000;  // the format's own limit
constexpr std::size_t alignment = 8;
constexpr std::size_t longest_quotation = 100;  // of a name, in a message
constexpr std::string_view metadata_name = "__metadata__";
constexpr const char* format_key = "attend.format";
constexpr const char* data_sum_key = "attend.crc32c";
constexpr const char* header_sum_key = "attend.header_crc32c";
constexpr std::string_view no_sum = "00000000";

struct ElementTypeRow {
  ElementType type;
  const char* name;
  std::size_t size;
};
constexpr std::array<ElementTypeRow, 10> element_types = {{{ElementType::boolean, "BOOL", 1},
                                                           {ElementType::uint8, "U8", 1},
                                                           {ElementType::int8, "I8", 1},
                                                           {ElementType::int16, "I16", 2},
                                                           {ElementType::int32, "I32", 4},
                                                           {ElementType::int64, "I64", 8},
                                                           {ElementType::float16, "F16", 2},
                                                           {ElementType::bfloat16, "BF16", 2},
                                                           {ElementType::float32, "F32", 4},
                                                           {ElementType::float64, "F64", 8}}};

const ElementTypeRow& row_of(ElementType type) {
  const auto found = std::ranges::find(element_types, type, &ElementTypeRow::type);
  if (found == element_types.end()) throw InvalidArgument(format("expected an ElementType, got the number {}", static_cast<int>(type)));
  return *found;
}

std::string quoted_name(std::string_view name) { return to_json(name.substr(0, longest_quotation)); }

// Bytes of a tensor; nothing where a size is negative or the product is beyond an int64 (a size of 0 doesn't hide that of the others).
std::optional<std::size_t> byte_count(ElementType type, const std::vector<std::int64_t>& shape) {
  std::int64_t count = static_cast<std::int64_t>(size_of(type));
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count)) return std::nullopt;
    empty = empty || size == 0;
  }
  return empty ? 0 : static_cast<std::size_t>(count);
}

std::string sum_text(std::string_view bytes) { return format("{:08x}", crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())))); }

// `"attend.header_crc32c":"` as it stands in a header. Quotes within texts are escaped, so that it can't be part of one.
std::string header_sum_mark() { return to_json(header_sum_key) + ":\""; }

// Reads one file's bytes into tensors and metadata.
class Reader {
 public:
  Reader(const std::filesystem::path& file, std::string_view bytes) : name_(file.string()), bytes_(bytes) {}

  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;

  void read() {
    split();
    if (header_.empty() || header_.front() != '{') fail("is not a safetensors file: its header is no JSON table");
    const Value header = parse_json(header_, name_ + ": header", DuplicateKeys::refuse);
    for (const auto& [name, entry] : header.as_table())
      if (name == metadata_name) read_metadata(entry);
    // A file of others has none of our keys; one of ours has all.
    const bool ours = metadata.contains(format_key) || metadata.contains(data_sum_key) || metadata.contains(header_sum_key);
    if (ours) check_format(), check_header_sum();
    for (const auto& [name, entry] : header.as_table())
      if (name != metadata_name) read_tensor(name, entry);
    check_ranges();
    if (ours) check_sum("data", required(data_sum_key), sum_text(data_));
  }

 private:
  struct Range {
    std::size_t begin, end;
    std::string name;
  };

  [[noreturn]] void fail(const std::string& what) const { throw InvalidData(name_ + ": " + what); }

  void split() {
    if (bytes_.size() < length_size)
      fail(format("is truncated, or not a safetensors file: expected {} bytes that hold the header's length, got {}", length_size,
                  bytes_.size()));
    std::uint64_t length = 0;
    for (std::size_t i = length_size; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes_[i]);
    const std::size_t rest = bytes_.size() - length_size;
    if (length > rest)
      fail(format("is truncated, or not a safetensors file: its header should have {} bytes, but only {} follow", std::to_string(length),
                  rest));
    if (length > longest_header)
      fail(format("is not a safetensors file: its header has {} bytes, at most {} are allowed", length, longest_header));
    header_ = bytes_.substr(length_size, length);
    data_ = bytes_.substr(length_size + length);
  }

  void read_metadata(const Value& entry) {
    if (!entry.is_table()) fail(format("expected metadata that is a table, got {}", entry.kind()));
    for (const auto& [key, value] : entry.as_table()) {
      if (!value.is_text()) fail(format("expected metadata {} that is a text, got {}", quoted_name(key), value.kind()));
      metadata.emplace(key, value.as_text());
    }
  }

  void check_header_sum() const {
    std::string header(header_);
    const std::size_t mark = header.find(header_sum_mark());
    const std::size_t digits = mark + header_sum_mark().size();
    if (mark == std::string::npos || digits + no_sum.size() > header.size()) fail("was altered: its header is not as attend wrote it");
    header.replace(digits, no_sum.size(), no_sum);
    check_sum("header", required(header_sum_key), sum_text(header));
  }

  const std::string& required(const char* key) const {
    const auto found = metadata.find(key);
    if (found == metadata.end()) fail(format("was altered: a file of attend has metadata \"{}\", which is missing", key));
    return found->second;
  }

  void check_format() const {
    const std::string& text = required(format_key);
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1)
      fail(format("expected metadata \"{}\" that is a whole number from 1, got {}", format_key, quoted_name(text)));
    if (number > file_format)
      fail(format("has format {}; this version of attend reads formats up to {}: use a newer version", number, file_format));
  }

  void check_sum(const char* part, const std::string& expected, const std::string& got) const {
    if (expected == got) return;
    fail(format("was altered or truncated: the sum of its {} is {}, expected {}: fetch or write it again", part, got,
                quoted_name(expected)));
  }

  void read_tensor(const std::string& name, const Value& entry) {
    if (!entry.is_table()) fail(format("tensor {}: expected a table, got {}", quoted_name(name), entry.kind()));
    TensorView tensor;
    tensor.type = type_of(name, member(name, entry, "dtype"));
    for (const std::int64_t size : integers(name, entry, "shape")) tensor.shape.push_back(size);
    const std::vector<std::int64_t> offsets = integers(name, entry, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1])
      fail(format("tensor {}: expected data_offsets [begin, end] with begin <= end", quoted_name(name)));
    const auto begin = static_cast<std::size_t>(offsets[0]), end = static_cast<std::size_t>(offsets[1]);
    if (end > data_.size())
      fail(format("is truncated: tensor {} should end at byte {} of the data, which has only {}", quoted_name(name), end, data_.size()));
    const std::optional<std::size_t> expected = byte_count(tensor.type, tensor.shape);
    if (!expected) fail(format("tensor {}: its shape is too large", quoted_name(name)));
    if (*expected != end - begin)
      fail(format("tensor {}: type and shape need {} bytes, data_offsets give {}", quoted_name(name), *expected, end - begin));
    tensor.bytes = std::as_bytes(std::span(data_.data() + begin, end - begin));
    ranges_.push_back({begin, end, name});
    tensors.emplace(name, std::move(tensor));
  }

  const Value& member(const std::string& name, const Value& entry, std::string_view key) const {
    if (const Value* found = entry.find(key)) return *found;
    fail(format("tensor {}: its \"{}\" is missing", quoted_name(name), key));
  }

  ElementType type_of(const std::string& name, const Value& value) const {
    std::string known;
    for (const ElementTypeRow& row : element_types) {
      if (value == Value(row.name)) return row.type;
      known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    fail(format("tensor {}: expected a dtype of {}, got {}", quoted_name(name), known,
                value.is_text() ? quoted_name(value.as_text()) : value.kind()));
  }

  std::vector<std::int64_t> integers(const std::string& name, const Value& entry, const char* key) const {
    const Value& list = member(name, entry, key);
    const auto is_size = [](const Value& item) { return item.is_integer() && item.as_integer() >= 0; };
    if (!list.is_list() || !std::ranges::all_of(list.as_list(), is_size))
      fail(format("tensor {}: expected {} that is a list of integers from 0", quoted_name(name), key));
    std::vector<std::int64_t> found;
    for (const Value& item : list.as_list()) found.push_back(item.as_integer());
    return found;
  }

  // Together the tensors cover the data: nothing twice, nothing left.
  void check_ranges() {
    std::ranges::sort(ranges_, {}, [](const Range& range) { return std::pair(range.begin, range.end); });
    std::size_t covered = 0;
    for (const Range& range : ranges_) {
      if (range.begin != covered)
        fail(format("tensor {} begins at byte {} of the data, expected {}: tensors must neither overlap nor leave holes",
                    quoted_name(range.name), range.begin, covered));
      covered = range.end;
    }
    if (covered != data_.size()) fail(format("has {} bytes of data, its tensors need {}", data_.size(), covered));
  }

  const std::string name_;
  const std::string_view bytes_;
  std::string_view header_, data_;
  std::vector<Range> ranges_;
};

using NamedTensor = std::pair<const std::string, TensorView>;

// Widest elements first, so that each tensor lies at a multiple of its element's size.
std::vector<const NamedTensor*> in_order_of_the_file(const std::map<std::string, TensorView>& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::ranges::greater(), [](const NamedTensor* tensor) { return size_of(tensor->second.type); });
  return order;
}

void check_tensor(const std::string& file, const std::string& name, const TensorView& tensor) {
  if (name == metadata_name) throw InvalidArgument(format("{}: no tensor can be named {}", file, quoted_name(name)));
  const std::optional<std::size_t> expected = byte_count(tensor.type, tensor.shape);
  if (expected != tensor.bytes.size())
    throw InvalidArgument(format("{}: tensor {}: expected {} bytes for its type and shape, got {}", file, quoted_name(name),
                                 expected ? std::to_string(*expected) : "fewer", tensor.bytes.size()));
}

std::string header_text(const std::vector<const NamedTensor*>& order, const std::map<std::string, std::string>& metadata) {
  Value::Table texts;
  for (const auto& [key, text] : metadata) texts.emplace_back(key, text);
  std::string header = "{" + to_json(metadata_name) + ":" + to_json(Value::table(std::move(texts)));
  std::size_t begin = 0;
  for (const NamedTensor* named : order) {
    const auto& [name, tensor] = *named;
    const std::size_t end = begin + tensor.bytes.size();
    Value entry;
    entry.set("dtype", name_of(tensor.type));
    entry.set("shape", Value::List(tensor.shape.begin(), tensor.shape.end()));
    entry.set("data_offsets", Value::List{begin, end});
    header.append(",").append(to_json(name)).append(":").append(to_json(entry));
    begin = end;
  }
  header.append("}").append((alignment - header.size() % alignment) % alignment, ' ');
  return header;
}

// Bytes that are not UTF-8 were replaced while the header was written, so that they don't come back.
void check_header(const std::string& file, const std::string& header, const std::vector<const NamedTensor*>& order,
                  const std::map<std::string, std::string>& metadata) {
  if (header.size() > longest_header)
    throw InvalidArgument(format("{}: names and metadata need {} bytes, at most {} are allowed", file, header.size(), longest_header));
  const Value written = parse_json(header, file);
  const Value::Table& entries = written.as_table();
  const Value::Table& texts = entries.front().second.as_table();
  bool same = entries.size() == order.size() + 1;
  for (std::size_t i = 0; i < order.size() && same; ++i) same = entries[i + 1].first == order[i]->first;
  const auto same_text = [](const auto& a, const auto& b) { return a.first == b.first && a.second == Value(b.second); };
  if (!same || !std::ranges::equal(texts, metadata, same_text))
    throw InvalidArgument(format("{}: expected names and metadata in UTF-8, got other bytes", file));
}

template <class Map>
const auto& find_named(const std::string& file, const char* kind, const Map& map, const std::string& name) {
  if (const auto found = map.find(name); found != map.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, value] : map) known.push_back(key);
  throw InvalidData(format("{}: has no {} \"{}\"{}", file, kind, name, did_you_mean(name, known)));
}

}  // namespace

std::size_t size_of(ElementType type) { return row_of(type).size; }

std::string name_of(ElementType type) { return row_of(type).name; }

SafetensorsFile SafetensorsFile::read(const std::filesystem::path& file) {
  SafetensorsFile result;
  result.path_ = file;
  result.memory_ = std::make_shared<const std::string>(read_file(file));
  Reader reader(file, *result.memory_);
  reader.read();
  result.tensors_ = std::move(reader.tensors);
  result.metadata_ = std::move(reader.metadata);
  return result;
}

const TensorView& SafetensorsFile::tensor(const std::string& name) const { return find_named(path_.string(), "tensor", tensors_, name); }

const std::string& SafetensorsFile::meta(const std::string& key) const { return find_named(path_.string(), "metadata", metadata_, key); }

void write_safetensors(const std::filesystem::path& file, const std::map<std::string, TensorView>& tensors,
                       std::map<std::string, std::string> metadata) {
  std::uint32_t data_sum = 0;
  const std::vector<const NamedTensor*> order = in_order_of_the_file(tensors);
  for (const NamedTensor* named : order) {
    check_tensor(file.string(), named->first, named->second);
    data_sum = crc32c(named->second.bytes, data_sum);
  }
  metadata[format_key] = std::to_string(file_format);
  metadata[data_sum_key] = format("{:08x}", data_sum);
  metadata[header_sum_key] = no_sum;
  std::string header = header_text(order, metadata);
  check_header(file.string(), header, order, metadata);
  header.replace(header.find(header_sum_mark()) + header_sum_mark().size(), no_sum.size(), sum_text(header));

  std::string length;
  for (std::size_t i = 0; i < length_size; ++i) length += static_cast<char>(header.size() >> (8 * i));
  AtomicFile atomic(file);
  atomic.write(length + header);
  for (const NamedTensor* named : order) atomic.write(named->second.bytes);
  atomic.commit();
}

}  // namespace attend::io
