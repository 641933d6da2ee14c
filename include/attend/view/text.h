// Heat maps as text: `attend show`.
#pragma once

#include <string>

#include "attend/base/api.h"
#include "attend/view/colour_map.h"
#include "attend/view/record.h"

namespace attend::view {

// What the output may be made of. ascii: every byte is printable ASCII (or part of a colour escape); other characters of tokens are
// written \uHHHH.
enum class Charset { unicode, ascii };

// How a weight is shown. shades: two columns of a block character, and the largest weight of a row in percent at its end. numbers: each
// weight in percent beside its shade. automatic: numbers where the whole map fits the width with them, else shades.
enum class Cells { automatic, numbers, shades };

struct TextOptions {
  int width = 80;                            // columns of the terminal, at least 20; wider maps are split into blocks of columns
  Charset charset = Charset::unicode;
  Cells cells = Cells::automatic;
  bool colour = false;                       // paints the cells' backgrounds with the 256-colour ramp instead of shades
  Background background = Background::dark;  // of the terminal; for the ramp
  int label_width = 16;                      // columns that a token may take before it is elided, at least 2
  double full_scale = 1;                     // the weight that has the fullest shade; 0: the largest of the item
};

// The map of one item: rows are target tokens, columns source tokens (for other kinds: the last two axes), a heading and a frame for each
// head, a legend at the end. Lines are at most `width` columns wide (unless the frame alone needs more) and hold no control characters
// but line ends and, with colour, SGR escapes. The largest weight of each row is marked. NaN shows as ??, more than 999 % as >>>, less than
// -99 % as <<<. Labels may be written downwards. Right-to-left tokens stand between marks (U+200E) so that a terminal that reorders text
// keeps them in their columns. An item without weights gives one line that says so.
// InvalidArgument where the item doesn't fit the example (check_item()) or an option is out of its range.
ATTEND_API std::string heat_map_text(const Example& example, const Item& item, const TextOptions& options = {});

}  // namespace attend::view
