#include "view/heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/format.h"
#include "view/panel_page.h"

namespace attend::view {
namespace {

// What one panel may take of the page in one direction.
constexpr double panel_extent_most = 1400;
constexpr std::size_t rectangles_most = 10000;

enum class LabelDirection { horizontal, slanted, upright };

// Everything that is needed to paint, in points.
struct HeatMapLayout : PanelPage {
  double cell = 0, cell_gap = 0;
  std::int64_t row_step = 1, column_step = 1;  // each k-th label is written
  std::vector<PictureLabel> row_labels, column_labels;
  LabelDirection direction = LabelDirection::horizontal;
  PictureLabel row_axis, column_axis;
};

void choose_cell_size(HeatMapLayout& layout) {
  const double rows = static_cast<double>(layout.panels.rows()), columns = static_cast<double>(layout.panels.columns());
  const double nominal = std::min(layout.options.cell_size, panel_extent_most / std::max(rows, columns));
  const double labels = layout.options.label_length / 2 + panel_gap;
  choose_grid(layout, columns * nominal + labels, rows * nominal + labels);
  const double fitting = std::min({nominal, grid_extent_most / (static_cast<double>(layout.grid_columns) * columns),
                                   grid_extent_most / (static_cast<double>(layout.grid_rows) * rows)});
  // Cells of whole pixels are all equal; of less than one they are averaged.
  const double pixels = std::floor(fitting * layout.options.pixels_per_point);
  layout.cell = pixels >= 1 ? pixels / layout.options.pixels_per_point : fitting;
  layout.cell_gap = layout.cell >= 8 ? 1 / layout.options.pixels_per_point : 0;
  layout.map_width = columns * layout.cell;
  layout.map_height = rows * layout.cell;
}

std::vector<PictureLabel> shape_each(const std::vector<std::string>& tokens, std::int64_t step, double size, double longest,
                                     const TextShaper& shaper) {
  std::vector<PictureLabel> labels;
  for (std::size_t i = 0; i < tokens.size(); i += static_cast<std::size_t>(step)) {
    labels.push_back(shaper.shape(picture_text(tokens[i]), size, longest));
  }
  return labels;
}

// Labels `apart` points from each other must be that high at most: a smaller font first, then each k-th label. Shapes them.
std::vector<PictureLabel> fit_labels(const std::vector<std::string>& tokens, double apart, const PictureOptions& options,
                                     const TextShaper& shaper, std::int64_t& step) {
  constexpr double line_height = 1.25;
  const double size = std::clamp(apart / line_height, std::min(smallest_font, options.font_size), options.font_size);
  step = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(size * line_height / apart)));
  std::vector<PictureLabel> labels = shape_each(tokens, step, size, options.label_length, shaper);
  // Scripts differ: some lines are higher than Latin ones, and marks may be stacked.
  const double tallest = tallest_label(labels);
  if (tallest > apart * static_cast<double>(step)) {
    step = static_cast<std::int64_t>(std::ceil(tallest / apart));
    if (step > 1 && apart >= size) {  // rather smaller letters than labels left out
      step = 1;
      return shape_each(tokens, step, size * apart / tallest, options.label_length, shaper);
    }
    return shape_each(tokens, step, size, options.label_length, shaper);
  }
  return labels;
}

constexpr double slant = std::numbers::pi / 4;

// Horizontal where each label fits over its cell, slanted where lines at 45° don't touch, else upright.
void place_column_labels(HeatMapLayout& layout, const TextShaper& shaper) {
  const PictureOptions& options = layout.options;
  layout.column_labels = fit_labels(layout.panels.column_labels, layout.cell, options, shaper, layout.column_step);
  const double apart = layout.cell * static_cast<double>(layout.column_step);
  const double widest = widest_label(layout.column_labels), tallest = tallest_label(layout.column_labels);
  layout.direction = widest + label_gap <= apart                 ? LabelDirection::horizontal
                     : tallest <= apart * std::sin(slant) + 1e-9 ? LabelDirection::slanted
                                                                 : LabelDirection::upright;
  layout.after_map = 0;
  if (layout.direction == LabelDirection::horizontal) {
    layout.above_map = tallest + label_gap;
  } else if (layout.direction == LabelDirection::upright) {
    layout.above_map = widest + label_gap;
  } else {
    layout.above_map = (widest + tallest / 2) * std::sin(slant) + label_gap;
    for (std::size_t i = 0; i < layout.column_labels.size(); ++i) {
      const double begin = (static_cast<double>(i) * static_cast<double>(layout.column_step) + 0.5) * layout.cell;
      const double end = begin + (layout.column_labels[i].width + layout.column_labels[i].height / 2) * std::cos(slant);
      layout.after_map = std::max(layout.after_map, end - layout.map_width);
    }
  }
}

void place_panels(HeatMapLayout& layout, const TextShaper& shaper) {
  const PictureOptions& options = layout.options;
  choose_cell_size(layout);
  layout.row_labels = fit_labels(layout.panels.row_labels, layout.cell, options, shaper, layout.row_step);
  const double widest = widest_label(layout.row_labels);
  layout.before_map = widest > 0 ? widest + label_gap : 0;
  place_column_labels(layout, shaper);
  shape_headings(layout, shaper);
}

HeatMapLayout lay_out_heat_map(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  HeatMapLayout layout;
  begin_page(layout, example, item, options, 1);
  layout.colour_of = [background = options.background](double part) { return heat_map_colour(part, background); };
  shape_title(layout, shaper);
  double room_left = 0, room_above = 0;
  if (!layout.panels.is_empty()) {
    const double size = 0.9 * options.font_size;
    layout.column_axis = shaper.shape(picture_text(layout.panels.column_axis), size, options.label_length);
    layout.row_axis = shaper.shape(picture_text(layout.panels.row_axis), size, options.label_length);
    place_panels(layout, shaper);
    room_left = layout.panels.row_axis.empty() ? 0 : layout.row_axis.height + label_gap;
    room_above = layout.column_axis.height + label_gap;
  }
  place_on_page(layout, room_left, room_above);
  return layout;
}

Colour cell_colour_of(const HeatMapLayout& layout, float weight) {
  return heat_map_colour(weight / layout.full_scale, layout.options.background);
}

void paint_rectangles(cairo_t* context, const HeatMapLayout& layout, const Panel& panel) {
  const double gap = layout.cell_gap, cell = layout.cell;
  const std::int64_t columns = layout.panels.columns();
  for (std::size_t i = 0; i < panel.weights.size(); ++i) {
    const double x = static_cast<double>(static_cast<std::int64_t>(i) % columns) * cell;
    const double y = static_cast<double>(static_cast<std::int64_t>(i) / columns) * cell;
    set_source(context, cell_colour_of(layout, panel.weights[i]));
    cairo_rectangle(context, x, y, cell - gap, cell - gap);
    cairo_fill(context);
  }
}

// One pixel for each weight, stretched: thousands of rectangles would make a file that nothing opens.
void paint_image(cairo_t* context, const HeatMapLayout& layout, const Panel& panel, double pixels_per_point) {
  ColourImage image{layout.panels.columns(), layout.panels.rows()};
  image.pixels.reserve(panel.weights.size());
  for (const float weight : panel.weights) image.pixels.push_back(cell_colour_of(layout, weight));
  const bool whole_pixels = layout.cell * pixels_per_point >= 1;
  draw_image(context, image, layout.cell, layout.cell, whole_pixels ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
}

void paint_numbers(cairo_t* context, const HeatMapLayout& layout, const Panel& panel, const TextShaper& shaper) {
  const double size = std::min(layout.options.font_size, 0.38 * layout.cell);
  if (!layout.options.numbers || size < smallest_font || panel.weights.size() > rectangles_most) return;
  const std::int64_t columns = layout.panels.columns();
  const double middle = (layout.cell - layout.cell_gap) / 2;
  for (std::size_t i = 0; i < panel.weights.size(); ++i) {
    const float weight = panel.weights[i];
    const PictureLabel label = shaper.shape(std::isnan(weight) ? "NaN" : format("{:.2f}", weight), size, layout.cell);
    set_source(context, text_colour_on(cell_colour_of(layout, weight)));
    const double x = static_cast<double>(static_cast<std::int64_t>(i) % columns) * layout.cell + middle;
    draw_label(context, label, x, static_cast<double>(static_cast<std::int64_t>(i) / columns) * layout.cell + middle, -label.width / 2);
  }
}

void paint_labels(cairo_t* context, const HeatMapLayout& layout) {
  const double middle = (layout.cell - layout.cell_gap) / 2;
  set_source(context, ink_colour(layout.options.background));
  for (std::size_t i = 0; i < layout.row_labels.size(); ++i) {
    const double y = static_cast<double>(i) * static_cast<double>(layout.row_step) * layout.cell + middle;
    draw_label(context, layout.row_labels[i], -label_gap, y, -layout.row_labels[i].width);
  }
  for (std::size_t i = 0; i < layout.column_labels.size(); ++i) {
    const PictureLabel& label = layout.column_labels[i];
    const double x = static_cast<double>(i) * static_cast<double>(layout.column_step) * layout.cell + middle;
    if (layout.direction == LabelDirection::horizontal) {
      draw_label(context, label, x, -label_gap - label.height / 2, -label.width / 2);
    } else {
      draw_label(context, label, x, -label_gap, 0, layout.direction == LabelDirection::slanted ? -slant : -std::numbers::pi / 2);
    }
  }
}

void paint_axis_names(cairo_t* context, const HeatMapLayout& layout) {
  set_source(context, ink_colour(layout.options.background), 0.65);
  const double middle_x = layout.grid_left + layout.before_map + layout.map_width / 2;
  const double middle_y = layout.grid_top + layout.heading_height + layout.above_map + layout.map_height / 2;
  const bool one_panel = layout.panels.panels.size() == 1;
  const double x = one_panel ? middle_x : layout.grid_left + layout.grid_width() / 2;
  const double y = one_panel ? middle_y : layout.grid_top + layout.grid_height() / 2;
  draw_label(context, layout.column_axis, x, layout.grid_top - label_gap - layout.column_axis.height / 2, -layout.column_axis.width / 2);
  if (layout.panels.row_axis.empty()) return;
  const double left = layout.grid_left - label_gap - layout.row_axis.height / 2;
  draw_label(context, layout.row_axis, left, y, -layout.row_axis.width / 2, -std::numbers::pi / 2);
}

class HeatMap final : public Drawing {
 public:
  HeatMap(HeatMapLayout layout, const TextShaper& shaper) : layout_(std::move(layout)), shaper_(shaper) {}

  std::string title() const override { return "Heat map of " + layout_.panels.title; }
  double width() const override { return layout_.width; }
  double height() const override { return layout_.height; }

  void paint(cairo_t* context, const ImageDetail& detail) const override {
    paint_paper(context, layout_, shaper_);
    if (layout_.panels.is_empty()) return;
    paint_axis_names(context, layout_);
    for (std::size_t i = 0; i < layout_.panels.panels.size(); ++i) paint_panel(context, i, detail);
    paint_bar(context, layout_, shaper_);
  }

 private:
  void paint_panel(cairo_t* context, std::size_t number, const ImageDetail& detail) const {
    const Panel& panel = layout_.panels.panels[number];
    cairo_save(context);
    enter_panel(context, layout_, number);
    if (layout_.panels.panels.size() * panel.weights.size() > rectangles_most) {
      paint_image(context, layout_, panel, detail.pixels_per_point);
    } else {
      paint_rectangles(context, layout_, panel);
    }
    paint_numbers(context, layout_, panel, shaper_);
    paint_frame(context, layout_, layout_.map_width - layout_.cell_gap, layout_.map_height - layout_.cell_gap);
    paint_labels(context, layout_);
    cairo_restore(context);
  }

  HeatMapLayout layout_;
  const TextShaper& shaper_;
};

}  // namespace

std::unique_ptr<Drawing> heat_map(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  return std::make_unique<HeatMap>(lay_out_heat_map(example, item, options, shaper), shaper);
}

}  // namespace attend::view
