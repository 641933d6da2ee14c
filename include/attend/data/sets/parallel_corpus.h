// Parallel text: from passages that belong together to pairs of sentences, cleaned, split by document, without leaks from train into test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/split.h"
#include "attend/io/value.h"

namespace attend::data {

// Two languages, as "en" or "zh-CN".
struct Languages {
  std::string source = "en", target = "fr";
};

// "en,fr" or "en-fr", and "en,zh-CN" or "en-zh-CN". InvalidArgument where it isn't two languages that differ.
ATTEND_API Languages languages_from(const std::string& text);

// How far the making of a set is, and whether to stop. Both may be empty.
struct MakeCallbacks {
  std::function<void(double share, const std::string& doing)> progress;
  std::function<bool()> stop;

  // Tells; SystemError where it is to stop.
  ATTEND_API void tell(double share, const std::string& doing) const;
};

// A paragraph, heading or item in both languages. Passages of one document fall into the same part.
struct Passage {
  std::string document, source, target;
};

// What came of the passages.
struct ParallelCorpus {
  SplitPairs pairs;
  io::Value dropped = io::Value::table();  // count of pairs by reason
};

// The longest side that is kept, in characters.
inline constexpr std::int64_t longest_side = 500;

// Cleans a text: form C, without control, format (but for the zero-width joiner and non-joiner) and private characters, runs of white
// space as one space.
ATTEND_API std::string clean_text(std::string_view text);

// A text as it is compared across the parts: lower case, and each word that holds a digit or, inside, one of . / _ - as "#".
ATTEND_API std::string masked(std::string_view text);

// 1. Passages are cleaned, and cut into sentences; where both sides have the same number of sentences these are paired in order, else the
//    passage stays whole.
// 2. Dropped and counted: pairs with an empty side, with equal sides, with a side without a letter or longer than `longest_side`, and
//    pairs whose lengths in characters don't go together: target / source beyond 2.5 times the corpus's own ratio, either way, and 20
//    characters more than that.
// 3. A pair that was there already is dropped.
// 4. The document's crc32 modulo 100: below 2 test, below 4 validation, else train; of test and validation, pairs whose masked() source
//    occurs in train are dropped.
ATTEND_API ParallelCorpus make_parallel_corpus(const std::vector<Passage>& passages, const Languages& languages, const MakeCallbacks& callbacks = {});

// Writes FOLDER/{train,valid,test}.tsv and, at last, SOURCE.json: `about` with the split's rule, what was dropped, and the counts.
// → SOURCE.json
ATTEND_API io::Value write_parallel_corpus(const ParallelCorpus& corpus, io::Value about, const std::filesystem::path& folder);

}  // namespace attend::data
