#include "attend/view/record_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "attend/io/json.h"
#include "attend/io/safetensors.h"
#include "attend/io/value.h"
#include "view/record_format.h"

namespace attend::view {

// Where the numbers of an item lie.
struct ItemTensors {
  const io::TensorView* weights = nullptr;
  const io::TensorView* keys = nullptr;
  const io::TensorView* entropy = nullptr;
};

struct ExampleTensors {
  const io::TensorView* picture = nullptr;
  const io::TensorView* sound = nullptr;
  std::vector<ItemTensors> items = {};
};

namespace {

using io::ElementType;

std::vector<std::string> texts_of(const io::Value& list) {
  std::vector<std::string> texts;
  for (const io::Value& value : list.as_list()) texts.push_back(value.as_text());
  return texts;
}

std::vector<std::int64_t> integers_of(const io::Value& list) {
  std::vector<std::int64_t> integers;
  for (const io::Value& value : list.as_list()) integers.push_back(value.as_integer());
  return integers;
}

// The elements of a tensor, which may lie at any address.
template <class Number, class Element>
std::vector<Number> converted(std::span<const std::byte> bytes) {
  if constexpr (std::is_same_v<Number, Element>) {
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  } else {
    const std::vector<Element> elements = converted<Element, Element>(bytes);
    return std::vector<Number>(elements.begin(), elements.end());
  }
}

std::vector<float> floats_of(const io::TensorView& tensor) {
  return tensor.type == ElementType::float64 ? converted<float, double>(tensor.bytes) : converted<float, float>(tensor.bytes);
}

std::vector<std::int32_t> keys_of(const io::TensorView& tensor) {
  if (tensor.type == ElementType::int32) return converted<std::int32_t, std::int32_t>(tensor.bytes);
  std::vector<std::int32_t> keys;
  for (const std::int64_t key : converted<std::int64_t, std::int64_t>(tensor.bytes))
    keys.push_back(key >= -1 && key <= INT32_MAX ? static_cast<std::int32_t>(key) : -2);  // −2: refused as no column
  return keys;
}

std::string shape_of(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t length : shape) text += format("{}{}", text.size() > 1 ? ", " : "", length);
  return text + "]";
}

// The tensor of this name, of one of these types.
const io::TensorView& tensor_named(const io::SafetensorsFile& container, const std::string& name, const char* what, std::initializer_list<ElementType> types) {
  const auto found = container.tensors().find(name);
  if (found == container.tensors().end()) throw InvalidArgument(format("tensor \"{}\" is missing from the file; record again", name));
  if (std::find(types.begin(), types.end(), found->second.type) != types.end()) return found->second;
  std::string wanted;
  for (const ElementType type : types) wanted += (wanted.empty() ? "" : " or ") + io::name_of(type);
  throw InvalidArgument(format("expected {} of type {}, tensor \"{}\" has {}; convert it", what, wanted, name, io::name_of(found->second.type)));
}

void check_tensor_shape(const io::TensorView& tensor, const std::string& name, const std::vector<std::int64_t>& wanted) {
  if (tensor.shape != wanted) throw InvalidArgument(format("expected shape {} of tensor \"{}\", got {}; record again", shape_of(wanted), name, shape_of(tensor.shape)));
}

// What `kept` says of a shortened item, and its shape.
void read_form(const io::Value& value, const io::Value& kept, Item& item) {
  item.form = form_of(kept.at("form").as_text());
  if (item.form == Form::all) return;
  item.shape = integers_of(value.at("shape"));
  if (item.form == Form::top_k) item.k = kept.at("k").as_integer();
  if (item.form == Form::thumbnail) {
    const std::vector<std::int64_t> block = integers_of(kept.at("block"));
    if (block.size() != 2) throw InvalidArgument(format("expected \"block\" as [rows, columns], got {} numbers", block.size()));
    item.block = {block[0], block[1]};
  }
}

std::pair<Item, ItemTensors> item_of(const io::Value& value, const Example& example, const io::SafetensorsFile& container) {
  Item item;
  ItemTensors tensors;
  item.module = value.at("module").as_text();
  item.kind = kind_of(value.at("kind").as_text());
  item.axes = texts_of(value.at("axes"));
  item.heads = value.at("heads").as_integer();
  item.layer = value.at("layer").as_integer();
  const std::string& name = value.at("tensor").as_text();
  tensors.weights = &tensor_named(container, name, "weights", {ElementType::float32, ElementType::float64});
  item.shape = tensors.weights->shape;
  const io::Value* kept = value.find("kept");
  if (kept != nullptr) read_form(value, *kept, item);
  check_layout(example, item);
  check_tensor_shape(*tensors.weights, name, held_shape(item));
  if (item.form == Form::top_k) {
    const std::string& keys = kept->at("keys").as_text();
    tensors.keys = &tensor_named(container, keys, "keys", {ElementType::int32, ElementType::int64});
    check_tensor_shape(*tensors.keys, keys, held_shape(item));
  }
  if (const io::Value* entropy = value.find("entropy")) {
    tensors.entropy = &tensor_named(container, entropy->as_text(), "entropies", {ElementType::float32, ElementType::float64});
    check_tensor_shape(*tensors.entropy, entropy->as_text(), {item.shape.begin(), item.shape.end() - 1});
  }
  return {std::move(item), tensors};
}

void read_picture(const io::Value& name, const io::SafetensorsFile& container, Example& example, ExampleTensors& tensors) {
  tensors.picture = &tensor_named(container, name.as_text(), "a picture", {ElementType::uint8});
  const std::vector<std::int64_t>& shape = tensors.picture->shape;
  if (shape.size() != 3 || shape[0] < 1 || shape[1] < 1 || (shape[2] != 1 && shape[2] != 3))
    throw InvalidArgument(format("expected a picture as [height, width, 1 or 3], tensor \"{}\" has shape {}", name.as_text(), shape_of(shape)));
  example.picture = Picture{shape[0], shape[1], shape[2], {}};
}

void read_sound(const io::Value& told, const io::SafetensorsFile& container, Example& example, ExampleTensors& tensors) {
  const std::string& name = told.at("tensor").as_text();
  tensors.sound = &tensor_named(container, name, "a sound", {ElementType::float32, ElementType::float64});
  if (tensors.sound->shape.size() != 1) throw InvalidArgument(format("expected a sound of one channel, tensor \"{}\" has shape {}", name, shape_of(tensors.sound->shape)));
  example.sound = Sound{told.at("rate").as_number(), {}};
}

// Whether pixels and samples are what they should be is known from the shapes alone.
void check_texts(const Example& example) {
  Example told;
  told.source = example.source;
  told.sentences = example.sentences;
  told.sound = example.sound;
  check_example(told);
}

std::pair<Example, ExampleTensors> example_of(const io::Value& value, const io::SafetensorsFile& container) {
  Example example;
  ExampleTensors tensors;
  example.id = value.at("id").as_text();
  example.source = texts_of(value.at("source"));
  example.target = texts_of(value.at("target"));
  if (const io::Value* sentences = value.find("sentences")) example.sentences = integers_of(*sentences);
  if (const io::Value* picture = value.find("picture")) read_picture(*picture, container, example, tensors);
  if (const io::Value* sound = value.find("sound")) read_sound(*sound, container, example, tensors);
  check_texts(example);
  std::size_t number = 0;
  for (const io::Value& item : value.at("items").as_list()) {
    with_place<InvalidArgument>(format("item {}", number++), [&] {
      auto [read, its_tensors] = item_of(item, example, container);
      example.items.push_back(std::move(read));
      tensors.items.push_back(its_tensors);
    });
  }
  return {std::move(example), std::move(tensors)};
}

void check_format(const std::string& file, const io::Value& root) {
  const io::Value* number = root.is_table() ? root.find("format") : nullptr;
  if (number == nullptr || !number->is_integer() || number->as_integer() < 1) {
    throw InvalidData(format("{}: its metadata \"{}\" has no format number; expected {{\"format\": {}, …}}", file, record_key, record_format));
  }
  if (number->as_integer() > record_format) {
    throw InvalidData(format("{}: a recording of format {}, but this attend reads {} at most; update attend, or record again with this one", file,
                             number->as_integer(), record_format));
  }
}

}  // namespace

struct RecordFile::Contents {
  io::SafetensorsFile container;
  std::vector<Example> examples = {};
  std::vector<ExampleTensors> tensors = {};
};

RecordFile RecordFile::open(const std::filesystem::path& file) {
  auto contents = std::make_shared<Contents>(Contents{io::SafetensorsFile::read(file)});
  const io::SafetensorsFile& container = contents->container;
  const auto found = container.metadata().find(record_key);
  if (found == container.metadata().end()) {
    throw InvalidData(format("{}: not a recording: it has no metadata \"{}\"; expected what `attend predict --record FILE.attn` writes", file.string(), record_key));
  }
  const io::Value root = io::parse_json(found->second, file.string() + ": " + record_key);
  check_format(file.string(), root);
  with_place<InvalidData>(file.string(), [&] {
    std::size_t number = 0;
    for (const io::Value& value : root.at("examples").as_list()) {
      with_place<InvalidArgument>(format("example {}", number++), [&] {
        auto [example, tensors] = example_of(value, container);
        contents->examples.push_back(std::move(example));
        contents->tensors.push_back(std::move(tensors));
      });
    }
  });
  RecordFile reader;
  reader.contents_ = std::move(contents);
  return reader;
}

const std::vector<Example>& RecordFile::examples() const { return contents_->examples; }

Item RecordFile::item(std::size_t example, std::size_t item) const {
  const ItemTensors& tensors = contents_->tensors.at(example).items.at(item);
  const Example& of = contents_->examples[example];
  Item whole = of.items[item];
  whole.weights = floats_of(*tensors.weights);
  if (tensors.keys != nullptr) whole.keys = keys_of(*tensors.keys);
  if (tensors.entropy != nullptr) whole.entropy = floats_of(*tensors.entropy);
  with_place<InvalidData>(format("{}: example {}: item {}", path().string(), example, item), [&] { check_item(of, whole); });
  return whole;
}

Picture RecordFile::picture(std::size_t example) const {
  const ExampleTensors& tensors = contents_->tensors.at(example);
  if (tensors.picture == nullptr) throw std::out_of_range(format("{}: example {} has no picture", path().string(), example));
  Picture picture = *contents_->examples[example].picture;
  picture.pixels = converted<std::uint8_t, std::uint8_t>(tensors.picture->bytes);
  return picture;
}

Sound RecordFile::sound(std::size_t example) const {
  const ExampleTensors& tensors = contents_->tensors.at(example);
  if (tensors.sound == nullptr) throw std::out_of_range(format("{}: example {} has no sound", path().string(), example));
  Sound sound = *contents_->examples[example].sound;
  sound.samples = floats_of(*tensors.sound);
  return sound;
}

const std::filesystem::path& RecordFile::path() const { return contents_->container.path(); }

}  // namespace attend::view
