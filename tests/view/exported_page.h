// What an exported page holds, read as a browser would: keys with their bytes.
#pragma once

#include <glib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::view {

inline std::string decoded_base64(const std::string& text) {
  gsize size = 0;
  guchar* bytes = g_base64_decode(text.c_str(), &size);
  std::string decoded(reinterpret_cast<const char*>(bytes), size);
  g_free(bytes);
  return decoded;
}

inline std::string unescaped(std::string text) {
  for (std::size_t at; (at = text.find("&amp;")) != std::string::npos;) text.replace(at, 5, "&");
  return text;
}

struct ExportedPage {
  explicit ExportedPage(const std::filesystem::path& file) : html(io::read_file(file)) {
    const std::string begin = "<script type=\"text/plain\" data-key=\"", middle = "\">", end = "</script>";
    for (std::size_t at = 0; (at = html.find(begin, at)) != std::string::npos;) {
      const std::size_t key = at + begin.size(), key_end = html.find(middle, key), data = key_end + middle.size(),
                        data_end = html.find(end, data);
      data_by_key[unescaped(html.substr(key, key_end - key))] = decoded_base64(html.substr(data, data_end - data));
      at = data_end;
    }
  }

  const std::string& bytes(const std::string& key) const { return data_by_key.at(key); }
  io::Value json(const std::string& key) const { return io::parse_json(data_by_key.at(key), key); }
  // The entry of an item in the index.
  io::Value item(std::size_t example, std::size_t item) const {
    return json("record").at("examples").as_list().at(example).at("items").as_list().at(item);
  }

  std::string html;
  std::map<std::string, std::string> data_by_key;
};

template <class Number>
std::vector<Number> numbers_of(std::string_view bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

}  // namespace attend::view
