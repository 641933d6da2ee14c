#include "attend/data/batches.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "attend/base/error.h"

namespace attend::data {
namespace {

void check_size(std::int64_t size) {
  if (size < 1) throw InvalidArgument(format("attend::data: expected a batch size ≥ 1, got {}", size));
}

// std::shuffle draws as the standard library likes; this draws the same everywhere.
template <class T>
void shuffle(std::vector<T>& items, std::mt19937_64& generator) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[generator() % i]);
}

}  // namespace

std::vector<std::vector<std::int64_t>> epoch_batches(const std::vector<TokenPair>& pairs, const BatchOptions& options, std::uint64_t seed,
                                                     std::int64_t epoch) {
  check_size(options.size);
  std::seed_seq mixed{seed & 0xffffffffu, seed >> 32, static_cast<std::uint64_t>(epoch)};
  std::mt19937_64 generator(mixed);
  std::vector<std::int64_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, generator);
  const auto length = [&](std::int64_t i) {
    const TokenPair& pair = pairs[static_cast<std::size_t>(i)];
    return std::pair(pair.source.size(), pair.target.size());
  };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return length(a) < length(b); });
  std::vector<std::vector<std::int64_t>> batches;
  for (const std::int64_t i : order) {
    const bool full = batches.empty() || static_cast<std::int64_t>(batches.back().size()) >= options.size;
    const bool differs = !batches.empty() && options.equal_source_length && length(batches.back().front()).first != length(i).first;
    if (full || differs) batches.emplace_back();
    batches.back().push_back(i);
  }
  shuffle(batches, generator);
  return batches;
}

std::vector<std::vector<std::int64_t>> length_batches(const std::vector<std::vector<std::int64_t>>& sources, std::int64_t size) {
  check_size(size);
  std::vector<std::int64_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return sources[static_cast<std::size_t>(a)].size() > sources[static_cast<std::size_t>(b)].size();
  });
  std::vector<std::vector<std::int64_t>> batches;
  for (const std::int64_t i : order) {
    if (batches.empty() || static_cast<std::int64_t>(batches.back().size()) >= size) batches.emplace_back();
    batches.back().push_back(i);
  }
  return batches;
}

}  // namespace attend::data
