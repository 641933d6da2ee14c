// Pictures and maps as pixels, in the look of the page (viewer/raster.js).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attend/view/picture.h"
#include "attend/view/record.h"
#include "view/drawing.h"

namespace attend::view {

// The shape that a picture is drawn in: its own, but none so narrow that nothing is seen (1 × 1000 pixels). Width by height.
double shown_aspect(const Picture& picture);

// The pixels of a picture at another size: means where they become fewer, smooth where they become more, their own squares where each
// becomes three or more.
ColourImage scaled_picture(const Picture& picture, std::int64_t width, std::int64_t height);

// One axis of a map: `length` cells, kept in blocks of `block`, the last one maybe smaller (1: every cell).
struct MapAxis {
  std::int64_t length = 0, block = 1;
};

// Each pixel's weight, row by row: bilinear between the middles of cells; a pixel of a NaN cell is NaN, and its neighbours see 0. Cells of
// less than three pixels keep their own weight, of less than one the largest that share it: a small peak must not fall between two pixels.
// Infinities count as `strongest` and 0.
std::vector<float> resampled_map(std::span<const float> weights, MapAxis rows, MapAxis columns, std::int64_t width, std::int64_t height,
                                 double strongest);

// The colour of a weight over a pixel of the picture; `part` of the full scale, or NaN.
Colour colour_over(Colour under, double part, Overlay overlay, double opacity);

// What the bar shows of it: the ramp, or what remains of white.
Colour colour_of_bar(double part, Overlay overlay, double opacity);

}  // namespace attend::view
