// Heat maps as pictures for papers and slides: SVG and PNG.
#pragma once

#include <filesystem>
#include <string>

#include "attend/base/api.h"
#include "attend/view/colour_map.h"
#include "attend/view/record.h"

namespace attend::view {

// Lengths are in points (1/72 inch).
struct PictureOptions {
  Background background = Background::light;
  std::string font = "sans-serif";  // a family, or several with commas between
  double font_size = 11;            // of labels, from 4 to 72; smaller where cells are small
  double cell_size = 22;            // of one weight, from 1 to 200; smaller where there are many
  double label_length = 130;        // that a token may take before it is elided, at least 20
  double full_scale = 1;            // the weight that has the strongest colour; 0: the largest of the item
  bool numbers = false;             // writes each weight into its cell, where cells are large enough
  double pixels_per_point = 2;      // PNG only, from 0.5 to 8; less where there would be more than 64 million pixels
};

// The map of one item: rows are target tokens, columns source tokens (for other kinds: the last two axes), a panel for each head, a bar
// that explains the colours. NaN has a colour of its own. Tokens are shaped by Pango, in any script and direction for which a font is
// installed; where there are too many for all labels, each k-th is written. Text becomes outlines, so that the picture looks the same where
// the fonts are missing. Maps of more than 10,000 cells are embedded as an image. The file appears whole or not at all; the same input,
// fonts and library versions give the same bytes.
// InvalidArgument where the item doesn't fit the example (check_item()) or an option is out of its range; SystemError where the file
// can't be written.
ATTEND_API void write_svg(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options = {});
ATTEND_API void write_png(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options = {});

}  // namespace attend::view
