// Texts as the scores see them: code points, words between white space, counts of n-grams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::tasks {

// Bytes that are not UTF-8 become U+FFFD.
std::u32string code_points(std::string_view text);
std::string to_utf8(std::u32string_view text);

// White space as Python's str.split() has it, which sacreBLEU splits by: Unicode's, and the separators U+001C to U+001F.
bool is_space(char32_t code_point);
std::vector<std::string> split_words(std::u32string_view text);

struct Lexicographic {
  template <class Range>
  bool operator()(const Range& a, const Range& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

template <class Item>
using NgramCounts = std::map<std::span<const Item>, std::int64_t, Lexicographic>;

// The n-grams of a sequence, which must outlive them, and how often each occurs.
template <class Item>
NgramCounts<Item> count_ngrams(std::span<const Item> sequence, std::size_t n) {
  NgramCounts<Item> counts;
  for (std::size_t i = 0; i + n <= sequence.size(); ++i) ++counts[sequence.subspan(i, n)];
  return counts;
}

// Σ over the n-grams of `a` of the smaller count.
template <class Item>
std::int64_t count_matches(const NgramCounts<Item>& a, const NgramCounts<Item>& b) {
  std::int64_t matches = 0;
  for (const auto& [ngram, count] : a)
    if (const auto found = b.find(ngram); found != b.end()) matches += std::min(count, found->second);
  return matches;
}

inline std::int64_t number_of_ngrams(std::size_t length, std::size_t n) {
  return length < n ? 0 : static_cast<std::int64_t>(length - n + 1);
}

}  // namespace attend::tasks
