#include "cli/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "attend/base/error.h"
#include "attend/data/pairs.h"

namespace attend::cli {

LineReader::LineReader(const std::string& file) : name_(file == "-" ? "standard input" : file) {
  descriptor_ = file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw SystemError(format("{}: cannot be opened: {}", name_, std::strerror(errno)));
}

LineReader::~LineReader() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

bool LineReader::fill(bool may_wait) {
  if (ended_) return false;
  pollfd wanted{descriptor_, POLLIN, 0};
  if (!may_wait && poll(&wanted, 1, 0) <= 0) return false;
  std::array<char, 65536> chunk;
  ssize_t count;
  do count = read(descriptor_, chunk.data(), chunk.size());
  while (count < 0 && errno == EINTR);
  if (count < 0) throw SystemError(format("{}: cannot be read: {}", name_, std::strerror(errno)));
  if (count == 0) ended_ = true;
  buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::vector<std::string> LineReader::next(std::size_t most) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    const std::size_t end = buffer_.find('\n');
    if (end == std::string::npos) {
      // a line without an end is read on, but never more of it than any line may have: its reader will refuse it
      const bool too_long = buffer_.size() > data::longest_line + 1;
      if (!too_long && fill(/*may_wait=*/lines.empty())) continue;
      const bool complete = too_long || (ended_ && !buffer_.empty());
      if (complete) lines.push_back(std::exchange(buffer_, {}));
      break;
    }
    lines.push_back(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
  }
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  if (!lines.empty() && !std::exchange(began_, true) && lines[0].starts_with("\xEF\xBB\xBF")) lines[0].erase(0, 3);
  return lines;
}

}  // namespace attend::cli
