#include "attend/view/panels.h"

#include <algorithm>
#include <cmath>

#include "attend/base/format.h"
#include "attend/data/unicode.h"

namespace attend::view {
namespace {

const std::vector<std::string>* tokens_along(const Example& example, const std::string& axis) {
  if (axis == "source") return &example.source;
  if (axis == "target") return &example.target;
  return nullptr;
}

std::vector<std::string> labels_along(const Example& example, const std::string& axis, std::int64_t length, std::int64_t block) {
  std::vector<std::string> numbers;
  if (block > 1) {
    for (std::int64_t first = 0; first < length; first += block) numbers.push_back(format("{}–{}", first + 1, std::min(first + block, length)));
    return numbers;
  }
  if (const auto* tokens = tokens_along(example, axis)) return *tokens;
  for (std::int64_t i = 1; i <= length; ++i) numbers.push_back(format("{}", i));
  return numbers;
}

// "target 3 of 9: chat, head 1 of 2": the place of panel `number` on each leading axis that has more than one.
std::string panel_heading(const Example& example, const Item& item, std::size_t leading, std::int64_t number) {
  std::string heading;
  for (std::size_t axis = leading; axis-- > 0;) {
    const std::int64_t length = item.shape[axis], place = number % length;
    number /= length;
    if (length == 1) continue;
    std::string part = format("{} {} of {}", item.axes[axis], place + 1, length);
    if (const auto* tokens = tokens_along(example, item.axes[axis])) part += ": " + (*tokens)[static_cast<std::size_t>(place)];
    heading = heading.empty() ? part : part + ", " + heading;
  }
  return heading;
}

// What a title says of an item that doesn't hold all.
std::string note_of(const Item& item) {
  if (item.form == Form::top_k) return format(" (the {} largest of each row)", item.k);
  if (item.form == Form::thumbnail) return format(" (means of {} × {})", item.block[0], item.block[1]);
  return "";
}

// The weights of a top_k item in their columns, 0 elsewhere: `places` of them.
std::vector<float> in_their_columns(const Item& item, std::size_t places) {
  const auto columns = static_cast<std::size_t>(item.shape.back()), k = static_cast<std::size_t>(item.k);
  std::vector<float> weights(places);
  for (std::size_t i = 0; i < item.keys.size(); ++i)
    if (item.keys[i] >= 0) weights[i / k * columns + static_cast<std::size_t>(item.keys[i])] = item.weights[i];
  return weights;
}

}  // namespace

Panels panels_of(const Example& example, const Item& item) {
  check_item(example, item);
  const std::size_t axes = item.axes.size(), leading = axes > 2 ? axes - 2 : 0;
  Panels result;
  result.title = item.module + (item.layer > 0 ? format(", layer {}", item.layer) : std::string()) + note_of(item);
  result.column_axis = item.axes.back();
  result.column_labels = labels_along(example, result.column_axis, item.shape.back(), item.block[1]);
  result.row_labels = {""};
  if (axes > 1) {
    result.row_axis = item.axes[axes - 2];
    result.row_labels = labels_along(example, result.row_axis, item.shape[axes - 2], item.block[0]);
  }
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < leading; ++axis) count *= item.shape[axis];
  if (result.row_labels.empty() || result.column_labels.empty()) return result;
  const std::size_t area = result.row_labels.size() * result.column_labels.size();
  if (item.form == Form::top_k) result.restored = std::make_shared<const std::vector<float>>(in_their_columns(item, static_cast<std::size_t>(count) * area));
  const std::span<const float> all = result.restored ? std::span(*result.restored) : std::span(item.weights);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto weights = all.subspan(static_cast<std::size_t>(i) * area, area);
    result.panels.push_back({panel_heading(example, item, leading, i), weights});
  }
  return result;
}

bool is_blank_token(std::string_view token) { return !token.empty() && token.find_first_not_of(' ') == token.npos; }

std::string printable_token(std::string_view token) {
  if (is_blank_token(token)) {
    std::string symbols;
    for (std::size_t i = 0; i < token.size(); ++i) symbols += "␣";
    return symbols;
  }
  const std::string safe = data::replace_controls(token);
  const bool starts_with_mark = !safe.empty() && data::display_width(data::graphemes(safe).front()) == 0;
  return starts_with_mark ? "◌" + safe : safe;
}

std::optional<std::int64_t> strongest_column(std::span<const float> row) {
  std::optional<std::int64_t> strongest;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) continue;
    if (!strongest || row[i] > row[static_cast<std::size_t>(*strongest)]) strongest = static_cast<std::int64_t>(i);
  }
  if (strongest && row[static_cast<std::size_t>(*strongest)] == 0) return std::nullopt;
  return strongest;
}

float largest_weight(const Item& item) {
  float largest = 0;
  for (const float weight : item.weights) {
    if (std::isfinite(weight) && weight > largest) largest = weight;
  }
  return largest;
}

}  // namespace attend::view
