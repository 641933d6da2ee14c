#include "attend/io/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "attend/base/error.h"

namespace attend::io {
namespace {

constexpr std::size_t deepest = 200;
constexpr std::size_t longest_quotation = 200;  // of the text, in a message

// Walks over the text and remembers how far the parser has read, so that values and messages carry their line.
class ReadingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ReadingIterator(const char* place, const char** furthest) : place_(place), furthest_(furthest) {}
  reference operator*() const { return *place_; }
  ReadingIterator& operator++() {
    *furthest_ = ++place_;
    return *this;
  }
  ReadingIterator operator++(int) {
    ReadingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const ReadingIterator& other) const { return place_ == other.place_; }
  bool operator!=(const ReadingIterator& other) const { return place_ != other.place_; }

 private:
  const char* place_;
  const char** furthest_;
};

// Builds the tree from the parser's events. The parser itself doesn't recurse; the depth is limited for those who walk the tree.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const std::string& name, DuplicateKeys duplicates)
      : furthest_(text.data()), counted_(text.data()), name_(name), duplicates_(duplicates) {}

  const char** furthest() { return &furthest_; }
  Value take_root() { return std::move(root_); }

  bool null() { return add(Value(), line()); }
  bool boolean(bool value) { return add(value, line()); }
  bool number_integer(std::int64_t value) { return add(value, line()); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) refuse_integer(std::to_string(value));
    return add(value, line());
  }
  bool number_float(double value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) refuse_integer(text);
    return add(value, line());
  }
  bool string(std::string& value) { return add(std::move(value), line()); }
  bool binary(std::vector<std::uint8_t>&) { fail("expected JSON text, got binary data"); }

  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() {
    drop_duplicates(open_.back().table);
    return close();
  }
  bool end_array() { return close(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    // The library's own words begin after its error number and place.
    const std::string what = error.what();
    const std::size_t syntax = what.find("syntax error");
    const std::size_t number = what.find("] ");
    const std::size_t words = syntax != std::string::npos ? syntax : number != std::string::npos ? number + 2 : 0;
    fail("not valid JSON: " + what.substr(words, longest_quotation));
  }

  [[noreturn]] void fail(const std::string& what) { throw InvalidData(format("{}:{}: {}", name_, line(), what)); }

 private:
  struct Container {
    bool is_table = false;
    int line = 0;
    std::string key;
    Value::Table table;
    Value::List list;
  };

  // The line of the last character read, but for one: after a number the parser has already seen the character behind it.
  int line() {
    for (; counted_ + 1 < furthest_; ++counted_) line_ += *counted_ == '\n';
    return line_;
  }

  bool add(Value value, int line) {
    value.set_line(line);
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().is_table)
      open_.back().table.emplace_back(std::move(open_.back().key), std::move(value));
    else
      open_.back().list.push_back(std::move(value));
    return true;
  }

  bool open(bool is_table) {
    if (open_.size() == deepest) fail(format("expected at most {} lists or tables within each other, got more", deepest));
    open_.push_back({is_table, line(), {}, {}, {}});
    return true;
  }

  bool close() {
    Container container = std::move(open_.back());
    open_.pop_back();
    return add(container.is_table ? Value::table(std::move(container.table)) : Value(std::move(container.list)), container.line);
  }

  // By sorting: a hostile text may have very many keys. The last value of a key takes the place of its first.
  void drop_duplicates(Value::Table& table) {
    std::vector<std::size_t> order(table.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const std::string& { return table[i].first; });
    std::vector<bool> dropped(table.size());
    for (std::size_t i = 0, first = 0; i < order.size(); ++i) {
      if (i == 0 || table[order[i]].first != table[order[first]].first) {
        first = i;
        continue;
      }
      if (duplicates_ == DuplicateKeys::refuse) fail(format("the key {} occurs twice in one table", quote(table[order[i]].first)));
      std::swap(table[order[first]].second, table[order[i]].second);
      dropped[order[i]] = true;
    }
    std::size_t index = 0;
    std::erase_if(table, [&](const auto&) { return dropped[index++]; });
  }

  [[noreturn]] void refuse_integer(const std::string& text) {
    fail(format("expected an integer between -2^63 and 2^63 - 1, got {}", text.substr(0, longest_quotation)));
  }

  static std::string quote(const std::string& text) { return to_json(text.substr(0, longest_quotation)); }

  const char* furthest_;
  const char* counted_;
  int line_ = 1;
  const std::string& name_;
  DuplicateKeys duplicates_;
  std::vector<Container> open_;
  Value root_;
};

std::string shortest(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  std::string text(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

// Writes a tree; `indent` spaces a level over several lines, or everything in one line where it is 0.
class Writer {
 public:
  explicit Writer(std::size_t indent) : indent_(indent) {}

  std::string text;

  void write(const Value& value, std::size_t depth) {
    if (value.is_list())
      write_items(value.as_list(), depth, '[', ']', [&](const Value& item) { write(item, depth + 1); });
    else if (value.is_table())
      write_items(value.as_table(), depth, '{', '}', [&](const auto& entry) {
        text += quoted(entry.first) + (indent_ ? ": " : ":");
        write(entry.second, depth + 1);
      });
    else
      text += plain(value);
  }

 private:
  static std::string plain(const Value& value) {
    if (value.is_bool()) return value.as_bool() ? "true" : "false";
    if (value.is_integer()) return std::to_string(value.as_integer());
    if (value.is_number()) return shortest(value.as_number());
    return value.is_text() ? quoted(value.as_text()) : "null";
  }

  template <class Items, class WriteItem>
  void write_items(const Items& items, std::size_t depth, char open, char close, WriteItem write_item) {
    text += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) text += ',';
      first = false;
      begin_line(depth + 1);
      write_item(item);
    }
    if (!items.empty()) begin_line(depth);
    text += close;
  }

  void begin_line(std::size_t depth) {
    if (indent_) text.append(1, '\n').append(depth * indent_, ' ');
  }

  std::size_t indent_;
};

std::string write(const Value& value, std::size_t indent) {
  Writer writer(indent);
  writer.write(value, 0);
  return std::move(writer.text);
}

}  // namespace

Value parse_json(std::string_view text, const std::string& name, DuplicateKeys duplicates) {
  TreeBuilder builder(text, name, duplicates);
  const char* end = text.data() + text.size();
  // The parser takes a zero byte for the end of the text and would not look at what follows.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    *builder.furthest() = text.data() + zero + 1;
    builder.fail("not valid JSON: a zero byte");
  }
  nlohmann::json::sax_parse(ReadingIterator(text.data(), builder.furthest()), ReadingIterator(end, builder.furthest()), &builder);
  return builder.take_root();
}

std::string to_json(const Value& value) { return write(value, 0); }

std::string to_pretty_json(const Value& value) { return write(value, 2); }

}  // namespace attend::io
