#include "attend/view/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "attend/base/error.h"

namespace attend::view {
namespace {

struct Lab {
  double lightness, a, b;
};

struct LinearRgb {
  double red, green, blue;
};

double to_linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

std::uint8_t to_srgb(double linear) {
  const double clamped = std::clamp(linear, 0.0, 1.0);
  const double value = clamped <= 0.0031308 ? clamped * 12.92 : 1.055 * std::pow(clamped, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(value * 255));
}

// The two matrices and the cube root between them define OKLab.
Lab lab_of(Colour colour) {
  const double r = to_linear(colour.red), g = to_linear(colour.green), b = to_linear(colour.blue);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s, 1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

LinearRgb linear_of(const Lab& lab) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lab.lightness + 0.3963377774 * lab.a + 0.2158037573 * lab.b);
  const double m = cube(lab.lightness - 0.1055613458 * lab.a - 0.0638541728 * lab.b);
  const double s = cube(lab.lightness - 0.0894841775 * lab.a - 1.2914855480 * lab.b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

double distance(const Lab& a, const Lab& b) { return std::hypot(a.lightness - b.lightness, a.a - b.a, a.b - b.b); }

Lab lab_of_polar(double lightness, double chroma, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  return {lightness, chroma * std::cos(angle), chroma * std::sin(angle)};
}

bool is_displayable(const Lab& lab) {
  constexpr double slack = 1e-4;
  const LinearRgb rgb = linear_of(lab);
  const auto inside = [](double x) { return x >= -slack && x <= 1 + slack; };
  return inside(rgb.red) && inside(rgb.green) && inside(rgb.blue);
}

// Where a screen can't show so much colour, less of it at the same lightness and hue.
Lab nearest_displayable(double lightness, double chroma, double degrees) {
  if (is_displayable(lab_of_polar(lightness, chroma, degrees))) return lab_of_polar(lightness, chroma, degrees);
  double low = 0, high = chroma;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (is_displayable(lab_of_polar(lightness, middle, degrees)) ? low : high) = middle;
  }
  return lab_of_polar(lightness, low, degrees);
}

// The ramps' curves, t from 0 to 1. Light: from nearly white through sky blue to a deep indigo. Dark: from nearly black through violet and
// rose to a pale yellow.
Lab curve_point(double t, Background background) {
  const double rise = std::sin(std::numbers::pi * std::min(1.0, t * 1.15) / 2);
  if (background == Background::light) return nearest_displayable(0.985 - 0.715 * t, 0.008 + 0.135 * rise, 225 + 50 * t);
  return nearest_displayable(0.215 + 0.755 * t, 0.02 + 0.15 * std::sin(std::numbers::pi * std::min(1.0, 0.12 + t * 0.80)), 285 + 180 * t);
}

constexpr int ramp_steps = 1024;
using Ramp = std::array<Colour, ramp_steps + 1>;

// Walks the curve in steps of equal perceived length.
Ramp make_ramp(Background background) {
  constexpr int pieces = 4 * ramp_steps;
  std::array<double, pieces + 1> walked{};
  Lab previous = curve_point(0, background);
  for (int i = 1; i <= pieces; ++i) {
    const Lab point = curve_point(static_cast<double>(i) / pieces, background);
    walked[i] = walked[i - 1] + distance(previous, point);
    previous = point;
  }
  Ramp ramp;
  for (int i = 0, piece = 0; i <= ramp_steps; ++i) {
    const double goal = walked[pieces] * i / ramp_steps;
    while (piece < pieces - 1 && walked[piece + 1] < goal) ++piece;
    const double part = (goal - walked[piece]) / (walked[piece + 1] - walked[piece]);
    const LinearRgb rgb = linear_of(curve_point((piece + part) / pieces, background));
    ramp[i] = {to_srgb(rgb.red), to_srgb(rgb.green), to_srgb(rgb.blue)};
  }
  return ramp;
}

const Ramp& ramp_for(Background background) {
  static const Ramp light = make_ramp(Background::light), dark = make_ramp(Background::dark);
  return background == Background::light ? light : dark;
}

constexpr int first_terminal_colour = 16, last_terminal_colour = 255, first_terminal_grey = 232;

}  // namespace

Colour heat_map_colour(double weight, Background background) {
  if (std::isnan(weight)) return missing_colour(background);
  return ramp_for(background)[static_cast<std::size_t>(std::lround(std::clamp(weight, 0.0, 1.0) * ramp_steps))];
}

Colour missing_colour(Background background) { return background == Background::light ? Colour{226, 190, 160} : Colour{92, 70, 52}; }

Colour paper_colour(Background background) { return background == Background::light ? Colour{255, 255, 255} : Colour{18, 18, 22}; }

Colour ink_colour(Background background) { return background == Background::light ? Colour{32, 33, 36} : Colour{226, 227, 231}; }

Colour text_colour_on(Colour surface) {
  constexpr Colour black{0, 0, 0}, white{255, 255, 255};
  // WCAG 2.1: the ratio of relative luminances, each raised by 0.05; black and white tie at 0.179
  const double luminance = 0.2126 * to_linear(surface.red) + 0.7152 * to_linear(surface.green) + 0.0722 * to_linear(surface.blue);
  return luminance > 0.179 ? black : white;
}

double perceived_distance(Colour a, Colour b) { return distance(lab_of(a), lab_of(b)); }

Colour colour_of_terminal(int number) {
  if (number < first_terminal_colour || number > last_terminal_colour) {
    throw InvalidArgument(format("expected the number of a terminal's colour from 16 to 255, got {}", number));
  }
  if (number >= first_terminal_grey) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (number - first_terminal_grey));
    return {grey, grey, grey};
  }
  constexpr std::array<std::uint8_t, 6> levels{0, 95, 135, 175, 215, 255};
  const int cube = number - first_terminal_colour;
  return {levels[cube / 36], levels[cube / 6 % 6], levels[cube % 6]};
}

int terminal_colour(Colour colour) {
  const Lab wanted = lab_of(colour);
  int nearest = first_terminal_colour;
  double least = distance(wanted, lab_of(colour_of_terminal(nearest)));
  for (int number = first_terminal_colour + 1; number <= last_terminal_colour; ++number) {
    const double far = distance(wanted, lab_of(colour_of_terminal(number)));
    if (far < least) nearest = number, least = far;
  }
  return nearest;
}

}  // namespace attend::view
