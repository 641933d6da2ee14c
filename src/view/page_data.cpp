#include "view/page_data.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "attend/base/format.h"
#include "attend/io/json.h"
#include "view/metrics_lines.h"
#include "view/panel_numbers.h"
#include "view/record_format.h"

namespace attend::view {
namespace {

constexpr std::size_t tried_most = 50, items_in_memory = 4, bytes_in_memory = std::size_t{64} << 20;
constexpr std::size_t sound_buckets = 4096;
constexpr std::uint64_t metrics_bytes_at_once = 1 << 20;

// The numbers in a key "NAME?FIRST=1&SECOND=2", for these names; nothing where it is spelt otherwise.
template <std::size_t count>
std::optional<std::array<std::uint64_t, count>> numbers_in_key(std::string_view key, std::string_view name,
                                                               const std::array<std::string_view, count>& parameters) {
  std::array<std::uint64_t, count> numbers{};
  if (!key.starts_with(name)) return std::nullopt;
  key.remove_prefix(name.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string start = format("{}{}=", i == 0 ? "?" : "&", parameters[i]);
    if (!key.starts_with(start)) return std::nullopt;
    key.remove_prefix(start.size());
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), numbers[i]);
    if (error != std::errc()) return std::nullopt;
    key.remove_prefix(static_cast<std::size_t>(end - key.data()));
  }
  return key.empty() ? std::optional(numbers) : std::nullopt;
}

io::Value texts(const std::vector<std::string>& list) { return io::Value(io::Value::List(list.begin(), list.end())); }
io::Value whole_numbers(std::span<const std::int64_t> list) { return io::Value(io::Value::List(list.begin(), list.end())); }

io::Value kept_form(const Item& item) {
  io::Value value = io::Value::table();
  value.set("form", name_of(item.form));
  if (item.form == Form::top_k) value.set("k", item.k);
  if (item.form == Form::thumbnail) value.set("block", whole_numbers(item.block));
  return value;
}

// An item's entry of the index.
io::Value item_entry(const Item& item, std::int64_t thumbnail) {
  const PanelShape shape = panel_shape(item, thumbnail);
  io::Value value = io::Value::table();
  value.set("module", item.module);
  value.set("kind", name_of(item.kind));
  value.set("layer", item.layer);
  value.set("heads", item.heads);
  value.set("axes", texts(item.axes));
  value.set("shape", whole_numbers(item.shape));
  value.set("panels", shape.panels);
  value.set("rows", shape.rows);
  value.set("columns", shape.columns);
  value.set("row_axis", shape.row_axis);
  value.set("column_axis", shape.column_axis);
  value.set("thumbnail", whole_numbers(std::array{shape.thumbnail_rows, shape.thumbnail_columns}));
  value.set("kept", kept_form(item));
  return value;
}

io::Value picture_entry(const Picture& picture) {
  io::Value value = io::Value::table();
  value.set("height", picture.height);
  value.set("width", picture.width);
  value.set("channels", picture.channels);
  return value;
}

io::Value sound_entry(const Sound& sound) {
  io::Value value = io::Value::table();
  value.set("rate", sound.rate);
  value.set("samples", sound.samples.size());
  value.set("buckets", std::min(sound_buckets, sound.samples.size()));
  return value;
}

io::Value run_entry(const PageRun& run, Carrier carrier) {
  io::Value value = io::Value::table();
  value.set("name", run.name);
  value.set("system", run.system);
  value.set("can_try", carrier == Carrier::served_with_model);
  value.set("try_hint", run.try_hint);
  return value;
}

// Memory that an item's numbers take.
std::size_t bytes_of_item(const Item& item) { return (item.weights.size() + item.keys.size() + item.entropy.size()) * sizeof(float); }

Item without_numbers(const Item& item) {
  Item layout = item;
  layout.weights = {}, layout.keys = {}, layout.entropy = {};
  return layout;
}

}  // namespace

PageData::PageData(std::unique_ptr<const PageExamples> examples, PageOptions options, Carrier carrier)
    : examples_(std::move(examples)), options_(std::move(options)), carrier_(carrier), tried_(tried_most) {
  if (options_.keep.k < 1 || options_.keep.size < 1)
    throw InvalidArgument(format("expected keep.k and keep.size of at least 1, got {} and {}", options_.keep.k, options_.keep.size));
  if (carrier_ != Carrier::exported) options_.keep = {};
  if (options_.title.empty()) options_.title = options_.run && !options_.run->name.empty() ? options_.run->name : "attend";
}

std::optional<PageAnswer> PageData::answer(std::string_view key) const {
  const auto given = [](std::optional<std::string> bytes, bool is_json) -> std::optional<PageAnswer> {
    if (!bytes) return std::nullopt;
    return PageAnswer{std::move(*bytes), is_json};
  };
  if (key == "record") return PageAnswer{index(), true};
  if (const auto of = numbers_in_key<3>(key, "weights", {"example", "item", "panel"}))
    return given(weights((*of)[0], (*of)[1], (*of)[2]), false);
  if (const auto of = numbers_in_key<2>(key, "thumbnails", {"example", "item"})) return given(thumbnails((*of)[0], (*of)[1]), false);
  if (const auto of = numbers_in_key<2>(key, "summary", {"example", "item"})) return given(summary((*of)[0], (*of)[1]), true);
  if (const auto of = numbers_in_key<1>(key, "picture", {"example"})) return given(picture((*of)[0]), false);
  if (const auto of = numbers_in_key<1>(key, "sound", {"example"})) return given(sound((*of)[0]), false);
  if (const auto of = numbers_in_key<1>(key, "metrics", {"from"})) return given(metrics((*of)[0]), true);
  return std::nullopt;
}

std::vector<std::string> PageData::keys() const {
  std::vector<std::string> keys;
  for (std::size_t e = 0; e < examples_->count(); ++e) {
    const std::shared_ptr<const Example> example = examples_->example(e);
    for (std::size_t i = 0; i < example->items.size(); ++i) {
      for (const char* name : {"summary", "thumbnails"}) keys.push_back(format("{}?example={}&item={}", name, e, i));
      const std::int64_t panels = panel_shape(example->items[i]).panels;
      for (std::int64_t p = 0; p < panels; ++p) keys.push_back(format("weights?example={}&item={}&panel={}", e, i, p));
    }
    if (example->picture) keys.push_back(format("picture?example={}", e));
    if (example->sound) keys.push_back(format("sound?example={}", e));
  }
  if (options_.run) keys.emplace_back("metrics?from=0");
  keys.emplace_back("record");
  return keys;
}

std::string PageData::add(Example example, std::string output) {
  check_example(example);
  for (const Item& item : example.items) check_item(example, item);
  const std::size_t number = examples_->count() + tried_.add(std::move(example), output);
  return format("{{\"example\":{},\"entry\":{},\"output\":{}}}", number, entry(number), io::to_json(io::Value(output)));
}

std::optional<PageData::Place> PageData::find(std::size_t example) const {
  const std::size_t recorded = examples_->count();
  if (example < recorded) return Place{*examples_, example};
  if (example - recorded < tried_.count()) return Place{tried_, example - recorded};
  return std::nullopt;
}

std::optional<PageData::Numbers> PageData::remembered(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(recent_.begin(), recent_.end(), [&](const auto& entry) { return entry.first == key; });
  if (found == recent_.end()) return std::nullopt;
  recent_.splice(recent_.begin(), recent_, found);
  return found->second;
}

void PageData::remember(const Key& key, const Numbers& numbers) const {
  const std::lock_guard lock(mutex_);
  recent_.emplace_front(key, numbers);
  if (numbers.kept != numbers.whole) layouts_[key] = without_numbers(*numbers.kept);
  std::size_t bytes = 0, count = 0;
  for (auto entry = recent_.begin(); entry != recent_.end();) {
    bytes += bytes_of_item(*entry->second.whole);
    entry = ++count > 1 && (count > items_in_memory || bytes > bytes_in_memory) ? recent_.erase(entry) : std::next(entry);
  }
}

std::optional<PageData::Numbers> PageData::numbers(std::size_t example, std::size_t item) const {
  const std::optional<Place> place = find(example);
  if (!place) return std::nullopt;
  if (const auto known = remembered({example, item})) return known;
  Numbers numbers;
  numbers.whole = place->examples.item(place->number, item);
  if (!numbers.whole) return std::nullopt;
  numbers.kept = options_.keep.form == Form::all ? numbers.whole : std::make_shared<const Item>(shortened(*numbers.whole, options_.keep));
  remember({example, item}, numbers);
  return numbers;
}

Item PageData::layout_of(std::size_t example, std::size_t item) const {
  if (options_.keep.form == Form::all) {
    const std::optional<Place> place = find(example);
    return without_numbers(place->examples.example(place->number)->items[item]);
  }
  {
    const std::lock_guard lock(mutex_);
    const auto known = layouts_.find({example, item});
    if (known != layouts_.end()) return known->second;
  }
  return without_numbers(*numbers(example, item)->kept);
}

std::string PageData::entry(std::size_t number) const {
  const std::optional<Place> place = find(number);
  const std::shared_ptr<const Example> example = place->examples.example(place->number);
  io::Value value = io::Value::table(), items = io::Value::list();
  value.set("id", example->id);
  value.set("source", texts(example->source));
  value.set("target", texts(example->target));
  if (number >= examples_->count()) value.set("output", tried_.output(place->number));
  if (!example->sentences.empty()) value.set("sentences", whole_numbers(example->sentences));
  if (example->picture) value.set("picture", picture_entry(*example->picture));
  if (example->sound) value.set("sound", sound_entry(*place->examples.sound(place->number)));
  for (std::size_t i = 0; i < example->items.size(); ++i) items.append(item_entry(layout_of(number, i), thumbnail_size()));
  value.set("items", items);
  return io::to_json(value);
}

std::string PageData::index() const {
  std::vector<std::string> entries;
  {
    const std::lock_guard lock(mutex_);
    entries = entries_;
  }
  if (entries.empty()) {
    for (std::size_t e = 0; e < examples_->count(); ++e) entries.push_back(entry(e));
    const std::lock_guard lock(mutex_);
    entries_ = entries;
  }
  const std::size_t count = examples_->count() + tried_.count();
  for (std::size_t e = examples_->count(); e < count; ++e) entries.push_back(entry(e));
  io::Value head = io::Value::table();
  head.set("format", 1);
  head.set("title", options_.title);
  head.set("served", carrier_ != Carrier::exported);
  head.set("run", options_.run ? run_entry(*options_.run, carrier_) : io::Value());
  head.set("has_metrics", options_.run.has_value());
  std::string text = io::to_json(head);
  text.pop_back();
  text += ",\"examples\":[";
  for (std::size_t e = 0; e < entries.size(); ++e) text += (e == 0 ? "" : ",") + entries[e];
  return text + "]}";
}

std::optional<std::string> PageData::weights(std::size_t example, std::size_t item, std::size_t panel) const {
  const std::optional<Numbers> of = numbers(example, item);
  if (!of || panel >= static_cast<std::size_t>(panel_shape(*of->kept).panels)) return std::nullopt;
  return weight_bytes(*of->kept, static_cast<std::int64_t>(panel));
}

// In a page that is to be small, thumbnails would take as much as the weights.
std::int64_t PageData::thumbnail_size() const { return options_.keep.form == Form::top_k ? 40 : 64; }

std::optional<std::string> PageData::thumbnails(std::size_t example, std::size_t item) const {
  const std::optional<Numbers> of = numbers(example, item);
  if (!of) return std::nullopt;
  // of a top-k item, means of all weights where they are known
  return thumbnail_bytes(of->kept->form == Form::top_k ? *of->whole : *of->kept, thumbnail_size());
}

std::optional<std::string> PageData::summary(std::size_t example, std::size_t item) const {
  const std::optional<Numbers> of = numbers(example, item);
  if (!of) return std::nullopt;
  return io::to_json(summary_value(*of->whole));
}

std::optional<std::string> PageData::picture(std::size_t example) const {
  const std::optional<Place> place = find(example);
  const std::shared_ptr<const Picture> picture = place ? place->examples.picture(place->number) : nullptr;
  if (!picture) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(picture->pixels.data()), picture->pixels.size());
}

std::optional<std::string> PageData::sound(std::size_t example) const {
  const std::optional<Place> place = find(example);
  const std::shared_ptr<const Sound> sound = place ? place->examples.sound(place->number) : nullptr;
  if (!sound) return std::nullopt;
  const std::size_t samples = sound->samples.size(), buckets = std::min(sound_buckets, samples);
  std::vector<float> ends;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const auto first = sound->samples.begin() + static_cast<std::ptrdiff_t>(bucket * samples / buckets);
    const auto end = sound->samples.begin() + static_cast<std::ptrdiff_t>((bucket + 1) * samples / buckets);
    const auto [lowest, highest] = std::minmax_element(first, end);
    ends.insert(ends.end(), {*lowest, *highest});
  }
  return std::string(reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof(float));
}

std::optional<std::string> PageData::metrics(std::uint64_t from) const {
  if (!options_.run) return std::nullopt;
  // what has ended was asked first: lines that come in between are not missed
  const bool finished = options_.run->ended.empty() || std::filesystem::exists(options_.run->ended);
  const std::uint64_t most = carrier_ == Carrier::exported ? UINT64_MAX : metrics_bytes_at_once;
  const MetricsLines metrics = read_metrics(options_.run->metrics, from, most);
  std::string text = format("{{\"next\":{},\"lines\":[", metrics.next);
  for (std::size_t i = 0; i < metrics.lines.size(); ++i) text += (i == 0 ? "" : ",") + metrics.lines[i];
  return text + format("],\"finished\":{}}}", finished && metrics.at_end ? "true" : "false");
}

}  // namespace attend::view
