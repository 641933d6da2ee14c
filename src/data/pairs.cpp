#include "attend/data/pairs.h"

#include <algorithm>
#include <unordered_map>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "attend/io/file.h"

namespace attend::data {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::string text = io::read_file(file);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    check_line(format("{}:{}", file.string(), lines.size() + 1), line);
    lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t") == std::string::npos; }

// Takes a pair whose sides both hold something; counts one whose sides are both empty.
void add(Pairs& pairs, const std::string& place, std::string source, std::string target, std::size_t line) {
  const bool no_source = is_blank(source), no_target = is_blank(target);
  if (no_source && no_target) {
    ++pairs.empty_lines;
  } else if (no_source || no_target) {
    throw InvalidData(format("{}: the {} is empty, but the other side is not; remove the pair or complete it", place, no_source ? "source" : "target"));
  } else {
    pairs.pairs.push_back({std::move(source), std::move(target), static_cast<std::int64_t>(line)});
  }
}

}  // namespace

void check_line(const std::string& place, const std::string& line) {
  if (line.size() > longest_line)
    throw InvalidData(format("{}: the line has {} bytes, at most {} are read; is this a text with one example a line?", place, line.size(), longest_line));
  if (const auto bad = first_invalid_utf8(line))
    throw InvalidData(format("{}: byte {} (0x{:02x}) is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf8`", place, *bad + 1,
                             static_cast<int>(static_cast<unsigned char>(line[*bad]))));
}

Pairs read_tsv(const std::filesystem::path& file, FurtherColumns further) {
  Pairs pairs;
  const std::vector<std::string> lines = lines_of(file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string place = format("{}:{}", file.string(), i + 1);
    if (is_blank(lines[i])) {
      ++pairs.empty_lines;
      continue;
    }
    const std::size_t tab = lines[i].find('\t');
    if (tab == std::string::npos)
      throw InvalidData(format("{}: expected two columns, source TAB target, got one; are the columns separated by spaces?", place));
    const std::string source = lines[i].substr(0, tab);
    std::size_t end = std::min(lines[i].find('\t', tab + 1), lines[i].size());
    add(pairs, place, source, lines[i].substr(tab + 1, end - tab - 1), i + 1);
    while (further == FurtherColumns::targets && end < lines[i].size()) {
      const std::size_t begin = end + 1;
      end = std::min(lines[i].find('\t', begin), lines[i].size());
      const std::string target = lines[i].substr(begin, end - begin);
      if (!is_blank(target)) add(pairs, place, source, target, i + 1);
    }
  }
  return pairs;
}

Pairs read_parallel(const std::filesystem::path& source, const std::filesystem::path& target) {
  const std::vector<std::string> sources = lines_of(source), targets = lines_of(target);
  if (sources.size() != targets.size()) {
    const bool more_sources = sources.size() > targets.size();
    const std::size_t both = std::min(sources.size(), targets.size()), most = std::max(sources.size(), targets.size());
    throw InvalidData(format("{}:{}: no line goes with this one: the file has {} lines, {} has {}; line n of one must belong to line n of the other",
                             (more_sources ? source : target).string(), both + 1, most, (more_sources ? target : source).string(), both));
  }
  Pairs pairs;
  for (std::size_t i = 0; i < sources.size(); ++i)
    add(pairs, format("{}:{}", (is_blank(sources[i]) ? source : target).string(), i + 1), sources[i], targets[i], i + 1);
  return pairs;
}

std::vector<References> gather_references(const std::vector<TextPair>& pairs) {
  std::vector<References> gathered;
  std::unordered_map<std::string, std::size_t> places;
  for (const TextPair& pair : pairs) {
    const auto [place, is_new] = places.emplace(pair.source, gathered.size());
    if (is_new) gathered.push_back({pair.source, {}});
    gathered[place->second].targets.push_back(pair.target);
  }
  return gathered;
}

}  // namespace attend::data
