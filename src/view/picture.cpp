#include "attend/view/picture.h"

#include <algorithm>
#include <memory>
#include <string>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "attend/data/unicode.h"
#include "view/drawing.h"
#include "view/glimpse_path.h"
#include "view/heat_map.h"
#include "view/map_overlay.h"

namespace attend::view {
namespace {

void check_picture_options(const PictureOptions& options) {
  const auto check = [](const char* name, double value, double least, double most) {
    if (!(value >= least && value <= most)) throw InvalidArgument(format("expected {} from {} to {}, got {}", name, least, most, value));
  };
  check("font_size", options.font_size, 4, 72);
  check("cell_size", options.cell_size, 1, 200);
  check("label_length", options.label_length, 20, 10000);
  check("full_scale", options.full_scale.value_or(0), 0, 1e30);
  check("pixels_per_point", options.pixels_per_point, 0.5, 8);
  check("opacity", options.opacity, 0, 1);
  if (!data::is_valid_utf8(options.font) || options.font.find('\0') != std::string::npos) {
    throw InvalidArgument("expected the name of a font in UTF-8, got other bytes");
  }
  if (options.overlay != Overlay::colour && options.overlay != Overlay::light && options.overlay != Overlay::none) {
    throw InvalidArgument(format("expected the overlay colour, light or none, got number {}", static_cast<int>(options.overlay)));
  }
}

// Whether the item is drawn over the example's picture. InvalidArgument where that is no picture.
bool lies_on_picture(const Example& example, const Item& item, Overlay overlay) {
  if (overlay == Overlay::none || !example.picture || (item.kind != Kind::spatial && item.kind != Kind::glimpse)) return false;
  if (example.picture->pixels.empty()) {
    throw InvalidArgument(
        "expected the pixels of the picture that the item lies on, got none; of a RecordFile, take its picture(), or choose Overlay::none");
  }
  check_example(example);
  return std::find(item.shape.begin(), item.shape.end(), 0) == item.shape.end();
}

std::unique_ptr<Drawing> drawing_of(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  check_item(example, item);
  if (!lies_on_picture(example, item, options.overlay)) return heat_map(example, item, options, shaper);
  return (item.kind == Kind::glimpse ? glimpse_path : map_overlay)(example, item, options, shaper);
}

}  // namespace

void write_svg(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options) {
  check_picture_options(options);
  const TextShaper shaper(options.font);
  save_svg(file, *drawing_of(example, item, options, shaper), options.pixels_per_point);
}

void write_png(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options) {
  check_picture_options(options);
  const TextShaper shaper(options.font);
  save_png(file, *drawing_of(example, item, options, shaper), options.pixels_per_point);
}

}  // namespace attend::view
