#include "attend/data/sets/cmudict.h"

#include <algorithm>
#include <set>

#include "attend/base/error.h"
#include "attend/data/sets/debian_package.h"
#include "attend/data/split.h"
#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::data {
namespace {

constexpr auto dictionary_path = "usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict";

std::size_t distinct_words(const std::vector<TextPair>& pairs) {
  std::set<std::string> words;
  for (const TextPair& pair : pairs) words.insert(pair.source);
  return words.size();
}

io::Value counts(const std::vector<TextPair>& pairs) {
  io::Value value = io::Value::table();
  value.set("words", distinct_words(pairs));
  value.set("pronunciations", pairs.size());
  return value;
}

std::string tsv(const std::vector<TextPair>& pairs) {
  std::string text;
  for (const TextPair& pair : pairs) text += pair.source + "\t" + pair.target + "\n";
  return text;
}

}  // namespace

Part part_of(std::string_view key) {
  const std::uint32_t hundredth = hash_part(key, 100);
  return hundredth < 9 ? Part::test : hundredth < 11 ? Part::valid : Part::train;
}

SplitPairs read_cmudict(const std::filesystem::path& file) {
  const std::string text = io::read_file(file);
  SplitPairs split;
  std::int64_t line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view content = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++line;
    if (content.empty()) continue;
    const std::size_t space = content.find(' ');
    if (space == std::string_view::npos || space + 1 >= content.size())
      throw InvalidData(format("{}:{}: expected a word and its phonemes, got \"{}\"", file.string(), line, content));
    const std::string_view word = content.substr(0, std::min(content.find('('), space));
    const Part part = part_of(word);
    auto& pairs = part == Part::test ? split.test : part == Part::valid ? split.valid : split.train;
    pairs.push_back({std::string(word), std::string(content.substr(space + 1)), line});
  }
  return split;
}

io::Value make_cmudict(const std::filesystem::path& folder) {
  const DebianPackage package("pocketsphinx-en-us");
  const SplitPairs split = read_cmudict(package.file(dictionary_path));
  io::make_folders(folder);
  io::write_file(folder / "train.tsv", tsv(split.train));
  io::write_file(folder / "valid.tsv", tsv(split.valid));
  io::write_file(folder / "test.tsv", tsv(split.test));
  io::Value source = io::Value::table();
  source.set("name", "cmudict");
  source.set("source", "Debian package pocketsphinx-en-us " + package.version() + ", " + dictionary_path);
  source.set("licence", "BSD-2-Clause (the CMU Pronouncing Dictionary, Carnegie Mellon University)");
  source.set("split", "by word: crc32(word) mod 100 below 9 test, below 11 validation, else train");
  source.set("train", counts(split.train));
  source.set("valid", counts(split.valid));
  source.set("test", counts(split.test));
  io::write_file(folder / "SOURCE.json", io::to_pretty_json(source) + "\n");
  return source;
}

}  // namespace attend::data
