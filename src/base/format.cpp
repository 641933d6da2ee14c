#include "attend/base/format.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <stdexcept>

namespace attend {

std::string format_arguments(std::string_view pattern, std::initializer_list<FormatArgument> arguments) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const FormatArgument& argument : arguments)
    std::visit([&](const auto& value) { store.push_back(value); }, argument.value());
  try {
    return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
  } catch (const fmt::format_error& error) {
    throw std::logic_error("attend::format: \"" + std::string(pattern) + "\": " + error.what());
  }
}

}  // namespace attend
