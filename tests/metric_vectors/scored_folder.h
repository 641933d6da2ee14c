// A folder of files and one expected.json: whatever nobody asks for is noted.
#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/json.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {

using Problems = std::vector<std::string>;

class ScoredFolder {
 public:
  explicit ScoredFolder(std::filesystem::path folder) : folder_(std::move(folder)) { used_.insert("expected.json"); }

  // The table of expected.json; one failed case, and null, where there is none.
  io::Value expected(Tally& tally) const {
    try {
      io::Value table = io::parse_json(io::read_file(folder_ / "expected.json"), (folder_ / "expected.json").string());
      if (table.is_table()) return table;
      tally.run("expected.json", []() -> Problems { return {"not understood: expected a table"}; });
    } catch (const Error& error) {
      tally.run("expected.json", [&]() -> Problems { return {std::string("not understood: ") + error.what()}; });
    }
    return {};
  }

  std::filesystem::path file(const std::string& name) {
    used_.insert(name);
    return folder_ / name;
  }

  std::vector<std::string> lines(const std::string& name) {
    const std::string text = io::read_file(file(name));
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }

  // One failed case for each file that no case read.
  void refuse_the_rest(Tally& tally) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    for (const std::string& name : names)
      if (!used_.contains(name)) tally.run(name, []() -> Problems { return {"not understood: no case reads this file"}; });
  }

 private:
  std::filesystem::path folder_;
  std::set<std::string> used_;
};

// One failed case for each key of `table` that is not among `known`.
inline void refuse_unknown(Tally& tally, const std::string& name, const io::Value& table, const std::vector<std::string>& known) {
  for (const auto& [key, value] : table.as_table())
    if (std::find(known.begin(), known.end(), key) == known.end())
      tally.run(name + "." + key, []() -> Problems { return {"not understood: no adapter knows this key"}; });
}

}  // namespace attend::vectors
