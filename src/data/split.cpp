#include "attend/data/split.h"

#include <zlib.h>

namespace attend::data {

std::uint32_t hash_part(std::string_view key, std::uint32_t parts) {
  const unsigned long sum = crc32(0, reinterpret_cast<const unsigned char*>(key.data()), static_cast<unsigned>(key.size()));
  return static_cast<std::uint32_t>(sum) % parts;
}

std::pair<std::vector<TextPair>, std::vector<TextPair>> take_validation(std::vector<TextPair> pairs) {
  std::pair<std::vector<TextPair>, std::vector<TextPair>> parts;
  for (TextPair& pair : pairs) (hash_part(pair.source, 50) == 0 ? parts.second : parts.first).push_back(std::move(pair));
  return parts;
}

}  // namespace attend::data
