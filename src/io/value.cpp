#include "attend/io/value.h"

#include <algorithm>

#include "attend/base/edit_distance.h"
#include "attend/base/error.h"

namespace attend::io {
namespace {

template <class T, class Data>
auto& expect(Data& data, const char* expected, const Value& value) {
  if (auto* held = std::get_if<T>(&data)) return *held;
  throw InvalidArgument(format("expected {}, got {}", expected, value.kind()));
}

const Value* find_key(const Value::Table& table, std::string_view key) {
  const auto found = std::ranges::find(table, key, &Value::Table::value_type::first);
  return found == table.end() ? nullptr : &found->second;
}

bool same_tables(const Value::Table& a, const Value::Table& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Value* other = b[i].first == a[i].first ? &b[i].second : find_key(b, a[i].first);
    if (!other || !(*other == a[i].second)) return false;
  }
  return true;
}

// Takes the first part off a dotted path.
std::string_view take_part(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view part = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return part;
}

}  // namespace

Value Value::table(Table entries) {
  Value value;
  value.data_ = std::move(entries);
  return value;
}

std::string Value::kind() const {
  static constexpr const char* kinds[] = {"null", "a boolean", "an integer", "a number", "a text", "a list", "a table"};
  return kinds[data_.index()];
}

bool Value::as_bool() const { return expect<bool>(data_, "a boolean", *this); }
std::int64_t Value::as_integer() const { return expect<std::int64_t>(data_, "an integer", *this); }
double Value::as_number() const {
  return is_integer() ? static_cast<double>(std::get<std::int64_t>(data_)) : expect<double>(data_, "a number", *this);
}
const std::string& Value::as_text() const { return expect<std::string>(data_, "a text", *this); }
const Value::List& Value::as_list() const { return expect<List>(data_, "a list", *this); }
Value::List& Value::as_list() { return expect<List>(data_, "a list", *this); }
const Value::Table& Value::as_table() const { return expect<Table>(data_, "a table", *this); }

const Value* Value::find(std::string_view key) const {
  const Table* table = std::get_if<Table>(&data_);
  return table ? find_key(*table, key) : nullptr;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

const Value& Value::at(std::string_view key) const {
  const Table& table = expect<Table>(data_, "a table", *this);
  if (const Value* found = find_key(table, key)) return *found;
  std::vector<std::string> known;
  for (const auto& [name, value] : table) known.push_back(name);
  throw InvalidArgument(format("expected a table with the key \"{}\", which is missing{}", key, did_you_mean(key, known)));
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) data_ = Table();
  Table& table = expect<Table>(data_, "a table", *this);
  if (Value* found = find(key)) return *found = std::move(value);
  return table.emplace_back(std::string(key), std::move(value)).second;
}

const Value* Value::find_path(std::string_view path) const {
  const Value* here = this;
  do here = here->find(take_part(path));
  while (here && !path.empty());
  return here;
}

Value& Value::set_path(std::string_view path, Value value) {
  const std::string_view whole = path;
  if (path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos)
    throw InvalidArgument(format("expected keys with dots between them (train.steps), got \"{}\"", whole));
  Value* here = this;
  for (;;) {
    if (!here->is_null() && !here->is_table())
      throw InvalidArgument(format("\"{}\" cannot be set: expected a table before \"{}\", got {}", whole, path, here->kind()));
    const std::string_view part = take_part(path);
    if (path.empty()) return here->set(part, std::move(value));
    Value* next = here->find(part);
    here = next ? next : &here->set(part, table());
  }
}

void Value::append(Value value) {
  if (is_null()) data_ = List();
  expect<List>(data_, "a list", *this).push_back(std::move(value));
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_table() && b.is_table()) return same_tables(a.as_table(), b.as_table());
  return a.data_ == b.data_;
}

}  // namespace attend::io
