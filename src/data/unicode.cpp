#include "attend/data/unicode.h"

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "attend/base/error.h"

namespace attend::data {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

// ICU counts in 32 bits.
std::int32_t icu_length(std::string_view text) {
  constexpr std::size_t limit = std::numeric_limits<std::int32_t>::max();
  if (text.size() > limit) throw InvalidArgument(format("expected a text of at most {} bytes, got {}; split it", limit, text.size()));
  return static_cast<std::int32_t>(text.size());
}

void expect_icu_success(UErrorCode status, const char* function) {
  if (U_FAILURE(status)) throw SystemError(format("ICU: {} failed: {}; is its data file installed?", function, u_errorName(status)));
}

// Eight bytes at a time: most of what passes here is ASCII.
bool is_all_ascii(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & high_bits) return false;
  }
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

// Calls visit(code point or -1 where ill-formed, its bytes) for each code point.
template <class Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  const char* bytes = text.data();
  const std::int32_t length = icu_length(text);
  for (std::int32_t i = 0; i < length;) {
    const std::int32_t begin = i;
    UChar32 code_point;
    U8_NEXT(bytes, i, length, code_point);
    visit(code_point, text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(i - begin)));
  }
}

std::string with_replaced_bad_bytes(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_code_point(text, [&](UChar32 code_point, std::string_view bytes) { result += code_point < 0 ? replacement_character : bytes; });
  return result;
}

// Making a break iterator reads ICU's rules; one for each thread is kept.
icu::BreakIterator& grapheme_iterator() {
  thread_local const std::unique_ptr<icu::BreakIterator> iterator = [] {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
    expect_icu_success(status, "BreakIterator");
    return made;
  }();
  return *iterator;
}

// Calls visit(bytes) for each grapheme cluster.
template <class Visit>
void for_each_grapheme(std::string_view text, Visit visit) {
  UErrorCode status = U_ZERO_ERROR;
  UText opened = UTEXT_INITIALIZER;
  utext_openUTF8(&opened, text.data(), icu_length(text), &status);
  icu::BreakIterator& iterator = grapheme_iterator();
  iterator.setText(&opened, status);
  utext_close(&opened);  // the iterator has a clone
  expect_icu_success(status, "BreakIterator::setText");
  for (std::int32_t begin = iterator.first(), end = iterator.next(); end != icu::BreakIterator::DONE; begin = end, end = iterator.next()) {
    visit(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  }
}

int code_point_width(UChar32 code_point) {
  constexpr UChar32 soft_hyphen = 0xAD;
  if (code_point < 0) return 1;
  switch (u_charType(code_point)) {
    case U_CONTROL_CHAR:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK: return 0;
    case U_FORMAT_CHAR:  // terminals show a soft hyphen and the signs that Arabic and Syriac put under numbers
      return code_point == soft_hyphen || u_hasBinaryProperty(code_point, UCHAR_PREPENDED_CONCATENATION_MARK) ? 1 : 0;
    default: break;
  }
  const int hangul = u_getIntPropertyValue(code_point, UCHAR_HANGUL_SYLLABLE_TYPE);
  if (hangul == U_HST_VOWEL_JAMO || hangul == U_HST_TRAILING_JAMO) return 0;  // drawn into the cells of the leading consonant
  if (u_hasBinaryProperty(code_point, UCHAR_EMOJI_PRESENTATION)) return 2;
  const int width = u_getIntPropertyValue(code_point, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

// A cluster that is drawn as one picture takes two columns whatever it is made of; any other the sum of its parts.
int grapheme_width(std::string_view grapheme) {
  constexpr UChar32 emoji_selector = 0xFE0F;
  int sum = 0;
  bool first = true, emoji = false, picture = false;
  for_each_code_point(grapheme, [&](UChar32 code_point, std::string_view) {
    sum += code_point_width(code_point);
    if (first && code_point >= 0) {
      emoji = u_hasBinaryProperty(code_point, UCHAR_EMOJI);
      picture = u_hasBinaryProperty(code_point, UCHAR_EMOJI_PRESENTATION);
    }
    if (emoji && code_point == emoji_selector) picture = true;
    first = false;
  });
  return picture ? 2 : sum;
}

bool turns_direction(UChar32 code_point) {
  switch (u_charDirection(code_point)) {
    case U_LEFT_TO_RIGHT_EMBEDDING:
    case U_RIGHT_TO_LEFT_EMBEDDING:
    case U_LEFT_TO_RIGHT_OVERRIDE:
    case U_RIGHT_TO_LEFT_OVERRIDE:
    case U_POP_DIRECTIONAL_FORMAT:
    case U_FIRST_STRONG_ISOLATE:
    case U_LEFT_TO_RIGHT_ISOLATE:
    case U_RIGHT_TO_LEFT_ISOLATE:
    case U_POP_DIRECTIONAL_ISOLATE: return true;
    default: return false;
  }
}

bool is_unsafe_in_a_terminal(UChar32 code_point) {
  if (code_point < 0) return true;
  const auto type = u_charType(code_point);
  const bool annotation = code_point >= 0xFFF9 && code_point <= 0xFFFB;
  return type == U_CONTROL_CHAR || type == U_LINE_SEPARATOR || type == U_PARAGRAPH_SEPARATOR || annotation || turns_direction(code_point);
}

// The symbols U+2400 + c, and U+2421 for DEL.
std::string control_picture(UChar32 control) {
  std::string symbol = "\xE2\x90\x80";
  symbol[2] = static_cast<char>(0x80 + (control == 0x7F ? 0x21 : control));
  return symbol;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  if (is_all_ascii(text)) return std::nullopt;
  const char* bytes = text.data();
  const std::int32_t length = icu_length(text);
  for (std::int32_t i = 0; i < length;) {
    const std::int32_t begin = i;
    UChar32 code_point;
    U8_NEXT(bytes, i, length, code_point);
    if (code_point < 0) return static_cast<std::size_t>(begin);
  }
  return std::nullopt;
}

bool is_valid_utf8(std::string_view text) { return !first_invalid_utf8(text); }

std::vector<std::string> graphemes(std::string_view text) {
  std::vector<std::string> result;
  if (is_all_ascii(text)) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t length = text.substr(i, 2) == "\r\n" ? 2 : 1;
      result.emplace_back(text.substr(i, length));
      i += length - 1;
    }
    return result;
  }
  for_each_grapheme(text, [&](std::string_view grapheme) { result.emplace_back(grapheme); });
  return result;
}

std::string normalize_nfc(std::string_view text) {
  if (is_all_ascii(text)) return std::string(text);
  const std::string valid = with_replaced_bad_bytes(text);
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFCInstance(status);
  expect_icu_success(status, "Normalizer2::getNFCInstance");
  std::string result;
  icu::StringByteSink<std::string> sink(&result, icu_length(valid));
  normalizer->normalizeUTF8(0, icu::StringPiece(valid.data(), icu_length(valid)), sink, nullptr, status);
  expect_icu_success(status, "Normalizer2::normalizeUTF8");
  return result;
}

std::string lower_case(std::string_view text) {
  if (is_all_ascii(text)) {
    std::string result(text);
    for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
  }
  const std::string valid = with_replaced_bad_bytes(text);
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result, icu_length(valid));
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(valid.data(), icu_length(valid)), sink, nullptr, status);
  expect_icu_success(status, "CaseMap::utf8ToLower");
  return result;
}

int display_width(std::string_view text) {
  int width = 0;
  if (is_all_ascii(text)) {
    for (const char c : text) width += c >= ' ' && c != '\x7F' ? 1 : 0;
  } else {
    for_each_grapheme(text, [&](std::string_view grapheme) { width += grapheme_width(grapheme); });
  }
  return width;
}

std::string replace_controls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_code_point(text, [&](UChar32 code_point, std::string_view bytes) {
    if ((code_point >= 0 && code_point < 0x20) || code_point == 0x7F) {
      result += control_picture(code_point);
    } else {
      result += is_unsafe_in_a_terminal(code_point) ? replacement_character : bytes;
    }
  });
  return result;
}

std::string escape_to_ascii(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_code_point(text, [&](UChar32 code_point, std::string_view bytes) {
    const UChar32 shown = code_point < 0 ? 0xFFFD : code_point;
    if (shown >= 0x20 && shown < 0x7F) {
      result += bytes;
    } else {
      result += shown < 0x100 ? format("\\x{:02X}", shown) : shown < 0x10000 ? format("\\u{:04X}", shown) : format("\\U{:08X}", shown);
    }
  });
  return result;
}

bool has_right_to_left(std::string_view text) {
  if (is_all_ascii(text)) return false;
  bool found = false;
  for_each_code_point(text, [&](UChar32 code_point, std::string_view) {
    if (code_point < 0) return;
    const UCharDirection direction = u_charDirection(code_point);
    found = found || direction == U_RIGHT_TO_LEFT || direction == U_RIGHT_TO_LEFT_ARABIC;
  });
  return found;
}

}  // namespace attend::data
