// Whole files: read at once, written atomically.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "attend/base/api.h"

namespace attend::io {

// The bytes of a file. SystemError "FILE: cannot be opened: …" / "FILE: is a folder, expected a file" / "FILE: cannot be read: …".
ATTEND_API std::string read_file(const std::filesystem::path& file);

// A file that appears whole or not at all: written beside its place as NAME.partial-PID, synced, renamed over NAME, the folder synced.
// Without commit() the destructor removes what was written and the old file stays. Every failure (full disk, no right to write) is a
// SystemError that names the file and the reason; the old file is untouched then. The new file keeps the old one's permissions; where
// NAME is a link, the file that it leads to is replaced; a device or pipe (/dev/stdout) is written to directly. One at a time for each
// NAME in a process.
class ATTEND_API AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error);
  std::filesystem::path file_, partial_;
  int descriptor_ = -1;
};

// AtomicFile in one call.
ATTEND_API void write_file(const std::filesystem::path& file, std::string_view text);

// Adds one line (a newline is appended) to the end of a file, making it where it is missing; under a lock, so that lines of two processes
// don't mix, and a line that can't be written whole is taken back. SystemError as above; InvalidArgument where the line has a newline.
ATTEND_API void append_line(const std::filesystem::path& file, std::string_view line);

// Makes a folder and its parents. SystemError where that fails.
ATTEND_API void make_folders(const std::filesystem::path& folder);

// Removes what a process that died left behind in `folder`: files named *.partial-PID whose process no longer runs. A folder that is
// missing has none. SystemError where one can't be removed.
ATTEND_API void remove_stale_partial_files(const std::filesystem::path& folder);

}  // namespace attend::io
