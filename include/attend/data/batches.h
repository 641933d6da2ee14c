// Batches of sequences of about the same length.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "attend/base/api.h"

namespace attend::data {

// A pair as numbers, without the tokens of begin and end.
struct TokenPair {
  std::vector<std::int64_t> source, target;
};

struct BatchOptions {
  // Pairs in a batch.
  std::int64_t size = 64;
  // Whether all sources of a batch have the same length, so that none is padded.
  bool equal_source_length = true;
};

// The indices of the pairs of each batch of one epoch. Pairs are grouped by length of source, then of target, at random among
// equals, and the order of the batches is random. The same seed and epoch give the same batches on every machine: that is all the state there is.
ATTEND_API std::vector<std::vector<std::int64_t>> epoch_batches(const std::vector<TokenPair>& pairs, const BatchOptions& options, std::uint64_t seed,
                                                                std::int64_t epoch);

// Batches for reading once in order of length, longest first, without chance.
ATTEND_API std::vector<std::vector<std::int64_t>> length_batches(const std::vector<std::vector<std::int64_t>>& sources, std::int64_t size);

}  // namespace attend::data
