// LibreOffice's help in two languages: sentences about the use of an office suite, from Debian's libreoffice-help-LANGUAGE.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/sets/parallel_corpus.h"
#include "attend/io/value.h"

namespace attend::data {

// A paragraph or heading of a page. Pages in all languages have the same ids, mostly in the same order.
struct HelpBlock {
  std::string id, text;
  friend bool operator==(const HelpBlock&, const HelpBlock&) = default;
};

// The blocks of a page in their order; programs are left out (class "code" and the like), and of texts that differ by system or module
// the default one is taken. A page without the help's own text has none. `name` is for messages: InvalidData where the page can't be
// parsed at all.
ATTEND_API std::vector<HelpBlock> read_help_page(std::string_view html, const std::string& name);

// Pairs blocks: in order where both pages have the same ids, else the n-th of each id with the n-th of that id.
ATTEND_API std::vector<Passage> pair_help_blocks(const std::string& document, const std::vector<HelpBlock>& source, const std::vector<HelpBlock>& target);

// All pages below two folders that have the same path. SystemError where there is none.
ATTEND_API std::vector<Passage> read_libreoffice_help(const std::filesystem::path& source, const std::filesystem::path& target,
                                                      const MakeCallbacks& callbacks = {});

// Downloads both packages and writes the data set; → what SOURCE.json holds.
ATTEND_API io::Value make_libreoffice_help(const std::filesystem::path& folder, const Languages& languages, const MakeCallbacks& callbacks = {});

}  // namespace attend::data
