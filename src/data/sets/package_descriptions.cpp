#include "attend/data/sets/package_descriptions.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/data/sets/debian_indexes.h"
#include "attend/data/words.h"
#include "attend/io/file.h"

namespace attend::data {
namespace {

// Calls visit(name, value) for each field's first line, visit("", line) for each that goes on, and end() behind each stanza.
template <class Visit, class End>
void for_each_field(const std::string& text, Visit visit, End end) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, line_end - at);
    at = line_end + 1;
    if (line.empty()) {
      end();
    } else if (line[0] == ' ') {
      visit(std::string_view(), line.substr(1));
    } else {
      const std::size_t colon = std::min(line.find(':'), line.size());
      const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
      visit(line.substr(0, colon), colon == line.size() ? std::string_view() : line.substr(value));
    }
  }
  end();
}

// The text behind "  * ", or nothing where the line begins no item.
std::string_view text_of_item(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == 0 || begin == std::string_view::npos) return {};
  for (const std::string_view bullet : {"- ", "* ", "+ ", "o ", "\u2022 ", "\u00B7 ", "\u2013 "})
    if (line.substr(begin).starts_with(bullet)) return line.substr(begin + bullet.size());
  return {};
}

// The lines of a description, one after the other: " ." ends a paragraph, a bullet begins an item, and so does a change between indented
// and plain text.
class DescriptionLines {
 public:
  void add(PackageDescription& description, std::string_view line) {
    if (line.find_first_not_of(' ') == std::string_view::npos || line == ".") {
      new_paragraph_ = true;
      return;
    }
    const std::string_view item = text_of_item(line);
    const bool indented = line[0] == ' ';
    if (new_paragraph_) description.paragraphs.emplace_back();
    auto& items = description.paragraphs.back();
    if (new_paragraph_ || !item.empty() || (indented_ && !indented)) items.emplace_back();
    std::string_view text = item.empty() ? line : item;
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    // a line of Japanese goes on without a space
    items.back() = items.back().empty() ? std::string(text) : join_words({items.back(), std::string(text)});
    new_paragraph_ = false;
    indented_ = indented;
  }

 private:
  bool new_paragraph_ = true, indented_ = false;
};

}  // namespace

std::map<std::string, PackageDescription> read_package_descriptions(const std::filesystem::path& file) {
  std::map<std::string, PackageDescription> descriptions;
  PackageDescription current;
  DescriptionLines lines;
  std::string md5;
  bool inside = false;
  for_each_field(
      io::read_file(file),
      [&](std::string_view name, std::string_view value) {
        if (name.empty()) {
          if (inside) lines.add(current, value);
          return;
        }
        inside = name.starts_with("Description-") && name != "Description-md5";
        if (inside) current.title = value;
        if (name == "Package") current.package = value;
        if (name == "Description-md5") md5 = value;
      },
      [&] {
        if (!md5.empty() && !current.title.empty()) descriptions.emplace(md5, current);
        current = {};
        lines = {};
        md5.clear();
        inside = false;
      });
  if (descriptions.empty())
    throw InvalidData(format("{}: expected descriptions of packages (Package:, Description-md5:, Description-LANGUAGE:), found none", file.string()));
  return descriptions;
}

std::map<std::string, std::string> read_source_packages(const std::filesystem::path& file) {
  std::map<std::string, std::string> sources;
  std::string package, source;
  for_each_field(
      io::read_file(file),
      [&](std::string_view name, std::string_view value) {
        if (name == "Package") package = value;
        if (name == "Source") source = value.substr(0, value.find(' '));  // "NAME (VERSION)"
      },
      [&] {
        if (!source.empty() && source != package) sources[package] = source;
        package.clear(), source.clear();
      });
  return sources;
}

std::vector<Passage> pair_package_descriptions(const std::map<std::string, PackageDescription>& source,
                                               const std::map<std::string, PackageDescription>& target,
                                               const std::map<std::string, std::string>& source_packages) {
  std::vector<Passage> passages;
  for (const auto& [md5, ours] : source) {
    const auto found = target.find(md5);
    if (found == target.end()) continue;
    const PackageDescription& theirs = found->second;
    const auto of = source_packages.find(ours.package);
    const std::string& document = of == source_packages.end() ? ours.package : of->second;
    passages.push_back({document, ours.title, theirs.title});
    if (ours.paragraphs.size() != theirs.paragraphs.size()) continue;
    for (std::size_t i = 0; i < ours.paragraphs.size(); ++i) {
      const auto &our_items = ours.paragraphs[i], &their_items = theirs.paragraphs[i];
      if (our_items.size() != their_items.size()) continue;
      for (std::size_t j = 0; j < our_items.size(); ++j) passages.push_back({document, our_items[j], their_items[j]});
    }
  }
  return passages;
}

io::Value make_package_descriptions(const std::filesystem::path& folder, const Languages& languages, const MakeCallbacks& callbacks) {
  callbacks.tell(0, "downloading the lists of packages");
  const DebianIndexes indexes({languages.source, languages.target});
  callbacks.tell(0.2, "reading descriptions");
  const auto source = read_package_descriptions(indexes.translation(languages.source));
  const auto target = read_package_descriptions(indexes.translation(languages.target));
  const std::vector<Passage> passages = pair_package_descriptions(source, target, read_source_packages(indexes.packages()));
  const ParallelCorpus corpus = make_parallel_corpus(passages, languages, callbacks);
  io::Value about = io::Value::table();
  about.set("name", format("package-descriptions-{}-{}", languages.source, languages.target));
  about.set("source", format("Debian {}: main/i18n/Translation-{} and -{} (Debian Description Translation Project)", indexes.release(), languages.source,
                             languages.target));
  about.set("licence", "none is stated for the translations; Debian distributes them in main. Build the set where you need it, don't pass it on");
  return write_parallel_corpus(corpus, std::move(about), folder);
}

}  // namespace attend::data
