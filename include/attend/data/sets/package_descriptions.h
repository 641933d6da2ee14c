// Descriptions of Debian's packages and their translations (the Debian Description Translation Project, DDTP): sentences about software.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/sets/parallel_corpus.h"
#include "attend/io/value.h"

namespace attend::data {

// A description: its title, and its paragraphs and items in their order, each without line ends and without bullets.
struct PackageDescription {
  std::string package, title;
  std::vector<std::vector<std::string>> paragraphs;  // each of one item or several
};

// Reads an index of descriptions (Translation-LANGUAGE): stanzas of `Package:`, `Description-md5:` (of the English text: what both
// languages have in common) and `Description-LANGUAGE:`. → by md5. InvalidData where the file holds no such stanza.
ATTEND_API std::map<std::string, PackageDescription> read_package_descriptions(const std::filesystem::path& file);

// The source package of each package in a list of packages that has another name than its own.
ATTEND_API std::map<std::string, std::string> read_source_packages(const std::filesystem::path& file);

// Titles, and the items of descriptions with the same number of paragraphs, of paragraphs with the same number of items. The document is
// the source package.
ATTEND_API std::vector<Passage> pair_package_descriptions(const std::map<std::string, PackageDescription>& source,
                                                          const std::map<std::string, PackageDescription>& target,
                                                          const std::map<std::string, std::string>& source_packages);

// Fetches the indexes and writes the data set; → what SOURCE.json holds.
ATTEND_API io::Value make_package_descriptions(const std::filesystem::path& folder, const Languages& languages, const MakeCallbacks& callbacks = {});

}  // namespace attend::data
