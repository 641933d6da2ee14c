// The colours of heat maps, the same in the terminal and in pictures.
//
// The ramp is computed, not tabulated: a curve through OKLCh (B. Ottosson, "A perceptual color space for image processing", 2020) whose
// lightness changes in one direction only, walked at even perceived distances. Equal steps of weight therefore look equally large, and a
// picture still reads in grey.
#pragma once

#include <cstdint>

#include "attend/base/api.h"

namespace attend::view {

// sRGB, 8 bits a channel.
struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

// What a map is drawn on. A weight of 0 has nearly the colour of the background, so that the large weights stand out.
enum class Background { light, dark };

// The colour of `weight`: 0 nearly the background, 1 the strongest; beyond that the nearest end. NaN: missing_colour().
ATTEND_API Colour heat_map_colour(double weight, Background background = Background::light);

// For NaN: a colour off the ramp.
ATTEND_API Colour missing_colour(Background background = Background::light);

// What pictures are painted on, and what is written on that.
ATTEND_API Colour paper_colour(Background background);
ATTEND_API Colour ink_colour(Background background);

// Black or white, whichever is easier to read on `surface`.
ATTEND_API Colour text_colour_on(Colour surface);

// The perceived distance of two colours: Euclidean in OKLab. Black and white are 1 apart.
ATTEND_API double perceived_distance(Colour a, Colour b);

// The number, 16 to 255, of the colour of a 256-colour terminal that looks nearest (the cube of 6x6x6 and the 24 greys; the first 16 differ
// from terminal to terminal).
ATTEND_API int terminal_colour(Colour colour);

// The colour that a terminal shows for such a number. InvalidArgument where it isn't 16 to 255.
ATTEND_API Colour colour_of_terminal(int number);

}  // namespace attend::view
