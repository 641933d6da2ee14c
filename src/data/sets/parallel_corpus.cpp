#include "attend/data/sets/parallel_corpus.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_set>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "attend/data/vocabulary.h"
#include "attend/data/words.h"
#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::data {
namespace {

constexpr double largest_ratio = 2.5, ratio_slack = 20;
constexpr auto split_rule =
    "by document: crc32(document) mod 100 below 2 test, below 4 validation, else train; then without the pairs of test and validation whose source, in "
    "lower case with numbers and identifiers masked, occurs in train";

// Calls visit(character, its bytes) for each character of valid UTF-8.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
  const auto length = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = 0; at < length;) {
    const std::int32_t begin = at;
    UChar32 character;
    U8_NEXT(text.data(), at, length, character);
    visit(character, text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at - begin)));
  }
}

bool is_dropped_character(UChar32 character) {
  constexpr UChar32 non_joiner = 0x200C, zero_width_joiner = 0x200D;  // are spelling in some languages
  if (character == non_joiner || character == zero_width_joiner) return false;
  switch (u_charType(character)) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_PRIVATE_USE_CHAR:
    case U_SURROGATE: return true;
    default: return false;
  }
}

std::int64_t character_count(std::string_view text) {
  std::int64_t count = 0;
  for_each_character(text, [&](UChar32, std::string_view) { ++count; });
  return count;
}

bool has_letter(std::string_view text) {
  bool found = false;
  for_each_character(text, [&](UChar32 character, std::string_view) { found = found || u_isalpha(character); });
  return found;
}

bool is_language(std::string_view text) {
  const auto are = [&](std::size_t from, std::size_t count, int (*kind)(int)) {
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from), text.begin() + static_cast<std::ptrdiff_t>(from + count),
                       [&](char c) { return static_cast<signed char>(c) > 0 && kind(c) != 0; });
  };
  const std::size_t dash = std::min(text.find('-'), text.size());
  if ((dash != 2 && dash != 3) || !are(0, dash, std::islower)) return false;
  return dash == text.size() || (text.size() == dash + 3 && are(dash + 1, 2, std::isupper));
}

struct SentencePair {
  std::string document, source, target;
  std::int64_t source_length = 0, target_length = 0;
};

// Counts by reason, in the order of their first use.
class Dropped {
 public:
  void add(const char* reason) {
    const io::Value* before = counts.find(reason);
    counts.set(reason, before == nullptr ? 1 : before->as_integer() + 1);
  }
  io::Value counts = io::Value::table();
};

const char* fault_of(const SentencePair& pair) {
  if (pair.source.empty() || pair.target.empty()) return "empty";
  if (pair.source == pair.target) return "identical";
  if (!has_letter(pair.source) || !has_letter(pair.target)) return "without a letter";
  if (std::max(pair.source_length, pair.target_length) > longest_side) return "overlong";
  return nullptr;
}

void cut_passage(const Passage& passage, const Languages& languages, std::vector<SentencePair>& pairs, Dropped& dropped) {
  std::vector<std::string> sources = {clean_text(passage.source)}, targets = {clean_text(passage.target)};
  std::vector<std::string> source_sentences = cut_sentences(sources[0], languages.source), target_sentences = cut_sentences(targets[0], languages.target);
  if (source_sentences.size() == target_sentences.size() && !source_sentences.empty()) {
    sources = std::move(source_sentences);
    targets = std::move(target_sentences);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    SentencePair pair{passage.document, std::move(sources[i]), std::move(targets[i]), 0, 0};
    pair.source_length = character_count(pair.source);
    pair.target_length = character_count(pair.target);
    if (const char* fault = fault_of(pair))
      dropped.add(fault);
    else
      pairs.push_back(std::move(pair));
  }
}

double ratio_of(const std::vector<SentencePair>& pairs) {
  double sources = 0, targets = 0;
  for (const SentencePair& pair : pairs) {
    sources += static_cast<double>(pair.source_length);
    targets += static_cast<double>(pair.target_length);
  }
  return pairs.empty() ? 1 : targets / sources;
}

bool lengths_go_together(const SentencePair& pair, double ratio) {
  const double expected = ratio * static_cast<double>(pair.source_length), got = static_cast<double>(pair.target_length);
  return got <= largest_ratio * expected + ratio_slack && expected <= largest_ratio * got + ratio_slack;
}

std::string tsv_of(const std::vector<TextPair>& pairs) {
  std::string text;
  for (const TextPair& pair : pairs) text += pair.source + "\t" + pair.target + "\n";
  return text;
}

io::Value counts_of(const std::vector<TextPair>& pairs) {
  std::int64_t source_words = 0, target_words = 0;
  for (const TextPair& pair : pairs) {
    source_words += count_words(pair.source);
    target_words += count_words(pair.target);
  }
  io::Value value = io::Value::table();
  value.set("pairs", pairs.size());
  value.set("source words", source_words);
  value.set("target words", target_words);
  return value;
}

void drop_known(std::vector<TextPair>& pairs, const std::unordered_set<std::string>& known, const char* reason, Dropped& dropped) {
  std::erase_if(pairs, [&](const TextPair& pair) {
    const bool is_known = known.contains(masked(pair.source));
    if (is_known) dropped.add(reason);
    return is_known;
  });
}

}  // namespace

Languages languages_from(const std::string& text) {
  for (std::size_t at = 0; (at = text.find_first_of(",-", at)) != std::string::npos; ++at) {
    Languages languages{text.substr(0, at), text.substr(at + 1)};
    if (is_language(languages.source) && is_language(languages.target) && languages.source != languages.target) return languages;
  }
  throw InvalidArgument(format("languages: expected two that differ, as en,fr or en,zh-CN, got \"{}\"", text));
}

void MakeCallbacks::tell(double share, const std::string& doing) const {
  if (stop && stop()) throw SystemError("stopped before the end; the data set is not complete");
  if (progress) progress(share, doing);
}

std::string clean_text(std::string_view text) {
  const std::string normal = normalize_nfc(text);  // valid UTF-8, too
  std::string result;
  bool space = false;
  for_each_character(normal, [&](UChar32 character, std::string_view bytes) {
    if (u_isUWhiteSpace(character)) {
      space = true;
    } else if (!is_dropped_character(character)) {
      if (space && !result.empty()) result += ' ';
      space = false;
      result += bytes;
    }
  });
  return result;
}

std::string masked(std::string_view text) {
  std::string result;
  for (std::string& word : cut(lower_case(text), Unit::symbols)) {
    const std::size_t last = word.find_last_not_of(".,;:!?)\"'");
    const std::string_view inside = std::string_view(word).substr(0, last == std::string::npos ? 0 : last + 1);
    const bool is_masked = inside.find_first_of("0123456789./_-") != std::string_view::npos;
    result += (result.empty() ? "" : " ") + (is_masked ? "#" + word.substr(inside.size()) : word);
  }
  return result;
}

ParallelCorpus make_parallel_corpus(const std::vector<Passage>& passages, const Languages& languages, const MakeCallbacks& callbacks) {
  std::vector<SentencePair> pairs;
  Dropped dropped;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    if (i % 1000 == 0) callbacks.tell(static_cast<double>(i) / static_cast<double>(passages.size()), "cutting sentences");
    cut_passage(passages[i], languages, pairs, dropped);
  }
  ParallelCorpus corpus;
  std::set<std::pair<std::string, std::string>> seen;
  const double ratio = ratio_of(pairs);
  for (const SentencePair& pair : pairs) {
    if (!lengths_go_together(pair, ratio)) {
      dropped.add("of unlike lengths");
    } else if (!seen.emplace(pair.source, pair.target).second) {
      dropped.add("repeated");
    } else {
      const std::uint32_t part = hash_part(pair.document, 100);
      (part < 2 ? corpus.pairs.test : part < 4 ? corpus.pairs.valid : corpus.pairs.train).push_back({pair.source, pair.target, 0});
    }
  }
  std::unordered_set<std::string> known;
  for (const TextPair& pair : corpus.pairs.train) known.insert(masked(pair.source));
  drop_known(corpus.pairs.valid, known, "of validation known from train", dropped);
  drop_known(corpus.pairs.test, known, "of test known from train", dropped);
  corpus.dropped = std::move(dropped.counts);
  return corpus;
}

io::Value write_parallel_corpus(const ParallelCorpus& corpus, io::Value about, const std::filesystem::path& folder) {
  io::make_folders(folder);
  std::filesystem::remove(folder / "SOURCE.json");  // it says that the set is complete
  io::write_file(folder / "train.tsv", tsv_of(corpus.pairs.train));
  io::write_file(folder / "valid.tsv", tsv_of(corpus.pairs.valid));
  io::write_file(folder / "test.tsv", tsv_of(corpus.pairs.test));
  about.set("split", split_rule);
  about.set("train", counts_of(corpus.pairs.train));
  about.set("valid", counts_of(corpus.pairs.valid));
  about.set("test", counts_of(corpus.pairs.test));
  about.set("dropped", corpus.dropped);
  io::write_file(folder / "SOURCE.json", io::to_pretty_json(about) + "\n");
  return about;
}

}  // namespace attend::data
