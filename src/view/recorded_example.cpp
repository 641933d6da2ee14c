#include "attend/view/recorded_example.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numbers>
#include <optional>
#include <sstream>

#include "view/record_format.h"

namespace attend::view {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream(path);
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

std::int64_t layer_of(const std::string& module) {
  for (const std::string& part : parts_of(module)) {
    const bool number = !part.empty() && part.size() < 10 && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number) return std::strtoll(part.c_str(), nullptr, 10);
  }
  return 0;
}

std::optional<std::int64_t> dimension_of(const Recording::Item& report, const std::string& axis) {
  const auto found = std::find(report.axes.begin(), report.axes.end(), axis);
  return found == report.axes.end() ? std::nullopt : std::optional<std::int64_t>(found - report.axes.begin());
}

// The same change of weights, keys and entropy.
template <class Change>
void for_each_tensor(Recording::Item& report, Change change) {
  report.tensor = change(report.tensor);
  if (!report.largest) return;
  report.largest->keys = change(report.largest->keys);
  report.largest->entropy = change(report.largest->entropy);
}

Recording::Item of_row(Recording::Item report, std::int64_t row) {
  const std::optional<std::int64_t> batch = dimension_of(report, "batch");
  if (!batch) return report;
  const std::int64_t rows = report.tensor.size(*batch);
  if (row < 0 || row >= rows) throw InvalidArgument(format("expected a row of the batch from 0 to {}, got {}", rows - 1, row));
  for_each_tensor(report, [&](const Tensor& tensor) { return tensor.select(*batch, row); });
  report.axes.erase(report.axes.begin() + *batch);
  return report;
}

bool go_on(const Recording::Item& a, const Recording::Item& b) {
  return a.module == b.module && a.kind == b.kind && a.axes == b.axes && a.largest.has_value() == b.largest.has_value() && dimension_of(a, "query");
}

void append(Recording::Item& report, const Recording::Item& more) {
  const std::int64_t query = *dimension_of(report, "query");
  report.tensor = at::cat({report.tensor, more.tensor}, query);
  if (!report.largest) return;
  report.largest->keys = at::cat({report.largest->keys, more.largest->keys}, query);
  report.largest->entropy = at::cat({report.largest->entropy, more.largest->entropy}, query);
}

std::vector<Recording::Item> joined(const std::vector<Recording::Item>& reports, std::int64_t row) {
  std::vector<Recording::Item> result;
  for (const Recording::Item& report : reports) {
    with_place<InvalidArgument>(format("attend::view::recorded_example: \"{}\" ({})", report.module, report.kind), [&] {
      Recording::Item one = of_row(report, row);
      const auto first = std::find_if(result.begin(), result.end(), [&](const Recording::Item& known) { return go_on(known, one); });
      if (first == result.end())
        result.push_back(std::move(one));
      else
        append(*first, one);
    });
  }
  return result;
}

// What the axes "query" and "key" run along.
std::pair<std::string, std::string> texts_along(const Recording::Item& report, const Example& texts) {
  if (report.kind == "alignment") return {"target", "source"};
  if (report.kind != "self") return {texts.target.empty() ? "query" : "target", "key"};
  const std::vector<std::string> parts = parts_of(report.module);
  const bool decodes = std::find(parts.begin(), parts.end(), "decoder") != parts.end();
  const char* text = texts.source.empty() || (decodes && !texts.target.empty()) ? "target" : "source";
  return {text, text};
}

// Cuts off what lies behind the tokens along `dimension`.
void cut(Recording::Item& report, std::int64_t dimension, const std::string& axis, const Example& texts) {
  if (axis != "source" && axis != "target") return;
  const std::int64_t tokens = static_cast<std::int64_t>((axis == "source" ? texts.source : texts.target).size());
  const bool of_keys = report.largest && dimension == report.tensor.dim() - 1;
  const std::int64_t length = of_keys ? report.largest->length : report.tensor.size(dimension);
  if (tokens > length) throw InvalidArgument(format("expected at most {} {} tokens, as many as were read, got {}", length, axis, tokens));
  if (!of_keys) {
    for_each_tensor(report, [&](const Tensor& tensor) { return tensor.narrow(dimension, 0, tokens); });
    return;
  }
  Recording::Largest& largest = *report.largest;
  const std::int64_t most = std::min(report.tensor.size(dimension), tokens);
  largest.length = tokens;
  // padding has no weight, so that its keys stand behind the others
  largest.keys = largest.keys.masked_fill(largest.keys >= tokens, -1).narrow(dimension, 0, most);
  report.tensor = report.tensor.narrow(dimension, 0, most).masked_fill(largest.keys < 0, 0.0);
}

template <class Number>
std::vector<Number> numbers_of(const Tensor& tensor, at::ScalarType type) {
  const Tensor close = tensor.to(at::kCPU).to(type).contiguous();
  const Number* numbers = close.data_ptr<Number>();
  return std::vector<Number>(numbers, numbers + close.numel());
}

Item item_of(Recording::Item report, const Example& texts) {
  Item item;
  item.module = report.module;
  item.kind = kind_of(report.kind);
  item.layer = layer_of(report.module);
  const auto [rows, columns] = texts_along(report, texts);
  for (std::size_t i = 0; i < report.axes.size(); ++i) {
    std::string axis = report.axes[i] == "query" ? rows : report.axes[i] == "key" ? columns : report.axes[i];
    cut(report, static_cast<std::int64_t>(i), axis, texts);
    item.axes.push_back(std::move(axis));
  }
  item.shape = report.tensor.sizes().vec();
  item.weights = numbers_of<float>(report.tensor, at::kFloat);
  if (const auto head = dimension_of(report, "head")) item.heads = item.shape[static_cast<std::size_t>(*head)];
  if (const auto& largest = report.largest) {
    item.form = Form::top_k;
    item.k = item.shape.back();
    item.shape.back() = largest->length;
    item.keys = numbers_of<std::int32_t>(largest->keys, at::kInt);
    item.entropy = numbers_of<float>(largest->entropy / std::numbers::ln2, at::kFloat);
  }
  check_item(texts, item);
  return item;
}

}  // namespace

Example recorded_example(const std::vector<Recording::Item>& reports, Example texts, std::int64_t row) {
  const torch::NoGradGuard no_gradient;
  with_place<InvalidArgument>("attend::view::recorded_example", [&] { check_example(texts); });
  std::vector<Item> items;
  for (const Recording::Item& report : joined(reports, row))
    with_place<InvalidArgument>(format("attend::view::recorded_example: \"{}\" ({})", report.module, report.kind), [&] { items.push_back(item_of(report, texts)); });
  texts.items.insert(texts.items.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  return texts;
}

}  // namespace attend::view
