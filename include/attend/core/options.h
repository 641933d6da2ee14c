// Options: plain structs that say once what their fields are.
//
//   struct ExampleOptions {
//     std::int64_t hidden = 256;
//     Score score = Score::general;
//     template <class Self, class Visitor>
//     static void visit(Self& self, Visitor& visitor) {
//       visitor("hidden", self.hidden, "width of the hidden layer");
//       visitor("score", self.score, "how a query and a key are compared");
//     }
//   };
//
// From that one visit come: reading a recipe or `--set`, hints for misspelt keys, the resolved recipe, the model's metadata and the tables of
// the documentation. Fields may be bool, std::int64_t, double, std::string, std::vector<std::string> (one text counts as a list of one), enums with
// an EnumNames, std::optional of those, and options structs.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attend/base/api.h"
#include "attend/base/error.h"
#include "attend/io/value.h"

namespace attend {

template <class E>
struct EnumName {
  E value;
  std::string_view name;
};

// Specialise with `static constexpr EnumName<E> values[] = {…}` for each enum that an option may hold.
template <class E>
struct EnumNames;

template <class E>
std::string_view name_of(E value) {
  for (const EnumName<E>& entry : EnumNames<E>::values)
    if (entry.value == value) return entry.name;
  throw InvalidArgument("attend: an enumeration holds a value without a name");
}

template <class E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const EnumName<E>& entry : EnumNames<E>::values) names.emplace_back(entry.name);
  return names;
}

// One row of the documentation's table: dotted name, default as it would stand in a recipe, what it means, allowed names where there are some.
struct OptionDescription {
  std::string name, default_text, meaning;
  std::vector<std::string> choices;
};

namespace options_detail {

struct IgnoreAll {
  template <class T>
  void operator()(std::string_view, T&, std::string_view) {}
};

template <class T>
concept Group = requires(T& value, IgnoreAll& visitor) { T::visit(value, visitor); };

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

// What an optional may hold; any other type itself.
template <class T>
struct bare {
  using type = T;
};
template <class T>
struct bare<std::optional<T>> {
  using type = T;
};
template <class T>
using bare_type = typename bare<T>::type;

// Where a value stands: "recipes/x.toml:12: train.steps", for messages. The line is left out where it is 0, the path where it is empty.
ATTEND_API std::string place_text(const std::string& source, int line, const std::string& path);
[[noreturn]] ATTEND_API void refuse_kind(const std::string& place, const char* expected, const io::Value& got);
[[noreturn]] ATTEND_API void refuse_choice(const std::string& place, const std::string& got, const std::vector<std::string>& choices);
ATTEND_API void refuse_unknown_keys(const std::string& source, const std::string& path, const io::Value& table,
                                    const std::vector<std::string>& known);

ATTEND_API void read_scalar(const std::string& place, const io::Value& from, bool& to);
ATTEND_API void read_scalar(const std::string& place, const io::Value& from, std::int64_t& to);
ATTEND_API void read_scalar(const std::string& place, const io::Value& from, double& to);
ATTEND_API void read_scalar(const std::string& place, const io::Value& from, std::string& to);
ATTEND_API void read_scalar(const std::string& place, const io::Value& from, std::vector<std::string>& to);

template <class E>
  requires std::is_enum_v<E>
void read_scalar(const std::string& place, const io::Value& from, E& to) {
  std::string name;
  read_scalar(place, from, name);
  for (const EnumName<E>& entry : EnumNames<E>::values)
    if (entry.name == name) {
      to = entry.value;
      return;
    }
  refuse_choice(place, name, names_of<E>());
}

class Reader {
 public:
  Reader(const io::Value& table, std::string path, const std::string& source) : table_(table), path_(std::move(path)), source_(source) {}

  template <class T>
  void operator()(std::string_view name, T& to, std::string_view) {
    known_.emplace_back(name);
    const io::Value* from = table_.find(name);
    if (from == nullptr) return;
    const std::string path = path_.empty() ? std::string(name) : path_ + "." + std::string(name);
    const std::string place = place_text(source_, from->line(), path);
    if constexpr (Group<T>) {
      if (!from->is_table()) refuse_kind(place, "a table", *from);
      Reader inner(*from, path, source_);
      T::visit(to, inner);
      inner.finish();
    } else if constexpr (is_optional<T>::value) {
      typename T::value_type value{};
      read_scalar(place, *from, value);
      to = value;
    } else {
      read_scalar(place, *from, to);
    }
  }

  void finish() const { refuse_unknown_keys(source_, path_, table_, known_); }

 private:
  const io::Value& table_;
  std::string path_;
  const std::string& source_;
  std::vector<std::string> known_;
};

template <class T>
io::Value scalar_value(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return io::Value(name_of(value));
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    io::Value list = io::Value::list();
    for (const std::string& item : value) list.append(item);
    return list;
  } else {
    return io::Value(value);
  }
}

class Writer {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value, std::string_view) {
    if constexpr (Group<T>) {
      Writer inner;
      T::visit(value, inner);
      table.set(name, std::move(inner.table));
    } else if constexpr (is_optional<T>::value) {
      if (value) table.set(name, scalar_value(*value));
    } else {
      table.set(name, scalar_value(value));
    }
  }
  io::Value table = io::Value::table();
};

class Describer {
 public:
  explicit Describer(std::string path) : path_(std::move(path)) {}

  template <class T>
  void operator()(std::string_view name, const T& value, std::string_view meaning) {
    const std::string path = path_.empty() ? std::string(name) : path_ + "." + std::string(name);
    if constexpr (Group<T>) {
      Describer inner(path);
      T::visit(value, inner);
      rows.insert(rows.end(), inner.rows.begin(), inner.rows.end());
    } else {
      OptionDescription row{path, "", std::string(meaning), {}};
      if constexpr (is_optional<T>::value) {
        if (value) row.default_text = text_of(scalar_value(*value));
      } else {
        row.default_text = text_of(scalar_value(value));
      }
      if constexpr (std::is_enum_v<bare_type<T>>) row.choices = names_of<bare_type<T>>();
      rows.push_back(std::move(row));
    }
  }
  std::vector<OptionDescription> rows;

 private:
  ATTEND_API static std::string text_of(const io::Value& value);
  std::string path_;
};

}  // namespace options_detail

// Sets the fields of `options` that `table` holds. InvalidArgument "SOURCE:LINE: PATH: …" for a key that is unknown (with the nearest one), a
// value of the wrong kind, a name that is none of the choices, and where `table` is none.
//   source  the file that the table came from, or what else to call it
//   path    the dotted name of the table itself ("model"), empty for a whole recipe
template <class T>
void read_options(T& options, const io::Value& table, const std::string& source, const std::string& path = "") {
  if (!table.is_table()) options_detail::refuse_kind(options_detail::place_text(source, table.line(), path), "a table", table);
  options_detail::Reader reader(table, path, source);
  T::visit(options, reader);
  reader.finish();
}

// All fields as a table, in the order of the visit. Empty optionals are left out.
template <class T>
io::Value write_options(const T& options) {
  options_detail::Writer writer;
  T::visit(options, writer);
  return std::move(writer.table);
}

// One row for each field, nested ones by their dotted names.
template <class T>
std::vector<OptionDescription> describe_options(const T& defaults = {}, const std::string& path = "") {
  options_detail::Describer describer(path);
  T::visit(defaults, describer);
  return std::move(describer.rows);
}

}  // namespace attend
