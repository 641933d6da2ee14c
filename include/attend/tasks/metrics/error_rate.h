// Error rates of sequences against several references: PER and WER of pronunciations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/api.h"

namespace attend::tasks {

using Tokens = std::vector<std::string>;

// Sums over items; the reference of an item is the one nearest to the hypothesis (the smallest edit distance; the first of equals).
class ATTEND_API ErrorRate {
 public:
  // InvalidArgument where `references` is empty.
  void add(const Tokens& hypothesis, const std::vector<Tokens>& references);

  std::int64_t items() const { return items_; }
  // PER: 100 · Σ edit distance to the nearest reference / Σ length of that reference.
  double token_errors() const;
  // WER: 100 · items that equal none of their references / items.
  double sequence_errors() const;

 private:
  std::int64_t items_ = 0, wrong_ = 0, edits_ = 0, tokens_ = 0;
};

}  // namespace attend::tasks
