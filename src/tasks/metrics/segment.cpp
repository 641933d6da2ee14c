#include "tasks/metrics/segment.h"

#include <unicode/utf8.h>

#include <limits>

#include "attend/base/error.h"

namespace attend::tasks {

std::u32string code_points(std::string_view text) {
  if (text.size() > std::numeric_limits<std::int32_t>::max()) throw InvalidArgument("attend::tasks: expected a text below 2 GiB; split it");
  std::u32string points;
  points.reserve(text.size());
  const auto length = static_cast<std::int32_t>(text.size());
  for (std::int32_t i = 0; i < length;) {
    UChar32 point;
    U8_NEXT_OR_FFFD(text.data(), i, length, point);
    points += static_cast<char32_t>(point);
  }
  return points;
}

std::string to_utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t point : text) {
    char buffer[U8_MAX_LENGTH];
    std::int32_t length = 0;
    U8_APPEND_UNSAFE(buffer, length, static_cast<UChar32>(point));
    bytes.append(buffer, static_cast<std::size_t>(length));
  }
  return bytes;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::vector<std::string> split_words(std::u32string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end =
        static_cast<std::size_t>(std::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_space) - text.begin());
    if (end > begin) words.push_back(to_utf8(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return words;
}

}  // namespace attend::tasks
