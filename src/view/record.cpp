#include "attend/view/record.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "attend/base/edit_distance.h"
#include "attend/io/json.h"
#include "attend/io/safetensors.h"
#include "attend/io/value.h"
#include "attend/view/record_file.h"
#include "view/record_format.h"

namespace attend::view {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 8> kind_names{{{Kind::alignment, "alignment"},
                                                                       {Kind::self, "self"},
                                                                       {Kind::spatial, "spatial"},
                                                                       {Kind::channel, "channel"},
                                                                       {Kind::temporal, "temporal"},
                                                                       {Kind::branch, "branch"},
                                                                       {Kind::glimpse, "glimpse"},
                                                                       {Kind::hierarchy, "hierarchy"}}};

constexpr std::array<std::pair<Form, std::string_view>, 3> form_names{{{Form::all, "all"}, {Form::top_k, "top-k"}, {Form::thumbnail, "thumbnail"}}};

// What `names` calls `name`, which is a `what`.
template <class Names>
auto value_named(const char* what, const std::string& name, const Names& names) {
  std::vector<std::string> known;
  for (const auto& [value, its_name] : names) {
    if (name == its_name) return value;
    known.emplace_back(its_name);
  }
  throw InvalidArgument(format("unknown {} \"{}\"{}; a newer attend may have written this: update attend", what, name, did_you_mean(name, known)));
}

template <class Value, class Names>
std::string_view name_among(const char* what, Value value, const Names& names) {
  for (const auto& [known, name] : names) {
    if (value == known) return name;
  }
  throw InvalidArgument(format("expected a {} of a recording, got number {}", what, static_cast<int>(value)));
}

std::string joined_axes(const std::vector<std::string>& axes) {
  std::string text = "[";
  for (const std::string& axis : axes) text += (text.size() > 1 ? ", " : "") + axis;
  return text + "]";
}

void check_axes(const Example& example, const Item& item) {
  const auto& axes = item.axes;
  const auto are = [&](std::vector<std::string> wanted) { return axes == wanted; };
  const auto expect = [&](bool fits, const char* wanted) {
    if (!fits) throw InvalidArgument(format("expected axes {}, got {}", wanted, joined_axes(axes)));
  };
  if (axes.empty() || axes.size() != item.shape.size()) {
    throw InvalidArgument(format("expected a name for each of the {} dimensions (at least one), got axes {}", item.shape.size(), joined_axes(axes)));
  }
  if (item.kind == Kind::alignment) expect(are({"head", "target", "source"}), "[head, target, source] for an alignment");
  if (item.kind == Kind::self)
    expect(are({"head", "source", "source"}) || are({"head", "target", "target"}), "[head, source, source] or [head, target, target] for self-attention");
  if (item.kind == Kind::glimpse)
    expect((are({"step", "coordinate"}) || are({"step", "scale", "coordinate"})) && item.shape.back() == 4,
           "[step, coordinate] or [step, scale, coordinate] with the 4 coordinates left, top, width, height for glimpses");
  if (item.kind == Kind::hierarchy) {
    expect(are({"sentence"}) || are({"source"}), "[sentence] or [source] for a hierarchy");
    if (example.sentences.empty()) throw InvalidArgument("expected the example to say how many tokens each of its sentences has, for a hierarchy; give its \"sentences\"");
  }
}

// How long an axis must be; nothing where any length will do.
std::optional<std::int64_t> expected_length(const Example& example, const Item& item, const std::string& axis) {
  if (axis == "head") return item.heads;
  if (axis == "source") return static_cast<std::int64_t>(example.source.size());
  if (axis == "target") return static_cast<std::int64_t>(example.target.size());
  if (axis == "sentence" && !example.sentences.empty()) return static_cast<std::int64_t>(example.sentences.size());
  return std::nullopt;
}

void check_form(const Item& item) {
  if (item.form == Form::all) return;
  if (item.shape.size() < 2) throw InvalidArgument(format("expected two axes or more for the form \"{}\", got axes {}", name_of(item.form), joined_axes(item.axes)));
  if (item.kind == Kind::glimpse) throw InvalidArgument(format("expected the form \"all\" for glimpses, got \"{}\"", name_of(item.form)));
  if (item.form == Form::top_k && (item.k < 0 || item.k > item.shape.back()))
    throw InvalidArgument(format("expected k from 0 to its {} columns, got {}", item.shape.back(), item.k));
  if (item.form == Form::thumbnail && (item.block[0] < 1 || item.block[1] < 1))
    throw InvalidArgument(format("expected blocks of at least 1 × 1, got {} × {}", item.block[0], item.block[1]));
}

// Π shape. InvalidArgument where that is no number of things in memory.
std::size_t places(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  bool overflow = false;
  for (const std::int64_t length : shape) overflow = __builtin_mul_overflow(count, static_cast<std::size_t>(length), &count) || overflow;
  // a length of 0 makes the product 0 wherever it stands
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (overflow || count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(float)) throw InvalidArgument("its shape has more places than memory can hold");
  return count;
}

void check_keys(const Item& item) {
  for (const std::int32_t key : item.keys) {
    if (key < -1 || key >= item.shape.back())
      throw InvalidArgument(format("expected keys from 0 to {}, or −1 where a row has fewer, got {}; record again", item.shape.back() - 1, key));
  }
}

void check_numbers(const Item& item) {
  const std::size_t held = places(held_shape(item));
  if (held != item.weights.size()) {
    throw InvalidArgument(format("expected as many weights as its shape{} has places, {}, got {}", item.form == Form::all ? "" : " and form", held, item.weights.size()));
  }
  if (item.keys.size() != (item.form == Form::top_k ? held : 0))
    throw InvalidArgument(format("expected a key for each weight of the form \"top-k\" and none else, got {} keys and {} weights", item.keys.size(), held));
  check_keys(item);
  const std::size_t rows = places(std::vector<std::int64_t>(item.shape.begin(), item.shape.end() - 1));
  if (!item.entropy.empty() && item.entropy.size() != rows) throw InvalidArgument(format("expected an entropy for each of {} rows, got {}", rows, item.entropy.size()));
}

io::Value list_of(const std::vector<std::string>& texts) { return io::Value(io::Value::List(texts.begin(), texts.end())); }
io::Value list_of(std::span<const std::int64_t> numbers) { return io::Value(io::Value::List(numbers.begin(), numbers.end())); }

// The file that is being made: tensors under the names that JSON gives them.
struct Container {
  std::map<std::string, io::TensorView> tensors = {};

  template <class Number>
  io::Value add(const std::string& name, io::ElementType type, std::vector<std::int64_t> shape, const std::vector<Number>& numbers) {
    tensors[name] = {type, std::move(shape), std::as_bytes(std::span(numbers))};
    return name;
  }
};

io::Value kept_value(const Item& item, const std::string& tensor, Container& container) {
  io::Value kept = io::Value::table();
  kept.set("form", name_of(item.form));
  if (item.form == Form::top_k) {
    kept.set("k", item.k);
    kept.set("keys", container.add(tensor + ".keys", io::ElementType::int32, held_shape(item), item.keys));
  } else {
    kept.set("block", list_of(item.block));
  }
  return kept;
}

io::Value item_value(const Item& item, const std::string& tensor, Container& container) {
  io::Value value = io::Value::table();
  value.set("module", item.module);
  value.set("kind", name_of(item.kind));
  value.set("tensor", container.add(tensor, io::ElementType::float32, held_shape(item), item.weights));
  value.set("axes", list_of(item.axes));
  value.set("heads", item.heads);
  value.set("layer", item.layer);
  if (item.form != Form::all) {
    value.set("shape", list_of(item.shape));
    value.set("kept", kept_value(item, tensor, container));
  }
  if (!item.entropy.empty()) {
    const std::vector<std::int64_t> rows(item.shape.begin(), item.shape.end() - 1);
    value.set("entropy", container.add(tensor + ".entropy", io::ElementType::float32, rows, item.entropy));
  }
  return value;
}

io::Value example_value(const Example& example, std::size_t number, Container& container) {
  const std::string name = format("example.{}", number);
  io::Value items = io::Value::list();
  for (std::size_t i = 0; i < example.items.size(); ++i) items.append(item_value(example.items[i], format("{}.item.{}", name, i), container));
  io::Value value = io::Value::table();
  value.set("id", example.id);
  value.set("source", list_of(example.source));
  value.set("target", list_of(example.target));
  if (!example.sentences.empty()) value.set("sentences", list_of(example.sentences));
  if (const auto& picture = example.picture)
    value.set("picture", container.add(name + ".picture", io::ElementType::uint8, {picture->height, picture->width, picture->channels}, picture->pixels));
  if (const auto& sound = example.sound) {
    io::Value told = io::Value::table();
    told.set("tensor", container.add(name + ".sound", io::ElementType::float32, {static_cast<std::int64_t>(sound->samples.size())}, sound->samples));
    told.set("rate", sound->rate);
    value.set("sound", std::move(told));
  }
  value.set("items", std::move(items));
  return value;
}

bool are_equal(const std::optional<Picture>& a, const std::optional<Picture>& b) {
  return !a || !b || (a->height == b->height && a->width == b->width && a->channels == b->channels && a->pixels == b->pixels);
}

bool are_equal(const std::optional<Sound>& a, const std::optional<Sound>& b) { return !a || !b || (a->rate == b->rate && a->samples == b->samples); }

bool show_the_same(const Example& a, const Example& b) {
  return a.id == b.id && a.source == b.source && a.target == b.target && a.sentences == b.sentences && are_equal(a.picture, b.picture) && are_equal(a.sound, b.sound);
}

}  // namespace

Kind kind_of(const std::string& name) { return value_named("kind", name, kind_names); }
Form form_of(const std::string& name) { return value_named("form", name, form_names); }
std::string_view name_of(Kind kind) { return name_among("kind", kind, kind_names); }
std::string_view name_of(Form form) { return name_among("form", form, form_names); }

std::vector<std::int64_t> held_shape(const Item& item) {
  std::vector<std::int64_t> shape = item.shape;
  if (item.form == Form::top_k) shape.back() = item.k;
  if (item.form == Form::thumbnail)
    for (std::size_t i = 0; i < 2; ++i) {
      std::int64_t& length = shape[shape.size() - 2 + i];
      length = blocks_of(length, item.block[i]);
    }
  return shape;
}

void check_layout(const Example& example, const Item& item) {
  with_place<InvalidArgument>(format("\"{}\" ({})", item.module, name_of(item.kind)), [&] {
    check_axes(example, item);
    if (item.heads < 1 || item.layer < 0) {
      throw InvalidArgument(format("expected at least 1 head and a layer from 0 up, got {} heads and layer {}", item.heads, item.layer));
    }
    for (std::size_t i = 0; i < item.shape.size(); ++i) {
      const std::int64_t length = item.shape[i], expected = expected_length(example, item, item.axes[i]).value_or(length);
      if (length < 0 || length != expected) {
        throw InvalidArgument(format("expected {} along axis {} (\"{}\"), as many as the example says, got {}; record again", std::max<std::int64_t>(0, expected), i,
                                     item.axes[i], length));
      }
    }
    check_form(item);
  });
}

void check_item(const Example& example, const Item& item) {
  check_layout(example, item);
  with_place<InvalidArgument>(format("\"{}\" ({})", item.module, name_of(item.kind)), [&] { check_numbers(item); });
}

void check_example(const Example& example) {
  if (const auto& picture = example.picture) {
    if (picture->height < 1 || picture->width < 1 || (picture->channels != 1 && picture->channels != 3) ||
        places({picture->height, picture->width, picture->channels}) != picture->pixels.size())
      throw InvalidArgument(format("expected a picture of at least 1 × 1 pixels with 1 or 3 channels and a number for each, got {} × {} × {} and {} numbers", picture->height,
                                   picture->width, picture->channels, picture->pixels.size()));
  }
  if (example.sound && !(example.sound->rate > 0 && example.sound->rate < 1e9))
    throw InvalidArgument(format("expected a sound's rate above 0 samples a second, got {}", example.sound->rate));
  const auto& sentences = example.sentences;
  if (sentences.empty()) return;
  const bool counts = std::all_of(sentences.begin(), sentences.end(), [&](std::int64_t n) { return n >= 0 && n <= static_cast<std::int64_t>(example.source.size()); });
  const std::int64_t sum = counts ? std::accumulate(sentences.begin(), sentences.end(), std::int64_t{0}) : -1;
  if (sum != static_cast<std::int64_t>(example.source.size()))
    throw InvalidArgument(format("expected sentences that hold its {} source tokens together; they don't", example.source.size()));
}

Record read_record(const std::filesystem::path& file) {
  const RecordFile reader = RecordFile::open(file);
  Record record{reader.examples()};
  for (std::size_t e = 0; e < record.examples.size(); ++e) {
    Example& example = record.examples[e];
    if (example.picture) example.picture = reader.picture(e);
    if (example.sound) example.sound = reader.sound(e);
    for (std::size_t i = 0; i < example.items.size(); ++i) example.items[i] = reader.item(e, i);
  }
  return record;
}

void write_record(const std::filesystem::path& file, const Record& record) {
  Container container;
  io::Value examples = io::Value::list();
  for (std::size_t e = 0; e < record.examples.size(); ++e) {
    const Example& example = record.examples[e];
    const std::string place = format("{}: example {}", file.string(), e);
    with_place<InvalidArgument>(place, [&] { check_example(example); });
    for (std::size_t i = 0; i < example.items.size(); ++i)
      with_place<InvalidArgument>(format("{}: item {}", place, i), [&] { check_item(example, example.items[i]); });
    examples.append(example_value(example, e, container));
  }
  io::Value root = io::Value::table();
  root.set("format", record_format);
  root.set("examples", std::move(examples));
  io::write_safetensors(file, container.tensors, {{record_key, io::to_json(root)}});
}

void merge(Record& record, Record more) {
  for (Example& example : more.examples) {
    const auto same = std::find_if(record.examples.begin(), record.examples.end(), [&](const Example& known) { return show_the_same(known, example); });
    if (same == record.examples.end()) {
      record.examples.push_back(std::move(example));
      continue;
    }
    if (!same->picture) same->picture = std::move(example.picture);
    if (!same->sound) same->sound = std::move(example.sound);
    std::move(example.items.begin(), example.items.end(), std::back_inserter(same->items));
  }
}

}  // namespace attend::view
