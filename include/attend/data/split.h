// Splits by hash: the same key falls into the same part on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/pairs.h"

namespace attend::data {

// A data set's three parts.
struct SplitPairs {
  std::vector<TextPair> train, valid, test;
};

// CRC-32 (zlib's) of the key's bytes, modulo `parts`.
ATTEND_API std::uint32_t hash_part(std::string_view key, std::uint32_t parts);

// Takes 2 % of the pairs, by the hash of the source, for validation: pairs with the same source stay together. A set
// without such a source gives those of the smallest hash; a single source is not split. → {rest, validation}
ATTEND_API std::pair<std::vector<TextPair>, std::vector<TextPair>> take_validation(std::vector<TextPair> pairs);

}  // namespace attend::data
