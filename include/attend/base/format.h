// Text made from a pattern, as std::format (which GCC 12 lacks): format("expected {}, got {:.1f}", 3, 4.5).
//
// The formatting library stays in one source: it is slow to compile, and libtorch 2.x ships another version of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "attend/base/api.h"

namespace attend {

// One argument of format(): an integer, a floating-point number or a text.
class FormatArgument {
 public:
  FormatArgument(std::integral auto value) : value_(static_cast<std::int64_t>(value)) {}
  FormatArgument(std::floating_point auto value) : value_(static_cast<double>(value)) {}
  FormatArgument(const char* value) : value_(std::string_view(value)) {}
  FormatArgument(std::string_view value) : value_(value) {}
  FormatArgument(const std::string& value) : value_(std::string_view(value)) {}

  const auto& value() const { return value_; }

 private:
  std::variant<std::int64_t, double, std::string_view> value_;
};

ATTEND_API std::string format_arguments(std::string_view pattern, std::initializer_list<FormatArgument> arguments);

// Replaces each `{}` or `{:specification}` of `pattern` by the argument at its place. A pattern that doesn't fit its arguments is an
// error of the caller's code: std::logic_error.
template <class... Arguments>
std::string format(std::string_view pattern, const Arguments&... arguments) {
  return format_arguments(pattern, {FormatArgument(arguments)...});
}

}  // namespace attend
