// Unicode for texts in UTF-8: what is valid, what a reader sees as one character, how wide it is in a terminal, what is safe to print.
//
// No function here fails on bytes that are not UTF-8. Each ill-formed sequence counts as one U+FFFD (the replacement character), as the
// Unicode standard recommends (section 3.9, "maximal subpart"). Who must refuse such texts asks first_invalid_utf8() before.
// All functions are safe to call from several threads. InvalidArgument where a text is longer than 2^31 - 1 bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"

namespace attend::data {

// The place (in bytes) where the first sequence begins that is not UTF-8: stray or missing continuation bytes, overlong forms, surrogates,
// beyond U+10FFFF. Nothing where all of `text` is valid.
ATTEND_API std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Whether all of `text` is UTF-8. An empty text is.
ATTEND_API bool is_valid_utf8(std::string_view text);

// The characters as a reader perceives them: extended grapheme clusters (UAX #29), so that a letter with its accents, a Hangul syllable, a
// flag or a family joined by zero-width joiners is one. Put together they give `text` again, byte for byte, invalid bytes included.
ATTEND_API std::vector<std::string> graphemes(std::string_view text);

// Normalisation form C (UAX #15): composed where a composed character exists. Invalid bytes come out as U+FFFD.
ATTEND_API std::string normalize_nfc(std::string_view text);

// Full lower case in the root locale: no Turkish dotless i; a sigma that ends a word becomes ς. Invalid bytes come out as U+FFFD.
ATTEND_API std::string lower_case(std::string_view text);

// Columns that `text` takes in a terminal: 2 for East Asian wide and full-width characters and for emoji shown as pictures (a sequence that
// makes one picture counts once), 0 for control, combining, joining and format characters, 1 for all others, ambiguous ones too.
ATTEND_API int display_width(std::string_view text);

// Makes `text` safe to print in a terminal: nothing in the result moves the cursor, starts an escape sequence, ends the line or turns the
// direction of what follows. C0 controls and DEL become their visible symbols (U+2400…, ␛ for ESC); C1 controls, line and paragraph
// separators, bidirectional embeddings, overrides and isolates, interlinear annotations and invalid bytes become U+FFFD. All else stays.
ATTEND_API std::string replace_controls(std::string_view text);

// `text` in printable ASCII: any other character is written \xHH (below 256), \uHHHH or \UHHHHHHHH. A backslash stays as it is: this is
// to be read by people and can't always be undone.
ATTEND_API std::string escape_to_ascii(std::string_view text);

// Whether `text` has characters of a script that is written from right to left (Hebrew, Arabic, …).
ATTEND_API bool has_right_to_left(std::string_view text);

}  // namespace attend::data
