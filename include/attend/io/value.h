// A tree of plain values, as JSON and TOML hold them: what recipes, metadata and machine-readable output are made of.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attend/base/api.h"

namespace attend::io {

// null, bool, 64-bit integer, double, text, list, or table. A table keeps the order in which its keys were set, so that what is written
// reads as it was meant and the same tree always gives the same bytes.
class ATTEND_API Value {
 public:
  using List = std::vector<Value>;
  using Table = std::vector<std::pair<std::string, Value>>;

  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(std::integral auto value) : data_(static_cast<std::int64_t>(value)) {}
  Value(std::floating_point auto value) : data_(static_cast<double>(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(List value) : data_(std::move(value)) {}
  Value(const void*) = delete;  // a pointer would become a bool

  static Value list() { return Value(List()); }
  static Value table() { return table(Table()); }
  static Value table(Table entries);  // no key twice

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(data_); }
  bool is_text() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_table() const { return std::holds_alternative<Table>(data_); }
  // "an integer", "a table", …: for messages.
  std::string kind() const;

  // What it holds. InvalidArgument where it holds something else ("expected a text, got a list"); an integer is also a number.
  bool as_bool() const;
  std::int64_t as_integer() const;
  double as_number() const;
  const std::string& as_text() const;
  const List& as_list() const;
  List& as_list();
  const Table& as_table() const;

  // Tables. find(): null pointer where the key is absent or this is no table. at(): InvalidArgument that names the key. set(): adds or
  // replaces; null becomes a table.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  const Value& at(std::string_view key) const;
  Value& set(std::string_view key, Value value);

  // A dotted path of table keys: find_path("model.attention.score"). set_path() makes the tables that are missing and throws
  // InvalidArgument where the path has an empty part or runs through something that is not a table.
  const Value* find_path(std::string_view path) const;
  Value& set_path(std::string_view path, Value value);

  // Lists; null becomes a list.
  void append(Value value);

  // The line of the source file that this value came from; 0 where unknown. Not part of equality.
  int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  // Tables are equal whatever the order of their keys; 1 and 1.0 differ.
  ATTEND_API friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table> data_;
  int line_ = 0;
};

}  // namespace attend::io
