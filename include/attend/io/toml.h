// TOML text to and from Value: recipes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attend/io/value.h"

namespace attend::io {

// Parses a TOML document into a table; each value carries its line. Dates and times are kept as texts. Keys come in the order of the
// file. InvalidData "NAME:LINE: …" where it is malformed or nested deeper than 200.
ATTEND_API Value parse_toml(std::string_view text, const std::string& name);

// Reads and parses a file. SystemError where it can't be read.
ATTEND_API Value read_toml(const std::filesystem::path& file);

// Parses what stands on the right of `--set key=value`: a TOML value, or, where it is none, the text itself (`general` needs no
// quotes).
ATTEND_API Value parse_toml_value(std::string_view text);

// Writes a table: plain keys first, then each sub-table under its [header], lists of tables as [[header]]; doubles in the shortest form
// that reads back to the same bits. Null values are left out (TOML has none). parse_toml(to_toml(v)) == v for what TOML can hold.
// InvalidArgument where the value is no table.
ATTEND_API std::string to_toml(const Value& table);

}  // namespace attend::io
