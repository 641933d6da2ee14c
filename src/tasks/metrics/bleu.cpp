#include "attend/tasks/metrics/bleu.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "tasks/metrics/segment.h"

namespace attend::tasks {
namespace {

// --- words -----------------------------------------------------------------------------------------------------------------------------

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_stop(char32_t c) { return c == '.' || c == ','; }

// ASCII that is no letter, digit, control character, apostrophe, comma, dash or point.
bool is_mark(char32_t c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

using Fits = bool (*)(char32_t first, char32_t second);

// Parts each two neighbours that fit by a space, with more of it before and behind them. Pairs don't overlap: it does what one pass of a
// regular expression over two characters does.
std::u32string part(std::u32string_view text, std::u32string_view before, std::u32string_view behind, Fits fits) {
  std::u32string parted;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = i + 1 < text.size() && fits(text[i], text[i + 1]);
    if (pair) parted += before;
    parted += text[i];
    if (!pair) continue;
    parted += U' ';
    parted += text[++i];
    parted += behind;
  }
  return parted;
}

std::u32string stand_alone(std::u32string_view text, bool (*is)(char32_t)) {
  std::u32string parted;
  for (const char32_t c : text) {
    if (!is(c)) {
      parted += c;
      continue;
    }
    parted += U' ';
    parted += c;
    parted += U' ';
  }
  return parted;
}

// The rules that mteval-v13a has for every language, in their order.
std::u32string part_western(std::u32string_view text) {
  std::u32string parted = stand_alone(text, is_mark);
  parted = part(parted, U"", U" ", [](char32_t a, char32_t b) { return !is_digit(a) && is_stop(b); });
  parted = part(parted, U" ", U"", [](char32_t a, char32_t b) { return is_stop(a) && !is_digit(b); });
  return part(parted, U"", U" ", [](char32_t a, char32_t b) { return is_digit(a) && b == '-'; });
}

std::u32string part_13a(std::string_view text) {
  std::string line(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  for (const auto& [entity, character] :
       {std::pair("&quot;", "\""), std::pair("&amp;", "&"), std::pair("&lt;", "<"), std::pair("&gt;", ">")})
    replace_all(line, entity, character);
  return part_western(U" " + code_points(line) + U" ");
}

bool is_number(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_N_MASK) != 0; }
bool is_punctuation(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_P_MASK) != 0; }
bool is_symbol(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_S_MASK) != 0; }

std::u32string part_international(std::u32string_view text) {
  std::u32string parted = part(text, U"", U" ", [](char32_t a, char32_t b) { return !is_number(a) && is_punctuation(b); });
  parted = part(parted, U" ", U"", [](char32_t a, char32_t b) { return is_punctuation(a) && !is_number(b); });
  return stand_alone(parted, is_symbol);
}

// What sacreBLEU counts as Chinese. Its range for extension B compares two-character strings, so that it takes in U+2001 to U+2A6D
// (quotation marks, arrows, signs) and leaves extension B out; scores agree only with the same ranges.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F},  // radicals, description of ideographs, punctuation
      {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF},  // Bopomofo, strokes
      {0x3200, 0x33FF}, {0x3400, 0x4DB5}, {0x4E00, 0x9FBB},  // enclosed letters and units, ideographs
      {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},  // compatibility ideographs
      {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},  // vertical and full-width forms
  };
  return std::any_of(std::begin(blocks), std::end(blocks), [c](const auto& block) { return c >= block.first && c <= block.second; });
}

// Python's str.strip().
std::u32string_view strip(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string_view strip_end(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// --- counts ----------------------------------------------------------------------------------------------------------------------------

// The length of the reference nearest in length, the shorter of equals.
std::int64_t nearest_length(std::size_t hypothesis, const std::vector<Tokens>& references) {
  const auto distance = [&](std::size_t length) { return length > hypothesis ? length - hypothesis : hypothesis - length; };
  std::size_t nearest = references.front().size();
  for (const Tokens& reference : references) {
    const std::size_t length = reference.size();
    if (distance(length) < distance(nearest) || (distance(length) == distance(nearest) && length < nearest)) nearest = length;
  }
  return static_cast<std::int64_t>(nearest);
}

std::int64_t clipped_matches(const Tokens& hypothesis, const std::vector<Tokens>& references, std::size_t n) {
  NgramCounts<std::string> most;
  for (const Tokens& reference : references)
    for (const auto& [ngram, count] : count_ngrams<std::string>(reference, n)) {
      std::int64_t& known = most[ngram];
      known = std::max(known, count);
    }
  return count_matches(count_ngrams<std::string>(hypothesis, n), most);
}

}  // namespace

Tokens bleu_tokens(std::string_view text, BleuTokenizer tokenizer) {
  const std::u32string points = code_points(text);
  const std::u32string_view line = strip_end(points);
  switch (tokenizer) {
    case BleuTokenizer::none:
      return split_words(line);
    case BleuTokenizer::v13a:
      return split_words(part_13a(to_utf8(line)));
    case BleuTokenizer::international:
      return split_words(part_international(line));
    case BleuTokenizer::character:
      return split_words(stand_alone(line, [](char32_t) { return true; }));
    case BleuTokenizer::chinese:
      return split_words(part_western(stand_alone(strip(line), is_chinese)));
  }
  throw InvalidArgument("attend::tasks::bleu_tokens: unknown tokenizer");
}

void check(const BleuOptions& options) {
  if (options.order < 1 || options.order > 16) throw InvalidArgument(format("order: expected 1 to 16, got {}", options.order));
  if (options.smoothing_value && !(*options.smoothing_value >= 0 && std::isfinite(*options.smoothing_value)))
    throw InvalidArgument(format("smoothing_value: expected a number of at least 0, got {}", *options.smoothing_value));
}

Bleu::Bleu(const BleuOptions& options) : options_(options) {
  check(options);
  matches_.resize(static_cast<std::size_t>(options.order));
  total_.resize(static_cast<std::size_t>(options.order));
}

void Bleu::add(std::string_view hypothesis, const std::vector<std::string>& references) {
  const auto words = [&](std::string_view text) {
    return options_.lower_case ? bleu_tokens(data::lower_case(text), options_.tokenizer) : bleu_tokens(text, options_.tokenizer);
  };
  std::vector<Tokens> cut;
  for (const std::string& reference : references) cut.push_back(words(reference));
  add_tokens(words(hypothesis), cut);
}

void Bleu::add_tokens(const Tokens& hypothesis, const std::vector<Tokens>& references) {
  if (references.empty()) throw InvalidArgument("attend::tasks::Bleu::add: expected at least one reference, got none");
  const auto count = static_cast<std::int64_t>(references.size());
  references_ = items_ == 0 || references_ == count ? count : -1;
  ++items_;
  hypothesis_length_ += static_cast<std::int64_t>(hypothesis.size());
  reference_length_ += nearest_length(hypothesis.size(), references);
  for (std::size_t n = 1; n <= matches_.size(); ++n) {
    total_[n - 1] += number_of_ngrams(hypothesis.size(), n);
    matches_[n - 1] += clipped_matches(hypothesis, references, n);
  }
}

double Bleu::brevity_penalty() const {
  if (hypothesis_length_ >= reference_length_) return 1;
  if (hypothesis_length_ == 0) return 0;
  return std::exp(1 - static_cast<double>(reference_length_) / static_cast<double>(hypothesis_length_));
}

double Bleu::score() const {
  const bool any = std::any_of(matches_.begin(), matches_.end(), [](std::int64_t count) { return count > 0; });
  if (!any) return 0;
  const double value = options_.smoothing_value.value_or(options_.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
  double logarithms = 0, half = 1;
  std::int64_t used = options_.order;
  for (std::size_t n = 1; n <= matches_.size(); ++n) {
    double matches = static_cast<double>(matches_[n - 1]), total = static_cast<double>(total_[n - 1]);
    if (options_.smoothing == BleuSmoothing::add_k && n > 1) matches += value, total += value;
    if (total == 0) {
      if (!options_.effective_order) return 0;
      break;
    }
    if (options_.effective_order) used = static_cast<std::int64_t>(n);
    if (matches == 0 && options_.smoothing == BleuSmoothing::exp) matches = half /= 2;
    if (matches == 0 && options_.smoothing == BleuSmoothing::floor) matches = value;
    if (matches == 0) return 0;
    logarithms += std::log(matches / total);
  }
  return 100 * brevity_penalty() * std::exp(logarithms / static_cast<double>(used));
}

std::string Bleu::signature() const {
  std::string smoothing(name_of(options_.smoothing));
  if (options_.smoothing == BleuSmoothing::floor || options_.smoothing == BleuSmoothing::add_k)
    smoothing += format("[{:.2f}]", options_.smoothing_value.value_or(options_.smoothing == BleuSmoothing::floor ? 0.1 : 1.0));
  return format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}", references_ < 0 ? "var" : std::to_string(references_),
                options_.lower_case ? "lc" : "mixed", options_.effective_order ? "yes" : "no", name_of(options_.tokenizer), smoothing);
}

}  // namespace attend::tasks
