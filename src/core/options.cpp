#include "attend/core/options.h"

#include <algorithm>

#include "attend/base/edit_distance.h"
#include "attend/io/json.h"

namespace attend::options_detail {

std::string place_text(const std::string& source, int line, const std::string& path) {
  const std::string place = line > 0 ? format("{}:{}", source, line) : source;
  return path.empty() ? place : format("{}: {}", place, path);
}

void refuse_kind(const std::string& place, const char* expected, const io::Value& got) {
  throw InvalidArgument(format("{}: expected {}, got {}", place, expected, got.kind()));
}

void refuse_choice(const std::string& place, const std::string& got, const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "\"" : ", \"") + choice + "\"";
  throw InvalidArgument(format("{}: expected one of {}, got \"{}\"{}", place, list, got, did_you_mean(got, choices)));
}

void refuse_unknown_keys(const std::string& source, const std::string& path, const io::Value& table, const std::vector<std::string>& known) {
  for (const auto& [key, value] : table.as_table()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string whole = path.empty() ? key : path + "." + key;
    std::string hint = did_you_mean(key, known);
    if (hint.empty() && !known.empty()) {
      hint = "; known here: ";
      for (std::size_t i = 0; i < known.size(); ++i) hint += (i == 0 ? "" : ", ") + known[i];
    }
    throw InvalidArgument(format("{}: unknown key{}", place_text(source, value.line(), whole), hint));
  }
}

void read_scalar(const std::string& place, const io::Value& from, bool& to) {
  if (!from.is_bool()) refuse_kind(place, "true or false", from);
  to = from.as_bool();
}

void read_scalar(const std::string& place, const io::Value& from, std::int64_t& to) {
  if (!from.is_integer()) refuse_kind(place, "an integer", from);
  to = from.as_integer();
}

void read_scalar(const std::string& place, const io::Value& from, double& to) {
  if (!from.is_number()) refuse_kind(place, "a number", from);
  to = from.as_number();
}

void read_scalar(const std::string& place, const io::Value& from, std::string& to) {
  if (!from.is_text()) refuse_kind(place, "a text", from);
  to = from.as_text();
}

void read_scalar(const std::string& place, const io::Value& from, std::vector<std::string>& to) {
  if (from.is_text()) {
    to = {from.as_text()};
    return;
  }
  if (!from.is_list()) refuse_kind(place, "a text or a list of texts", from);
  to.clear();
  for (const io::Value& item : from.as_list()) {
    if (!item.is_text()) refuse_kind(place, "a list of texts", item);
    to.push_back(item.as_text());
  }
}

std::string Describer::text_of(const io::Value& value) { return io::to_json(value); }

}  // namespace attend::options_detail
