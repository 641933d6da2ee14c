#include "attend/data/words.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <limits>
#include <map>
#include <memory>

#include "attend/base/error.h"

namespace attend::data {
namespace {

constexpr std::string_view joiner = "\uFFED", instead_of_joiner = "\u25A0";

std::int32_t length_for_icu(std::string_view text) {
  constexpr std::size_t limit = std::numeric_limits<std::int32_t>::max();
  if (text.size() > limit) throw InvalidArgument(format("expected a text of at most {} bytes, got {}; split it", limit, text.size()));
  return static_cast<std::int32_t>(text.size());
}

void expect_break_rules(UErrorCode status) {
  if (U_FAILURE(status)) throw SystemError(format("ICU: BreakIterator failed: {}; is its data file installed?", u_errorName(status)));
}

// Calls visit(bytes, rule status) for each segment between two borders.
template <class Visit>
void for_each_segment(icu::BreakIterator& iterator, std::string_view text, Visit visit) {
  UErrorCode status = U_ZERO_ERROR;
  UText opened = UTEXT_INITIALIZER;
  utext_openUTF8(&opened, text.data(), length_for_icu(text), &status);
  iterator.setText(&opened, status);
  utext_close(&opened);  // the iterator has a clone
  expect_break_rules(status);
  for (std::int32_t begin = iterator.first(), end = iterator.next(); end != icu::BreakIterator::DONE; begin = end, end = iterator.next())
    visit(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), iterator.getRuleStatus());
}

// Making a break iterator reads ICU's rules: each thread keeps its own.
icu::BreakIterator& word_iterator() {
  thread_local const std::unique_ptr<icu::BreakIterator> iterator = [] {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
    expect_break_rules(status);
    return made;
  }();
  return *iterator;
}

icu::BreakIterator& sentence_iterator(const std::string& language) {
  thread_local std::map<std::string, std::unique_ptr<icu::BreakIterator>> iterators;
  std::unique_ptr<icu::BreakIterator>& iterator = iterators[language];
  if (iterator == nullptr) {
    UErrorCode status = U_ZERO_ERROR;
    iterator.reset(icu::BreakIterator::createSentenceInstance(icu::Locale((language + "@ss=standard").c_str()), status));
    expect_break_rules(status);
  }
  return *iterator;
}

UChar32 first_character(std::string_view text) {
  UChar32 character;
  std::int32_t at = 0;
  U8_NEXT(text.data(), at, length_for_icu(text), character);
  return character;
}

UChar32 last_character(std::string_view text) {
  UChar32 character;
  std::int32_t at = length_for_icu(text);
  U8_PREV(text.data(), 0, at, character);
  return character;
}

bool is_space(std::string_view text) {
  std::int32_t at = 0;
  const std::int32_t length = length_for_icu(text);
  while (at < length) {
    UChar32 character;
    U8_NEXT(text.data(), at, length, character);
    if (character < 0 || !u_isUWhiteSpace(character)) return false;
  }
  return true;
}

bool is_written_without_spaces(UChar32 character) {
  if (character < 0) return false;
  UErrorCode status = U_ZERO_ERROR;
  switch (uscript_getScript(character, &status)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_BOPOMOFO:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR: return true;
    case USCRIPT_COMMON: {
      const int width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
      return u_ispunct(character) && (width == U_EA_WIDE || width == U_EA_FULLWIDTH);
    }
    default: return false;
  }
}

bool are_joined_anyway(std::string_view left, std::string_view right) {
  return is_written_without_spaces(last_character(left)) && is_written_without_spaces(first_character(right));
}

std::string without_joiners(std::string_view text) {
  std::string result(text);
  for (std::size_t at = 0; (at = result.find(joiner, at)) != std::string::npos; at += instead_of_joiner.size())
    result.replace(at, joiner.size(), instead_of_joiner);
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::int32_t length = length_for_icu(text);
  std::int32_t begin = 0, end = length;
  for (std::int32_t at = 0; at < length; begin = at) {
    UChar32 character;
    U8_NEXT(text.data(), at, length, character);
    if (character < 0 || !u_isUWhiteSpace(character)) break;
  }
  for (std::int32_t at = length; at > begin; end = at) {
    UChar32 character;
    U8_PREV(text.data(), 0, at, character);
    if (character < 0 || !u_isUWhiteSpace(character)) break;
  }
  return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace

std::vector<std::string> cut_words(std::string_view text) {
  std::vector<std::string> tokens;
  std::string before;          // the last token without marks
  bool touches = false, word_before = false;
  for_each_segment(word_iterator(), text, [&](std::string_view segment, std::int32_t status) {
    if (is_space(segment)) {
      touches = false;
      return;
    }
    const bool word = status >= UBRK_WORD_NONE_LIMIT;
    std::string token = without_joiners(segment);
    const bool needs_mark = touches && !are_joined_anyway(before, token);
    before = token;
    if (needs_mark && word && !word_before)
      tokens.back() += joiner;
    else if (needs_mark)
      token.insert(0, joiner);
    tokens.push_back(std::move(token));
    touches = true, word_before = word;
  });
  return tokens;
}

std::string join_words(const std::vector<std::string>& tokens) {
  std::string text;
  bool touches = true;  // nothing stands before
  for (std::string_view token : tokens) {
    if (token.starts_with(joiner)) {
      token.remove_prefix(joiner.size());
      touches = true;
    }
    const bool touches_next = token.ends_with(joiner);
    if (touches_next) token.remove_suffix(joiner.size());
    if (token.empty()) {
      touches = touches || touches_next;
      continue;
    }
    if (!touches && !are_joined_anyway(text, token)) text += ' ';
    text += token;
    touches = touches_next;
  }
  return text;
}

std::int64_t count_words(std::string_view text) {
  std::int64_t count = 0;
  for_each_segment(word_iterator(), text, [&](std::string_view, std::int32_t status) { count += status >= UBRK_WORD_NONE_LIMIT ? 1 : 0; });
  return count;
}

std::vector<std::string> cut_sentences(std::string_view text, const std::string& language) {
  std::vector<std::string> sentences;
  for_each_segment(sentence_iterator(language), text, [&](std::string_view segment, std::int32_t) {
    const std::string_view sentence = trimmed(segment);
    if (!sentence.empty()) sentences.emplace_back(sentence);
  });
  return sentences;
}

}  // namespace attend::data
