// JSON text to and from Value.
#pragma once

#include <string>
#include <string_view>

#include "attend/io/value.h"

namespace attend::io {

enum class DuplicateKeys { last_counts, refuse };

// Parses one JSON text (RFC 8259; UTF-8); each value carries its line. `name` stands in messages for where it came from. InvalidData
// "NAME:LINE: …" where it is malformed, nested deeper than 200, has an integer beyond int64 or a number beyond double, or, where
// `duplicates` says so, a key twice in one table.
ATTEND_API Value parse_json(std::string_view text, const std::string& name, DuplicateKeys duplicates = DuplicateKeys::last_counts);

// One line without spaces around separators, keys in their order, non-ASCII characters as they are, doubles in the shortest form that
// reads back to the same bits (1.0 as 1.0, so that it stays a number with a fraction). NaN and infinities, which JSON lacks, become
// null. Text that is not valid UTF-8 has its bad bytes replaced by U+FFFD.
ATTEND_API std::string to_json(const Value& value);

// The same over several lines, indented by two spaces.
ATTEND_API std::string to_pretty_json(const Value& value);

}  // namespace attend::io
