// Words of natural text, and texts of words.
//
// A text is cut at the word boundaries of UAX #29 (ICU, root locale, with its dictionaries for scripts written without spaces). Spaces are
// no tokens: between two tokens stands one space, unless a token says by U+FFED (￭) that it touches its neighbour, or both sides of
// the border belong to a script written without spaces (Han, kana, Bopomofo, Thai, Lao, Khmer, Myanmar, and their full-width punctuation).
//
//   She said: "don't!"   →   She  said  ￭:  "￭  don't  ￭!  ￭"
//
// The mark stands with the punctuation rather than with the word, so that a word is the same token wherever it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"

namespace attend::data {

// Cuts a text into tokens. join_words(cut_words(text)) gives `text` again, but for: runs of white space, which become one space, and
// white space at either end, which goes; a space between two characters of scripts written without spaces, which goes; U+FFED itself,
// which becomes U+25A0 (■).
ATTEND_API std::vector<std::string> cut_words(std::string_view text);

// The text of tokens: what a model wrote, put together as people write it. A mark with nothing to touch is left out.
ATTEND_API std::string join_words(const std::vector<std::string>& tokens);

// Number of words and numbers, punctuation left out: what a limit in words counts.
ATTEND_API std::int64_t count_words(std::string_view text);

// The sentences of a text in a language ("en", "zh-CN"; ICU's rules, with its list of the language's abbreviations), without white space
// at either end. A text without a border is one sentence; a blank one has none.
ATTEND_API std::vector<std::string> cut_sentences(std::string_view text, const std::string& language);

}  // namespace attend::data
