// Heat maps as pictures for papers and slides: SVG and PNG.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attend/base/api.h"
#include "attend/view/colour_map.h"
#include "attend/view/record.h"

namespace attend::view {

// How a spatial map lies on the picture of its example.
enum class Overlay {
  colour,  // the colours of the dark ramp over the picture in grey; strong weights cover more of it than weak ones
  light,   // the picture itself, dark where nothing was looked at
  none,    // not at all: heat maps without their pictures, glimpses as a map of their coordinates
};

// Lengths are in points (1/72 inch).
struct PictureOptions {
  Background background = Background::light;
  std::string font = "sans-serif";        // a family, or several with commas between
  double font_size = 11;                  // of labels, from 4 to 72; smaller where cells are small
  double cell_size = 22;                  // of one weight, from 1 to 200; smaller where there are many
  double label_length = 130;              // that a token may take before it is elided, at least 20
  std::optional<double> full_scale = {};  // the weight of the strongest colour; 0: the largest of the item. Not said: 1, over a picture 0
  bool numbers = false;                   // writes each weight into its cell, where cells are large enough
  double pixels_per_point = 2;            // of PNG and of pictures in SVG, from 0.5 to 8; less beyond 64, in SVG 3 million pixels
  Overlay overlay = Overlay::colour;
  double opacity = 0.65;  // of what lies over a picture, from 0 to 1
};

// The map of one item: rows are target tokens, columns source tokens (for other kinds: the last two axes), a panel for each head, a bar
// that explains the colours. NaN has a colour of its own. Tokens are shaped by Pango, in any script and direction for which a font is
// installed; where there are too many for all labels, each k-th is written. Text becomes outlines, so that the picture looks the same
// where the fonts are missing. Maps of more than 10,000 cells are embedded as an image. The file appears whole or not at all; the same
// input, fonts and library versions give the same bytes.
//
// Where the example has a picture, a spatial item is drawn over it, as figures of captioning papers do (K. Xu et al., "Show, attend and
// tell", 2015): a panel for each map, smooth between the middles of its cells. A glimpse item is one picture with its boxes, numbered by
// their steps, and a path through their middles; coarser scales are dashed, boxes that reach beyond the picture widen what is drawn, by
// half of it on each side at the most. Boxes that are NaN or have no area are left out and counted below; the first 2000 steps are
// drawn. Pictures narrower than 1 : 6 or flatter than 12 : 1 are drawn as if they were that.
//
// InvalidArgument where the item doesn't fit the example (check_item()), its picture is none (check_example()) or an option is out of
// its range; SystemError where the file can't be written.
ATTEND_API void write_svg(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options = {});
ATTEND_API void write_png(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options = {});

}  // namespace attend::view
