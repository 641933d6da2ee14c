#include "attend/view/record.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "attend/base/edit_distance.h"
#include "attend/base/error.h"
#include "attend/io/json.h"
#include "attend/io/safetensors.h"
#include "attend/io/value.h"

namespace attend::view {
namespace {

constexpr const char* record_key = "attend.record";

constexpr std::array<std::pair<Kind, std::string_view>, 8> kind_names{{{Kind::alignment, "alignment"},
                                                                       {Kind::self, "self"},
                                                                       {Kind::spatial, "spatial"},
                                                                       {Kind::channel, "channel"},
                                                                       {Kind::temporal, "temporal"},
                                                                       {Kind::branch, "branch"},
                                                                       {Kind::glimpse, "glimpse"},
                                                                       {Kind::hierarchy, "hierarchy"}}};

Kind kind_of(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [kind, kind_name] : kind_names) {
    if (name == kind_name) return kind;
    known.emplace_back(kind_name);
  }
  throw InvalidArgument(
      format("unknown kind \"{}\"{}; a newer attend may have written this: update attend", name, did_you_mean(name, known)));
}

std::string joined_axes(const std::vector<std::string>& axes) {
  std::string text = "[";
  for (const std::string& axis : axes) text += (text.size() > 1 ? ", " : "") + axis;
  return text + "]";
}

void check_axes(const Item& item) {
  const auto& axes = item.axes;
  if (axes.empty() || axes.size() != item.shape.size()) {
    throw InvalidArgument(
        format("expected a name for each of the {} dimensions (at least one), got axes {}", item.shape.size(), joined_axes(axes)));
  }
  if (item.kind == Kind::alignment && axes != std::vector<std::string>{"head", "target", "source"}) {
    throw InvalidArgument(format("expected axes [head, target, source] for an alignment, got {}", joined_axes(axes)));
  }
  const bool over_one_text = axes.size() == 3 && axes[0] == "head" && axes[1] == axes[2] && (axes[1] == "source" || axes[1] == "target");
  if (item.kind == Kind::self && !over_one_text) {
    throw InvalidArgument(
        format("expected axes [head, source, source] or [head, target, target] for self-attention, got {}", joined_axes(axes)));
  }
}

// How long an axis must be; nothing where any length will do.
std::optional<std::int64_t> expected_length(const Example& example, const Item& item, const std::string& axis) {
  if (axis == "head") return item.heads;
  if (axis == "source") return static_cast<std::int64_t>(example.source.size());
  if (axis == "target") return static_cast<std::int64_t>(example.target.size());
  return std::nullopt;
}

std::vector<std::string> texts_of(const io::Value& list) {
  std::vector<std::string> texts;
  for (const io::Value& value : list.as_list()) texts.push_back(value.as_text());
  return texts;
}

io::Value list_of(const std::vector<std::string>& texts) { return io::Value(io::Value::List(texts.begin(), texts.end())); }

template <class Element>
std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());  // they may lie at any address
  return std::vector<float>(elements.begin(), elements.end());
}

std::vector<float> weights_of(const io::TensorView& tensor, const std::string& name) {
  if (tensor.type == io::ElementType::float32) return floats_of<float>(tensor.bytes);
  if (tensor.type == io::ElementType::float64) return floats_of<double>(tensor.bytes);
  throw InvalidArgument(format("expected weights of type F32 or F64, tensor \"{}\" has {}; convert it", name, io::name_of(tensor.type)));
}

Item item_of(const io::Value& value, const Example& example, const io::SafetensorsFile& container) {
  Item item;
  item.module = value.at("module").as_text();
  item.kind = kind_of(value.at("kind").as_text());
  item.axes = texts_of(value.at("axes"));
  item.heads = value.at("heads").as_integer();
  item.layer = value.at("layer").as_integer();
  const std::string& name = value.at("tensor").as_text();
  const auto found = container.tensors().find(name);
  if (found == container.tensors().end()) throw InvalidArgument(format("tensor \"{}\" is missing from the file; record again", name));
  item.shape = found->second.shape;
  item.weights = weights_of(found->second, name);
  check_item(example, item);
  return item;
}

// Adds the place to what went wrong inside of it.
template <class Exception, class Work>
void with_place(const std::string& place, Work work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    throw Exception(format("{}: {}", place, error.what()));
  }
}

Example example_of(const io::Value& value, const io::SafetensorsFile& container) {
  Example example;
  example.id = value.at("id").as_text();
  example.source = texts_of(value.at("source"));
  example.target = texts_of(value.at("target"));
  std::size_t number = 0;
  for (const io::Value& item : value.at("items").as_list()) {
    with_place<InvalidArgument>(format("item {}", number++), [&] { example.items.push_back(item_of(item, example, container)); });
  }
  return example;
}

void check_format(const std::string& file, const io::Value& root) {
  const io::Value* number = root.is_table() ? root.find("format") : nullptr;
  if (number == nullptr || !number->is_integer() || number->as_integer() < 1) {
    throw InvalidData(
        format("{}: its metadata \"{}\" has no format number; expected {{\"format\": {}, …}}", file, record_key, record_format));
  }
  if (number->as_integer() > record_format) {
    throw InvalidData(format("{}: a recording of format {}, but this attend reads {} at most; update attend, or record again with this one",
                             file, number->as_integer(), record_format));
  }
}

std::string tensor_name(std::size_t example, std::size_t item) { return format("example.{}.item.{}", example, item); }

io::Value item_value(const Item& item, const std::string& tensor) {
  io::Value value = io::Value::table();
  value.set("module", item.module);
  value.set("kind", name_of(item.kind));
  value.set("tensor", tensor);
  value.set("axes", list_of(item.axes));
  value.set("heads", item.heads);
  value.set("layer", item.layer);
  return value;
}

io::Value example_value(const Example& example, std::size_t number) {
  io::Value items = io::Value::list();
  for (std::size_t i = 0; i < example.items.size(); ++i) items.append(item_value(example.items[i], tensor_name(number, i)));
  io::Value value = io::Value::table();
  value.set("id", example.id);
  value.set("source", list_of(example.source));
  value.set("target", list_of(example.target));
  value.set("items", std::move(items));
  return value;
}

}  // namespace

std::string_view name_of(Kind kind) {
  for (const auto& [known, name] : kind_names) {
    if (kind == known) return name;
  }
  throw InvalidArgument(format("expected a kind of recording, got number {}", static_cast<int>(kind)));
}

void check_item(const Example& example, const Item& item) {
  with_place<InvalidArgument>(format("\"{}\" ({})", item.module, name_of(item.kind)), [&] {
    check_axes(item);
    if (item.heads < 1 || item.layer < 0) {
      throw InvalidArgument(format("expected at least 1 head and a layer from 0 up, got {} heads and layer {}", item.heads, item.layer));
    }
    std::size_t count = 1;
    bool overflow = false;
    for (std::size_t i = 0; i < item.shape.size(); ++i) {
      const std::int64_t length = item.shape[i], expected = expected_length(example, item, item.axes[i]).value_or(length);
      if (length < 0 || length != expected) {
        throw InvalidArgument(format("expected {} along axis {} (\"{}\"), as many as the example says, got {}; record again", expected, i,
                                     item.axes[i], length));
      }
      overflow = __builtin_mul_overflow(count, static_cast<std::size_t>(length), &count) || overflow;
    }
    if (overflow || count != item.weights.size()) {
      throw InvalidArgument(format("expected as many weights as its shape has places, got {}", item.weights.size()));
    }
  });
}

Record read_record(const std::filesystem::path& file) {
  const io::SafetensorsFile container = io::SafetensorsFile::read(file);
  const auto found = container.metadata().find(record_key);
  if (found == container.metadata().end()) {
    throw InvalidData(format("{}: not a recording: it has no metadata \"{}\"; expected what `attend predict --record FILE.attn` writes",
                             file.string(), record_key));
  }
  const io::Value root = io::parse_json(found->second, file.string() + ": " + record_key);
  check_format(file.string(), root);
  Record record;
  with_place<InvalidData>(file.string(), [&] {
    std::size_t number = 0;
    for (const io::Value& example : root.at("examples").as_list()) {
      with_place<InvalidArgument>(format("example {}", number++), [&] { record.examples.push_back(example_of(example, container)); });
    }
  });
  return record;
}

void write_record(const std::filesystem::path& file, const Record& record) {
  std::map<std::string, io::TensorView> tensors;
  io::Value examples = io::Value::list();
  for (std::size_t e = 0; e < record.examples.size(); ++e) {
    const Example& example = record.examples[e];
    for (std::size_t i = 0; i < example.items.size(); ++i) {
      const Item& item = example.items[i];
      with_place<InvalidArgument>(format("{}: example {}: item {}", file.string(), e, i), [&] { check_item(example, item); });
      tensors[tensor_name(e, i)] = {io::ElementType::float32, item.shape, std::as_bytes(std::span(item.weights))};
    }
    examples.append(example_value(example, e));
  }
  io::Value root = io::Value::table();
  root.set("format", record_format);
  root.set("examples", std::move(examples));
  io::write_safetensors(file, tensors, {{record_key, io::to_json(root)}});
}

}  // namespace attend::view
