// Lines from a file or standard input, as soon as they are there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend::cli {

class LineReader {
 public:
  // A path, or "-" for standard input. SystemError where it can't be opened.
  explicit LineReader(const std::string& file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Waits for one line, then takes those that are there already, `most` at the most. Empty: the end. Lines come without "\n" or "\r\n",
  // the first one without a byte order mark.
  std::vector<std::string> next(std::size_t most);

  // "FILE" or "standard input".
  const std::string& name() const { return name_; }

 private:
  // Reads once; false where the end was reached, or where it would have to wait and may not.
  bool fill(bool may_wait);

  std::string name_, buffer_;
  int descriptor_ = -1;
  bool ended_ = false, began_ = false;
};

}  // namespace attend::cli
