#include "view/metrics_lines.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "attend/io/json.h"

namespace attend::view {
namespace {

// Up to `most` bytes from byte `from` on; `from` becomes 0, and nothing is read, where the file ends before it.
std::string read_part(const std::filesystem::path& file, std::uint64_t& from, std::uint64_t most) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    from = 0;
    return "";
  }
  const std::uint64_t size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream)
    throw SystemError(format("{}: cannot be opened: {}", file.string(), error ? error.message() : std::strerror(errno)));
  if (from > size) from = 0, most = 0;
  if (from == size || most == 0) return "";
  std::string part(std::min(most, size - from), '\0');
  stream.seekg(static_cast<std::streamoff>(from));
  stream.read(part.data(), static_cast<std::streamsize>(part.size()));
  if (stream.bad()) throw SystemError(format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  part.resize(static_cast<std::size_t>(stream.gcount()));
  return part;
}

void add_line(std::string_view line, MetricsLines& metrics) {
  try {
    const io::Value value = io::parse_json(line, "metrics");
    if (value.is_table()) metrics.lines.push_back(io::to_json(value));
  } catch (const InvalidData&) {
    // a line that a disk lost in part says nothing
  }
}

}  // namespace

MetricsLines read_metrics(const std::filesystem::path& file, std::uint64_t from, std::uint64_t most) {
  const std::uint64_t asked = from;
  const std::string part = read_part(file, from, most);
  MetricsLines metrics{.next = from, .at_end = from == asked && part.size() < most};
  std::size_t begin = 0;
  for (std::size_t end; (end = part.find('\n', begin)) != std::string::npos; begin = end + 1)
    add_line(std::string_view(part).substr(begin, end - begin), metrics);
  // a line longer than all that may be read is none of ours: go on behind what was seen of it
  metrics.next = from + (begin == 0 && part.size() == most ? part.size() : begin);
  return metrics;
}

}  // namespace attend::view
