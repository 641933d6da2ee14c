#include "attend/view/shorten.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "view/block_means.h"
#include "view/record_format.h"

namespace attend::view {
namespace {

using Rows = std::vector<std::span<const float>>;

Rows rows_of(const Item& item) {
  const auto columns = static_cast<std::size_t>(item.shape.back());
  Rows rows;
  for (std::size_t begin = 0; columns > 0 && begin < item.weights.size(); begin += columns) rows.push_back(std::span(item.weights).subspan(begin, columns));
  return rows;
}

// Whether weight a of column i comes before weight b of column j: NaN first, then the larger, then the first column.
bool comes_first(float a, std::int32_t i, float b, std::int32_t j) {
  if (std::isnan(a) != std::isnan(b)) return std::isnan(a);
  if (!std::isnan(a) && a != b) return a > b;
  return i < j;
}

void keep_largest(const Rows& rows, std::int64_t k, Item& kept) {
  kept.form = Form::top_k;
  kept.k = k;
  std::vector<std::int32_t> order;
  for (const std::span<const float> row : rows) {
    order.resize(row.size());
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](std::int32_t i, std::int32_t j) { return comes_first(row[static_cast<std::size_t>(i)], i, row[static_cast<std::size_t>(j)], j); };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    for (std::int64_t n = 0; n < k; ++n) {
      const std::int32_t key = order[static_cast<std::size_t>(n)];
      const float weight = row[static_cast<std::size_t>(key)];
      kept.weights.push_back(weight);
      kept.keys.push_back(weight == 0 ? -1 : key);
    }
  }
}

// Means of the blocks of one panel, behind the others in `kept`.
void add_thumbnail(std::span<const std::span<const float>> rows, Item& kept) {
  const std::int64_t columns = kept.shape.back();
  BlockMeans means(static_cast<std::int64_t>(rows.size()), columns, kept.block[0], kept.block[1]);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t c = 0; c < columns; ++c) means.add(static_cast<std::int64_t>(r), c, rows[r][static_cast<std::size_t>(c)]);
  means.append_to(kept.weights);
}

void keep_blocks(const Rows& rows, std::int64_t size, Item& kept) {
  kept.form = Form::thumbnail;
  for (std::size_t i = 0; i < 2; ++i) kept.block[i] = block_length(kept.shape[kept.shape.size() - 2 + i], size);
  const auto row_count = static_cast<std::size_t>(kept.shape[kept.shape.size() - 2]);
  for (std::size_t first = 0; first < rows.size(); first += row_count) add_thumbnail(std::span(rows).subspan(first, row_count), kept);
}

// Numbers that each form needs of a panel with `rows` and `columns`; a key is one too.
bool would_be_smaller(const Item& item, const Keep& keep) {
  const std::int64_t rows = item.shape[item.shape.size() - 2], columns = item.shape.back();
  if (rows == 0 || columns == 0) return false;
  if (keep.form == Form::top_k) return keep.k < columns / 2;
  return keep.form == Form::thumbnail && (keep.size < rows || keep.size < columns);
}

}  // namespace

float row_entropy(const float* weights, std::int64_t columns) {
  double sum = 0, weighted = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    const double weight = weights[c];
    if (!std::isfinite(weight) || weight <= 0) continue;
    sum += weight;
    weighted += weight * std::log2(weight);
  }
  // of w/s: −Σ w/s (log w − log s) = log s − Σ w log w / s
  return sum > 0 ? static_cast<float>(std::max(0.0, std::log2(sum) - weighted / sum)) : 0;
}

Item shortened(const Item& item, const Keep& keep) {
  if (keep.k < 1 || keep.size < 1) throw InvalidArgument(format("expected k and size of at least 1, got {} and {}", keep.k, keep.size));
  if (item.form != Form::all || item.shape.size() < 2 || item.kind == Kind::glimpse || !would_be_smaller(item, keep)) return item;
  const Rows rows = rows_of(item);
  Item kept = item;
  kept.weights.clear();
  if (keep.form == Form::top_k)
    keep_largest(rows, keep.k, kept);
  else
    keep_blocks(rows, keep.size, kept);
  kept.entropy = item.entropy;
  if (kept.entropy.empty())
    for (const std::span<const float> row : rows) kept.entropy.push_back(row_entropy(row.data(), static_cast<std::int64_t>(row.size())));
  return kept;
}

}  // namespace attend::view
