// Levenshtein's edit distance, and what it is good for in messages: "did you mean …?".
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"

namespace attend {

// The smallest number of insertions, deletions and substitutions of single items that turn `a` into `b` (Levenshtein 1966).
// Both are random-access sequences of items that can be compared: characters, tokens. O(|a|·|b|) time, O(|b|) memory.
template <class A, class B>
std::size_t edit_distance(const A& a, const B& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// The member of `known` with the smallest edit distance to `name` (the first of equals), or an empty text where none is near: where more
// than half of the longer name's characters differ.
ATTEND_API std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

// `; did you mean "nearest"?`, or an empty text: to be appended to a message.
ATTEND_API std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace attend
