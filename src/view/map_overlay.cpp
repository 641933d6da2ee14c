#include "view/map_overlay.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/format.h"
#include "view/panel_page.h"
#include "view/raster.h"

namespace attend::view {
namespace {

// Of a panel's longer side: of one in a page of many, and of a panel that stands alone.
constexpr double overlay_side_least = 160, overlay_side_most = 360;
constexpr double points_per_pixel = 0.75;  // of a screen

struct MapOverlayLayout : PanelPage {
  MapAxis rows, columns;
};

// As long as the picture's own pixels make it, within what leaves room for the others.
double overlay_side(const Picture& picture, double panels) {
  const double most = std::max(overlay_side_least, overlay_side_most / std::sqrt(panels));
  return std::clamp(points_per_pixel * static_cast<double>(std::max(picture.width, picture.height)), overlay_side_least, most);
}

void choose_map_size(MapOverlayLayout& layout, const Picture& picture) {
  const double aspect = shown_aspect(picture), across = std::min(1.0, aspect), down = std::min(1.0, 1 / aspect);
  double side = overlay_side(picture, static_cast<double>(layout.panels.panels.size()));
  choose_grid(layout, std::max(heading_least, side * across) + panel_gap, side * down + 2 * panel_gap);
  const double fitting = grid_extent_most / static_cast<double>(std::max(layout.grid_columns, layout.grid_rows)) - panel_gap;
  side = std::min(side, std::max(heading_least, fitting));
  layout.map_width = std::max(1.0, std::round(side * across));
  layout.map_height = std::max(1.0, std::round(side * down));
  layout.after_map = std::max(0.0, heading_least - layout.map_width);
}

MapOverlayLayout lay_out_overlay(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  MapOverlayLayout layout;
  begin_page(layout, example, item, options, 0);
  layout.colour_of = [options](double part) { return colour_of_bar(part, options.overlay, options.opacity); };
  layout.columns = {item.shape.back(), item.block[1]};
  layout.rows = item.shape.size() > 1 ? MapAxis{item.shape[item.shape.size() - 2], item.block[0]} : MapAxis{1, 1};
  choose_map_size(layout, *example.picture);
  shape_title(layout, shaper);
  shape_headings(layout, shaper);
  place_on_page(layout, 0, label_gap);
  return layout;
}

class MapOverlay final : public Drawing {
 public:
  MapOverlay(MapOverlayLayout layout, const Picture& picture, const TextShaper& shaper)
      : layout_(std::move(layout)), picture_(picture), shaper_(shaper) {}

  std::string title() const override { return format("Heat map of {} over its picture", layout_.panels.title); }
  double width() const override { return layout_.width; }
  double height() const override { return layout_.height; }

  void paint(cairo_t* context, const ImageDetail& detail) const override {
    paint_paper(context, layout_, shaper_);
    const double area = layout_.map_width * layout_.map_height * static_cast<double>(layout_.panels.panels.size());
    const double scale = std::min(detail.pixels_per_point, std::sqrt(detail.pixels_most / area));
    const auto pixels_of = [scale](double length) { return std::max<std::int64_t>(1, std::llround(length * scale)); };
    const ColourImage base = scaled_picture(picture_, pixels_of(layout_.map_width), pixels_of(layout_.map_height));
    for (std::size_t i = 0; i < layout_.panels.panels.size(); ++i) paint_panel(context, i, base);
    paint_bar(context, layout_, shaper_);
  }

 private:
  void paint_panel(cairo_t* context, std::size_t number, const ColourImage& base) const {
    const Panel& panel = layout_.panels.panels[number];
    cairo_save(context);
    enter_panel(context, layout_, number);
    draw_image(context, with_map(base, panel), layout_.map_width / static_cast<double>(base.width),
               layout_.map_height / static_cast<double>(base.height), CAIRO_FILTER_GOOD);
    paint_frame(context, layout_, layout_.map_width, layout_.map_height);
    cairo_restore(context);
  }

  ColourImage with_map(ColourImage image, const Panel& panel) const {
    const std::vector<float> weights =
        resampled_map(panel.weights, layout_.rows, layout_.columns, image.width, image.height, layout_.full_scale);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Colour& pixel = image.pixels[i];
      pixel = colour_over(pixel, weights[i] / layout_.full_scale, layout_.options.overlay, layout_.options.opacity);
    }
    return image;
  }

  MapOverlayLayout layout_;
  const Picture& picture_;
  const TextShaper& shaper_;
};

}  // namespace

std::unique_ptr<Drawing> map_overlay(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  return std::make_unique<MapOverlay>(lay_out_overlay(example, item, options, shaper), *example.picture, shaper);
}

}  // namespace attend::view
