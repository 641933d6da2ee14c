#include "attend/data/split.h"

#include <zlib.h>

#include <algorithm>

namespace attend::data {

std::uint32_t hash_part(std::string_view key, std::uint32_t parts) {
  const unsigned long sum = crc32(0, reinterpret_cast<const unsigned char*>(key.data()), static_cast<unsigned>(key.size()));
  return static_cast<std::uint32_t>(sum) % parts;
}

std::pair<std::vector<TextPair>, std::vector<TextPair>> take_validation(std::vector<TextPair> pairs) {
  // a small set has at least the source with the smallest hash
  std::uint32_t smallest = 50;
  for (const TextPair& pair : pairs) smallest = std::min(smallest, hash_part(pair.source, 50));
  std::pair<std::vector<TextPair>, std::vector<TextPair>> parts;
  for (TextPair& pair : pairs) (hash_part(pair.source, 50) == smallest ? parts.second : parts.first).push_back(std::move(pair));
  if (parts.first.empty()) std::swap(parts.first, parts.second);
  return parts;
}

}  // namespace attend::data
