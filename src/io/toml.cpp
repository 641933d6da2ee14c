#include "attend/io/toml.h"

namespace attend::io {
[[noreturn]] static void fail_assertion();
}

// Header-only, so that nothing else has to link the library for the sake of this one source, and its assertions can be caught: malformed
// texts break them (`a = [}` in 3.3), which would end the program, or without them be undefined.
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#undef NDEBUG
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) ((condition) ? void() : attend::io::fail_assertion())
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::io {
namespace {

struct AssertionFailed {};

}  // namespace

static void fail_assertion() { throw AssertionFailed(); }

namespace {

constexpr std::size_t deepest = 200;

// Adds up brackets and the dots of keys. toml++ limits neither the parts of a dotted key nor what they and brackets come to together,
// and destroys what it built by recursion: a hostile text would overflow the stack.
class DepthGuard {
 public:
  DepthGuard(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void check() {
    while (here_ < text_.size()) {
      const char c = text_[here_];
      if (c == '#')
        here_ = std::min(text_.find('\n', here_), text_.size());
      else if (c == '"' || c == '\'')
        skip_text(c);
      else
        count(c), ++here_;
    }
  }

 private:
  void count(char c) {
    line_ += c == '\n';
    if (c == '.') ++dots_.back(), ++depth_;
    if (c == '[' || c == '{') dots_.push_back(0), ++depth_;
    const bool closes = c == ']' || c == '}';
    if (c == '\n' || c == ',' || closes) depth_ -= std::exchange(dots_.back(), 0);
    if (closes && dots_.size() > 1) dots_.pop_back(), --depth_;
    if (depth_ > deepest)
      throw InvalidData(format("{}:{}: expected at most {} tables or lists within each other, got more", name_, line_, deepest));
  }

  // Over a text in one or three quotes. Where it doesn't end, toml++ stops there too.
  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool long_text = text_.substr(here_, 3) == three;
    here_ += long_text ? 3 : 1;
    for (; here_ < text_.size(); ++here_) {
      if (text_[here_] == '\n' && !long_text) return;
      line_ += text_[here_] == '\n';
      if (text_[here_] == '\\' && quote == '"') {
        ++here_;
        line_ += here_ < text_.size() && text_[here_] == '\n';
      } else if (long_text ? text_.substr(here_, 3) == three : text_[here_] == quote) {
        here_ += long_text ? 3 : 1;
        // A long text may end in up to two quotes of its own.
        for (int own = 0; long_text && own < 2 && here_ < text_.size() && text_[here_] == quote; ++own) ++here_;
        return;
      }
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t here_ = 0;
  int line_ = 1;
  std::size_t depth_ = 0;
  std::vector<std::size_t> dots_ = {0};  // of the key at hand, one entry for each open bracket
};

Value convert(const toml::node& node);

Value convert_table(const toml::table& table) {
  // toml++ sorts by key; a key's own place tells the order of the file.
  std::vector<std::tuple<toml::source_position, std::string, const toml::node*>> found;
  for (const auto& [key, node] : table) found.emplace_back(key.source().begin, std::string(key.str()), &node);
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  Value::Table entries;
  for (auto& [place, key, node] : found) entries.emplace_back(std::move(key), convert(*node));
  return Value::table(std::move(entries));
}

Value convert_list(const toml::array& array) {
  Value::List list;
  for (const toml::node& node : array) list.push_back(convert(node));
  return list;
}

template <class Time>
std::string time_text(const Time& time) {
  std::ostringstream text;
  text << time;
  return text.str();
}

Value convert(const toml::node& node) {
  Value value = node.visit([](const auto& held) -> Value {
    if constexpr (toml::is_table<decltype(held)>)
      return convert_table(held);
    else if constexpr (toml::is_array<decltype(held)>)
      return convert_list(held);
    else if constexpr (toml::is_date<decltype(held)> || toml::is_time<decltype(held)> || toml::is_date_time<decltype(held)>)
      return time_text(*held);
    else
      return *held;
  });
  value.set_line(static_cast<int>(node.source().begin.line));
  return value;
}

bool is_list_of_tables(const Value& value) {
  if (!value.is_list() || value.as_list().empty()) return false;
  return std::ranges::all_of(value.as_list(), [](const Value& item) { return item.is_table(); });
}

// What stands under a [header] of its own.
bool has_header(const Value& value) { return value.is_table() || is_list_of_tables(value); }

// JSON's escapes are TOML's too, except that TOML wants one for the delete character.
std::string quoted(const std::string& text) {
  std::string json = to_json(text);
  for (std::size_t place = 0; (place = json.find('\x7f', place)) != std::string::npos;) json.replace(place, 1, "\\u007F");
  return json;
}

std::string key_text(const std::string& key) {
  constexpr std::string_view bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !key.empty() && key.find_first_not_of(bare) == std::string::npos ? key : quoted(key);
}

std::string number_text(double value) {
  if (std::isfinite(value)) return to_json(value);
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string inline_text(const Value& value);

std::string inline_list(const Value::List& list) {
  std::string text;
  for (const Value& item : list)
    if (!item.is_null()) text += (text.empty() ? "" : ", ") + inline_text(item);
  return "[" + text + "]";
}

std::string inline_table(const Value::Table& table) {
  std::string text;
  for (const auto& [key, value] : table)
    if (!value.is_null()) text += (text.empty() ? " " : ", ") + key_text(key) + " = " + inline_text(value);
  return text.empty() ? "{}" : "{" + text + " }";
}

std::string inline_text(const Value& value) {
  if (value.is_table()) return inline_table(value.as_table());
  if (value.is_list()) return inline_list(value.as_list());
  if (value.is_text()) return quoted(value.as_text());
  return value.is_number() && !value.is_integer() ? number_text(value.as_number()) : to_json(value);
}

void write_table(const Value::Table& table, const std::string& path, std::string& text);

void write_under_header(const std::string& header, const Value& table, const std::string& path, std::string& text) {
  if (!text.empty()) text += '\n';
  text += header + "\n";
  write_table(table.as_table(), path, text);
}

void write_table(const Value::Table& table, const std::string& path, std::string& text) {
  for (const auto& [key, value] : table)
    if (!value.is_null() && !has_header(value)) text += key_text(key) + " = " + inline_text(value) + "\n";
  for (const auto& [key, value] : table) {
    if (!has_header(value)) continue;
    const std::string below = path.empty() ? key_text(key) : path + "." + key_text(key);
    if (value.is_table()) {
      const Value::Table& entries = value.as_table();
      // A table with nothing but tables is made by their headers.
      const bool implied = !entries.empty() && std::ranges::all_of(entries, [](const auto& entry) { return has_header(entry.second); });
      if (implied)
        write_table(entries, below, text);
      else
        write_under_header("[" + below + "]", value, below, text);
    } else {
      for (const Value& item : value.as_list()) write_under_header("[[" + below + "]]", item, below, text);
    }
  }
}

bool breaks_assertion(std::string_view text) {
  try {
    (void)toml::parse(text);
  } catch (const toml::parse_error&) {
  } catch (const AssertionFailed&) {
    return true;
  }
  return false;
}

// The first line with which the text breaks an assertion, which doesn't say where it is: by halving, as more lines don't mend it.
std::size_t line_of_assertion(std::string_view text) {
  std::vector<std::size_t> ends;  // of the lines
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1)) ends.push_back(end);
  const auto broken = [&](std::size_t end) { return breaks_assertion(text.substr(0, end)); };
  const auto first = std::ranges::partition_point(ends, [&](std::size_t end) { return !broken(end); });
  return static_cast<std::size_t>(first - ends.begin()) + 1;
}

void clear_lines(Value& value) {
  value.set_line(0);
  if (value.is_list())
    for (Value& item : value.as_list()) clear_lines(item);
  if (value.is_table())
    for (const auto& [key, entry] : value.as_table()) clear_lines(*value.find(key));
}

}  // namespace

Value parse_toml(std::string_view text, const std::string& name) {
  DepthGuard(text, name).check();
  try {
    return convert(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    throw InvalidData(format("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description()));
  } catch (const AssertionFailed&) {
    throw InvalidData(
        format("{}:{}: not valid TOML: expected a value, or the bracket that closes the list", name, line_of_assertion(text)));
  }
}

Value read_toml(const std::filesystem::path& file) { return parse_toml(read_file(file), file.string()); }

Value parse_toml_value(std::string_view text) {
  try {
    // As a value and within a list, so that neither a comment (`5 # x`) nor a comma (`5,`) nor a line that follows is swallowed.
    const Value alone = parse_toml("value = " + std::string(text), "value");
    const Value listed = parse_toml("value = [" + std::string(text) + "]", "value");
    if (alone.as_table().size() == 1 && listed.as_table().size() == 1 && listed.at("value").as_list().size() == 1) {
      Value value = alone.at("value");
      clear_lines(value);
      return value;
    }
  } catch (const InvalidData&) {
    // no TOML: the text itself
  }
  return text;
}

std::string to_toml(const Value& table) {
  std::string text;
  write_table(table.as_table(), "", text);
  return text;
}

}  // namespace attend::io
