#include "view/panel_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "view/block_means.h"
#include "view/record_format.h"

namespace attend::view {
namespace {

template <class Number>
void append_numbers(std::string& bytes, std::span<const Number> numbers) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

// What an item holds of each panel: a matrix of weights or of blocks' means.
struct HeldMatrix {
  std::int64_t rows = 1, columns = 1;
};

HeldMatrix held_matrix(const Item& item) {
  const std::vector<std::int64_t> shape = held_shape(item);
  return {shape.size() < 2 ? 1 : shape[shape.size() - 2], shape.empty() ? 1 : shape.back()};
}

template <class Number>
std::span<const Number> part_of(const std::vector<Number>& numbers, std::int64_t part, std::int64_t length) {
  return std::span(numbers).subspan(static_cast<std::size_t>(part * length), static_cast<std::size_t>(length));
}

// The slots of a row in the order of their weights: NaN, the largest, …, those without a key.
std::vector<std::size_t> slots_by_weight(std::span<const float> weights, std::span<const std::int32_t> keys) {
  std::vector<std::size_t> slots(weights.size());
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  const auto rank = [&](std::size_t slot) { return keys[slot] < 0 ? 2 : std::isnan(weights[slot]) ? 0 : 1; };
  std::stable_sort(slots.begin(), slots.end(), [&](std::size_t a, std::size_t b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return rank(a) == 1 && weights[a] > weights[b];
  });
  return slots;
}

template <class Column>
void append_columns(std::string& bytes, const std::vector<std::int32_t>& keys) {
  std::vector<Column> columns;
  for (const std::int32_t key : keys) columns.push_back(static_cast<Column>(key));  // −1 becomes the largest number
  append_numbers(bytes, std::span<const Column>(columns));
}

std::string top_k_bytes(const Item& item, std::int64_t panel) {
  const HeldMatrix held = held_matrix(item);
  std::vector<float> weights;
  std::vector<std::int32_t> keys;
  for (std::int64_t row = panel * held.rows; row < (panel + 1) * held.rows; ++row) {
    const auto row_weights = part_of(item.weights, row, item.k);
    const auto row_keys = part_of(item.keys, row, item.k);
    for (const std::size_t slot : slots_by_weight(row_weights, row_keys))
      weights.push_back(row_weights[slot]), keys.push_back(row_keys[slot]);
  }
  std::string bytes;
  append_numbers(bytes, std::span<const float>(weights));
  if (item.shape.back() <= 65535)
    append_columns<std::uint16_t>(bytes, keys);
  else
    append_columns<std::uint32_t>(bytes, keys);
  return bytes;
}

// A row of an item, or, of a thumbnail, of its blocks: calls visit(column, weight) for what is held.
template <class Visit>
void visit_row(const Item& item, std::int64_t row, Visit visit) {
  const std::int64_t length = item.form == Form::top_k ? item.k : held_matrix(item).columns;
  const auto weights = part_of(item.weights, row, length);
  for (std::int64_t at = 0; at < length; ++at) {
    const auto slot = static_cast<std::size_t>(at);
    const std::int64_t column = item.form == Form::top_k ? item.keys[static_cast<std::size_t>(row * length + at)] : at;
    if (column >= 0) visit(column, weights[slot]);
  }
}

// Means of the blocks of one panel of `matrix.rows` × `matrix.columns`, at most `most` blocks each way.
void add_block_means(const Item& item, std::int64_t panel, const HeldMatrix& matrix, std::int64_t most, std::vector<float>& means) {
  BlockMeans blocks(matrix.rows, matrix.columns, block_length(matrix.rows, most), block_length(matrix.columns, most));
  for (std::int64_t row = 0; row < (item.weights.empty() ? 0 : matrix.rows); ++row)
    visit_row(item, panel * matrix.rows + row, [&](std::int64_t column, float weight) { blocks.add(row, column, weight); });
  blocks.append_to(means);
}

// What a thumbnail is taken of: of an item that is one itself, its blocks.
HeldMatrix drawn_matrix(const Item& item) {
  if (item.form == Form::thumbnail) return held_matrix(item);
  return {item.shape.size() < 2 ? 1 : item.shape[item.shape.size() - 2], item.shape.empty() ? 1 : item.shape.back()};
}

// What a panel's summary is summed up from.
struct PanelSums {
  double largest = 0, entropy = 0, distance = 0, weight = 0;
  std::int64_t not_a_number = 0;
};

// The places that block number `block` of `wide` each covers, of `length`: its middle and how many there are.
struct BlockPlaces {
  double middle = 0, count = 1;
};

BlockPlaces block_places(std::int64_t block, double wide, std::int64_t length) {
  const double first = static_cast<double>(block) * wide, end = std::min(first + wide, static_cast<double>(length));
  return {(first + end - 1) / 2, end - first};
}

// One row of a panel, or of a thumbnail's blocks.
void add_row(const Item& item, std::int64_t held_row, const BlockPlaces& rows, const PanelShape& shape, PanelSums& sums) {
  const double diagonal = shape.rows > 1 ? rows.middle * static_cast<double>(shape.columns - 1) / static_cast<double>(shape.rows - 1) : 0;
  const double wide = item.form == Form::thumbnail ? static_cast<double>(item.block[1]) : 1;
  double row_weight = 0, row_information = 0;
  visit_row(item, held_row, [&](std::int64_t column, float held) {
    const double weight = static_cast<double>(held);
    if (std::isnan(weight)) ++sums.not_a_number;
    if (!std::isfinite(weight)) return;
    sums.largest = std::max(sums.largest, weight);
    if (weight <= 0) return;
    const BlockPlaces columns = block_places(column, wide, shape.columns);
    row_weight += columns.count * weight;
    row_information += columns.count * weight * std::log2(weight);
    sums.weight += rows.count * columns.count * weight;
    sums.distance += rows.count * columns.count * weight * std::abs(columns.middle - diagonal);
  });
  // of w/s: −Σ w/s (log w − log s) = log s − Σ w log w / s
  if (row_weight > 0) sums.entropy += rows.count * std::max(0.0, std::log2(row_weight) - row_information / row_weight);
}

// That of a shortened item's rows was summed up when all weights were there.
double told_entropy(const Item& item, std::int64_t panel, const PanelShape& shape) {
  const auto rows = part_of(item.entropy, panel, shape.rows);
  return std::accumulate(rows.begin(), rows.end(), 0.0);
}

io::Value panel_summary(const Item& item, std::int64_t panel, const PanelShape& shape, const HeldMatrix& held) {
  const double high = item.form == Form::thumbnail ? static_cast<double>(item.block[0]) : 1;
  PanelSums sums;
  if (!item.weights.empty()) {
    for (std::int64_t row = 0; row < held.rows; ++row)
      add_row(item, panel * held.rows + row, block_places(row, high, shape.rows), shape, sums);
    if (item.form != Form::all && !item.entropy.empty()) sums.entropy = told_entropy(item, panel, shape);
  }
  io::Value value = io::Value::table();
  value.set("largest", sums.largest);
  value.set("entropy", shape.rows > 0 && std::isfinite(sums.entropy) ? sums.entropy / static_cast<double>(shape.rows) : 0.0);
  value.set("distance", sums.weight > 0 ? sums.distance / sums.weight : 0.0);
  value.set("not_a_number", sums.not_a_number);
  return value;
}

// The product of all lengths but the last two. Of an item that holds no number, whose product may be beyond any bound, at most
// `empty_panels`.
std::int64_t panel_count(const Item& item) {
  constexpr std::int64_t empty_panels = 1024;
  const std::vector<std::int64_t> held = held_shape(item);
  const bool is_empty = std::find(held.begin(), held.end(), 0) != held.end();
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 2 < item.shape.size(); ++axis) {
    if (item.shape[axis] == 0) return 0;
    count = is_empty && item.shape[axis] > empty_panels / count ? empty_panels : count * item.shape[axis];
  }
  return count;
}

}  // namespace

PanelShape panel_shape(const Item& item, std::int64_t thumbnail) {
  PanelShape shape;
  const std::size_t axes = item.shape.size();
  shape.panels = panel_count(item);
  if (axes >= 1) shape.columns = item.shape.back(), shape.column_axis = item.axes.back();
  if (axes >= 2) shape.rows = item.shape[axes - 2], shape.row_axis = item.axes[axes - 2];
  const HeldMatrix drawn = drawn_matrix(item);
  shape.thumbnail_rows = blocks_of(drawn.rows, block_length(drawn.rows, thumbnail));
  shape.thumbnail_columns = blocks_of(drawn.columns, block_length(drawn.columns, thumbnail));
  return shape;
}

std::string weight_bytes(const Item& item, std::int64_t panel) {
  if (item.weights.empty()) return "";
  if (item.form == Form::top_k) return top_k_bytes(item, panel);
  const HeldMatrix held = held_matrix(item);
  std::string bytes;
  append_numbers(bytes, part_of(item.weights, panel, held.rows * held.columns));
  return bytes;
}

std::string thumbnail_bytes(const Item& item, std::int64_t thumbnail) {
  const PanelShape shape = panel_shape(item, thumbnail);
  std::vector<float> means;
  for (std::int64_t panel = 0; panel < shape.panels; ++panel) add_block_means(item, panel, drawn_matrix(item), thumbnail, means);
  std::string bytes;
  append_numbers(bytes, std::span<const float>(means));
  return bytes;
}

io::Value summary_value(const Item& item) {
  const PanelShape shape = panel_shape(item);
  const HeldMatrix held = held_matrix(item);
  io::Value panels = io::Value::list();
  for (std::int64_t panel = 0; panel < shape.panels; ++panel) panels.append(panel_summary(item, panel, shape, held));
  io::Value value = io::Value::table();
  value.set("panels", panels);
  return value;
}

}  // namespace attend::view
