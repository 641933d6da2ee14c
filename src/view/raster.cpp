#include "view/raster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "view/record_format.h"

namespace attend::view {
namespace {

constexpr double narrowest_aspect = 1.0 / 6, widest_aspect = 12;
constexpr std::int64_t large_pixel = 3, smooth_cell_least = 3;

std::size_t to_index(std::int64_t number) { return static_cast<std::size_t>(number); }

// The pixels of one axis that make a pixel at another size, from `first` on, and the share of each.
struct PixelShares {
  std::int64_t first = 0;
  std::vector<float> parts = {};
};

PixelShares averaged_shares(double begin, double end, std::int64_t from) {
  PixelShares shares{std::min(static_cast<std::int64_t>(begin), from - 1)};
  const std::int64_t last = std::clamp(static_cast<std::int64_t>(std::ceil(end)) - 1, shares.first, from - 1);
  for (std::int64_t i = shares.first; i <= last; ++i) {
    const double covered = std::min(end, static_cast<double>(i + 1)) - std::max(begin, static_cast<double>(i));
    shares.parts.push_back(static_cast<float>(std::max(0.0, covered) / (end - begin)));
  }
  return shares;
}

PixelShares smooth_shares(double middle, std::int64_t from) {
  const double at = std::clamp(middle - 0.5, 0.0, static_cast<double>(from - 1)), left = std::floor(at);
  const auto part = static_cast<float>(at - left);
  if (part == 0) return {static_cast<std::int64_t>(left), {1}};
  return {static_cast<std::int64_t>(left), {1 - part, part}};
}

std::vector<PixelShares> shares_along(std::int64_t from, std::int64_t to) {
  const double size = static_cast<double>(from) / static_cast<double>(to);
  std::vector<PixelShares> shares;
  shares.reserve(to_index(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const double begin = static_cast<double>(i) * size, middle = begin + size / 2;
    shares.push_back(to >= large_pixel * from ? PixelShares{std::min(static_cast<std::int64_t>(middle), from - 1), {1}}
                     : to > from              ? smooth_shares(middle, from)
                                              : averaged_shares(begin, begin + size, from));
  }
  return shares;
}

using LightRow = std::vector<std::array<float, 3>>;

LightRow scaled_row(const Picture& picture, std::int64_t row, const std::vector<PixelShares>& across) {
  const std::uint8_t* pixels = picture.pixels.data() + to_index(row * picture.width * picture.channels);
  LightRow scaled(across.size());
  for (std::size_t x = 0; x < across.size(); ++x) {
    for (std::size_t i = 0; i < across[x].parts.size(); ++i) {
      const std::uint8_t* pixel = pixels + (to_index(across[x].first) + i) * to_index(picture.channels);
      for (std::size_t channel = 0; channel < 3; ++channel) {
        scaled[x][channel] += across[x].parts[i] * pixel[picture.channels == 3 ? channel : 0];
      }
    }
  }
  return scaled;
}

std::uint8_t channel_of(double light) { return static_cast<std::uint8_t>(std::lround(std::clamp(light, 0.0, 255.0))); }

// Weights of a panel with the axes that they lie along.
struct PanelMap {
  std::vector<float> weights;
  MapAxis rows, columns;

  std::int64_t row_count() const { return blocks_of(rows.length, rows.block); }
  std::int64_t column_count() const { return blocks_of(columns.length, columns.block); }
};

PanelMap with_largest_of(const PanelMap& map, std::int64_t down, std::int64_t across) {
  PanelMap reduced{{}, {map.rows.length, map.rows.block * down}, {map.columns.length, map.columns.block * across}};
  const std::int64_t columns = map.column_count();
  reduced.weights.assign(to_index(reduced.row_count() * reduced.column_count()), -INFINITY);
  for (std::int64_t i = 0; i < std::ssize(map.weights); ++i) {
    float& largest = reduced.weights[to_index(i / columns / down * reduced.column_count() + i % columns / across)];
    if (!(map.weights[to_index(i)] <= largest)) largest = map.weights[to_index(i)];  // NaN stays NaN
  }
  return reduced;
}

// The cell that a pixel lies in, the two whose middles it lies between, and the share of the second.
struct CellPlace {
  std::int64_t own = 0, before = 0, after = 0;
  float part = 0;
};

std::vector<CellPlace> cells_along(MapAxis axis, std::int64_t pixels) {
  const auto middle_of = [axis](std::int64_t cell) {
    const double begin = static_cast<double>(cell) * static_cast<double>(axis.block);
    return (begin + std::min(begin + static_cast<double>(axis.block), static_cast<double>(axis.length))) / 2;
  };
  const std::int64_t last = blocks_of(axis.length, axis.block) - 1;
  std::vector<CellPlace> cells;
  cells.reserve(to_index(pixels));
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
    const double at = (static_cast<double>(pixel) + 0.5) / static_cast<double>(pixels) * static_cast<double>(axis.length);
    const std::int64_t own = std::clamp<std::int64_t>(static_cast<std::int64_t>(at) / axis.block, 0, last);
    const std::int64_t before = at < middle_of(own) ? std::max<std::int64_t>(own - 1, 0) : own, after = std::min(before + 1, last);
    const double apart = middle_of(after) - middle_of(before);
    const double part = apart > 0 ? std::clamp((at - middle_of(before)) / apart, 0.0, 1.0) : 0;
    cells.push_back({own, before, after, static_cast<float>(part)});
  }
  return cells;
}

// Between four cells, none of which needs be finite.
float between_cells(const PanelMap& map, const CellPlace& row, const CellPlace& column, double strongest) {
  const auto weight = [&](std::int64_t r, std::int64_t c) {
    const float held = map.weights[to_index(r * map.column_count() + c)];
    return std::isfinite(held) ? held : held > 0 ? static_cast<float>(strongest) : 0.0f;
  };
  const auto across = [&](std::int64_t r) { return std::lerp(weight(r, column.before), weight(r, column.after), column.part); };
  return std::lerp(across(row.before), across(row.after), row.part);
}

Colour mixed(Colour under, Colour over, double cover) {
  const auto mix = [cover](double below, double above) { return channel_of(below * (1 - cover) + above * cover); };
  return {mix(under.red, over.red), mix(under.green, over.green), mix(under.blue, over.blue)};
}

}  // namespace

double shown_aspect(const Picture& picture) {
  return std::clamp(static_cast<double>(picture.width) / static_cast<double>(picture.height), narrowest_aspect, widest_aspect);
}

ColourImage scaled_picture(const Picture& picture, std::int64_t width, std::int64_t height) {
  const std::vector<PixelShares> across = shares_along(picture.width, width), down = shares_along(picture.height, height);
  ColourImage image{width, height};
  image.pixels.reserve(to_index(width * height));
  // Rows follow each other: of those that two of the result share, each is scaled once.
  std::array<std::int64_t, 2> numbers{-1, -1};
  std::array<LightRow, 2> rows;
  for (const PixelShares& shares : down) {
    LightRow sum(across.size());
    for (std::size_t i = 0; i < shares.parts.size(); ++i) {
      const std::int64_t number = shares.first + static_cast<std::int64_t>(i);
      const std::size_t slot = to_index(number % 2);
      if (numbers[slot] != number) rows[slot] = scaled_row(picture, number, across), numbers[slot] = number;
      for (std::size_t x = 0; x < sum.size(); ++x) {
        for (std::size_t channel = 0; channel < 3; ++channel) sum[x][channel] += shares.parts[i] * rows[slot][x][channel];
      }
    }
    for (const auto& light : sum) image.pixels.push_back({channel_of(light[0]), channel_of(light[1]), channel_of(light[2])});
  }
  return image;
}

std::vector<float> resampled_map(std::span<const float> weights, MapAxis rows, MapAxis columns, std::int64_t width, std::int64_t height,
                                 double strongest) {
  PanelMap map{{weights.begin(), weights.end()}, rows, columns};
  const std::int64_t down = blocks_of(map.row_count(), height), across = blocks_of(map.column_count(), width);
  if (down > 1 || across > 1) map = with_largest_of(map, down, across);
  const bool is_smooth = map.row_count() * smooth_cell_least <= height && map.column_count() * smooth_cell_least <= width;
  const std::vector<CellPlace> row_places = cells_along(map.rows, height), column_places = cells_along(map.columns, width);
  std::vector<float> result;
  result.reserve(to_index(width * height));
  for (const CellPlace& row : row_places) {
    for (const CellPlace& column : column_places) {
      const float own = map.weights[to_index(row.own * map.column_count() + column.own)];
      result.push_back(is_smooth && !std::isnan(own) ? between_cells(map, row, column, strongest) : own);
    }
  }
  return result;
}

// The ramp lies over a picture that turns grey below it, as its own colours would be taken for weights, and strong weights cover more than
// weak ones: the picture stays visible where little is to be said.
Colour colour_over(Colour under, double part, Overlay overlay, double opacity) {
  const bool is_missing = std::isnan(part);
  const double clamped = is_missing ? 1 : std::clamp(part, 0.0, 1.0);
  if (overlay == Overlay::light) {
    return is_missing ? missing_colour(Background::dark) : mixed(under, {0, 0, 0}, opacity * (1 - clamped));
  }
  const double grey = std::min(1.0, opacity * 1.5), light = 0.299 * under.red + 0.587 * under.green + 0.114 * under.blue;
  const double weak = opacity * opacity;
  const double cover = is_missing ? std::min(1.0, opacity * 1.4) : opacity * (weak + (1 - weak) * std::sqrt(clamped));
  const std::uint8_t shade = channel_of(light);
  return mixed(mixed(under, {shade, shade, shade}, grey), heat_map_colour(part, Background::dark), cover);
}

Colour colour_of_bar(double part, Overlay overlay, double opacity) {
  if (overlay == Overlay::light) return colour_over({255, 255, 255}, part, overlay, opacity);
  return heat_map_colour(part, Background::dark);
}

}  // namespace attend::view
