// Pairs of texts from files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"

namespace attend {
namespace data {

// What the columns of a TSV file after the second are: nothing, or more targets of the same source, each a pair of its own; empty ones are left out.
enum class FurtherColumns { ignored, targets };

}  // namespace data

template <>
struct EnumNames<data::FurtherColumns> {
  static constexpr EnumName<data::FurtherColumns> values[] = {{data::FurtherColumns::ignored, "ignored"}, {data::FurtherColumns::targets, "targets"}};
};

namespace data {

struct TextPair {
  std::string source, target;
  std::int64_t line = 0;  // of the file, from 1
};

struct Pairs {
  std::vector<TextPair> pairs;
  std::int64_t empty_lines = 0;  // left out: both sides empty
};

// The longest line that is read, in bytes: a longer one is rather a file of another kind than a text.
inline constexpr std::size_t longest_line = 64 * 1024;

// Reads `source TAB target` lines. InvalidData "FILE:LINE: …" for one column, one empty side, bytes that are not UTF-8, a line
// longer than longest_line; SystemError where the file can't be read. "\r\n" counts as a line's end, a byte order mark is skipped.
ATTEND_API Pairs read_tsv(const std::filesystem::path& file, FurtherColumns further = FurtherColumns::ignored);

// Reads two files whose lines belong together. As above, and InvalidData where they differ in length, with both counts.
ATTEND_API Pairs read_parallel(const std::filesystem::path& source, const std::filesystem::path& target);

// Checks one line of text as the readers do. `place` is "FILE:LINE".
ATTEND_API void check_line(const std::string& place, const std::string& line);

// Several targets of one source, in the order of their first appearance: what a prediction is scored against.
struct References {
  std::string source;
  std::vector<std::string> targets;
};
ATTEND_API std::vector<References> gather_references(const std::vector<TextPair>& pairs);

}  // namespace data
}  // namespace attend
