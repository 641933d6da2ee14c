#include "view/panel_page.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attend/base/format.h"

namespace attend::view {
namespace {

constexpr double bar_distance = 14, bar_thickness = 9, bar_shortest = 90, bar_longest = 180, bar_tick = 3;
constexpr double page_proportion = 1.6;

// As many panels side by side as bring the page nearest to its proportion and leave few places empty.
std::int64_t choose_grid_columns(std::int64_t count, double panel_width, double panel_height) {
  std::int64_t best = 1;
  double least = INFINITY;
  for (std::int64_t columns = 1; columns <= count; ++columns) {
    const auto rows = (count + columns - 1) / columns;
    const double proportion = static_cast<double>(columns) * panel_width / (static_cast<double>(rows) * panel_height);
    const double empty = static_cast<double>(columns * rows - count) / static_cast<double>(count);
    const double far = std::abs(std::log(proportion / page_proportion)) + empty;
    if (far < least) best = columns, least = far;
  }
  return best;
}

double bar_width(const PanelPage& page) { return std::clamp(page.map_width, bar_shortest, bar_longest); }

void paint_bar_ramp(cairo_t* context, const PanelPage& page, double width) {
  constexpr int stops = 64;
  const CairoPattern ramp(cairo_pattern_create_linear(0, 0, width, 0));
  for (int i = 0; i <= stops; ++i) {
    const double part = static_cast<double>(i) / stops;
    const Colour colour = page.colour_of(part);
    cairo_pattern_add_color_stop_rgb(ramp.get(), part, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
  }
  cairo_set_source(context, ramp.get());
  cairo_rectangle(context, 0, 0, width, bar_thickness);
  cairo_fill(context);
}

void paint_framed_box(cairo_t* context, const PanelPage& page, double x, double width) {
  set_source(context, ink_colour(page.options.background), 0.45);
  cairo_set_line_width(context, 0.5);
  cairo_rectangle(context, x, 0, width, bar_thickness);
  cairo_stroke(context);
}

void paint_nan_key(cairo_t* context, const PanelPage& page, double x, double size, const TextShaper& shaper) {
  set_source(context, page.colour_of(NAN));
  cairo_rectangle(context, x, 0, bar_thickness, bar_thickness);
  cairo_fill(context);
  paint_framed_box(context, page, x, bar_thickness);
  set_source(context, ink_colour(page.options.background));
  draw_label(context, shaper.shape("NaN", size, 60), x + bar_thickness + label_gap, bar_thickness / 2);
}

}  // namespace

void begin_page(PanelPage& page, const Example& example, const Item& item, const PictureOptions& options, double default_scale) {
  page.panels = panels_of(example, item);
  page.options = options;
  const double wanted = options.full_scale.value_or(default_scale), scale = wanted > 0 ? wanted : largest_weight(item);
  page.full_scale = scale > 0 ? scale : 1;
  page.has_nan = std::any_of(item.weights.begin(), item.weights.end(), [](float weight) { return std::isnan(weight); });
}

void choose_grid(PanelPage& page, double panel_width, double panel_height) {
  const auto count = static_cast<std::int64_t>(page.panels.panels.size());
  page.grid_columns = choose_grid_columns(count, panel_width, panel_height);
  page.grid_rows = (count + page.grid_columns - 1) / page.grid_columns;
}

void shape_title(PanelPage& page, const TextShaper& shaper) {
  page.title = shaper.shape(picture_text(page.panels.title), 1.2 * page.options.font_size, 2000, PANGO_WEIGHT_SEMIBOLD);
}

void shape_headings(PanelPage& page, const TextShaper& shaper) {
  for (const Panel& panel : page.panels.panels) {
    if (panel.heading.empty()) continue;
    const double longest = std::max(heading_least, page.panel_width());
    page.headings.push_back(shaper.shape(picture_text(panel.heading), page.options.font_size, longest));
  }
  page.heading_height = page.headings.empty() ? 0 : tallest_label(page.headings) + label_gap;
}

void place_on_page(PanelPage& page, double room_left, double room_above) {
  const double size = page.options.font_size;
  for (double* length : {&page.before_map, &page.above_map, &page.after_map, &page.heading_height}) *length = std::ceil(*length);
  page.grid_left = std::ceil(page_margin + room_left);
  page.grid_top = std::ceil(page_margin + page.title.height + label_gap + room_above);
  double right = page_margin + page.title.width, bottom = page.grid_top + 2 * size;
  if (!page.panels.is_empty()) {
    const double bar_right = page.before_map + bar_width(page) + (page.has_nan ? 5 * size : size);
    right = std::max(right, page.grid_left + std::max(page.grid_width(), bar_right));
    bottom = page.grid_top + page.grid_height() + bar_distance + bar_thickness + bar_tick + 1.2 * size;
  } else {
    right = std::max(right, 20 * size);
  }
  page.width = std::ceil(right + page_margin);
  page.height = std::ceil(bottom + page_margin);
}

void paint_paper(cairo_t* context, const PanelPage& page, const TextShaper& shaper) {
  set_source(context, paper_colour(page.options.background));
  cairo_paint(context);
  set_source(context, ink_colour(page.options.background));
  draw_label(context, page.title, page_margin, page_margin + page.title.height / 2);
  if (!page.panels.is_empty()) return;
  const std::string sizes = format("nothing to show ({} x {})", page.panels.rows(), page.panels.columns());
  draw_label(context, shaper.shape(sizes, page.options.font_size, 1000), page_margin, page.grid_top + page.options.font_size);
}

void enter_panel(cairo_t* context, const PanelPage& page, std::size_t number) {
  const auto column = static_cast<std::int64_t>(number) % page.grid_columns;
  const auto row = static_cast<std::int64_t>(number) / page.grid_columns;
  cairo_translate(context, page.grid_left + static_cast<double>(column) * (page.panel_width() + panel_gap),
                  page.grid_top + static_cast<double>(row) * (page.panel_height() + panel_gap));
  set_source(context, ink_colour(page.options.background));
  if (!page.headings.empty()) draw_label(context, page.headings[number], page.before_map, (page.heading_height - label_gap) / 2);
  cairo_translate(context, page.before_map, page.heading_height + page.above_map);
}

void paint_frame(cairo_t* context, const PanelPage& page, double map_width, double map_height) {
  set_source(context, ink_colour(page.options.background), 0.45);
  cairo_set_line_width(context, 0.5);
  cairo_rectangle(context, -0.75, -0.75, map_width + 1.5, map_height + 1.5);
  cairo_stroke(context);
}

void paint_bar(cairo_t* context, const PanelPage& page, const TextShaper& shaper) {
  const double size = 0.85 * page.options.font_size, width = bar_width(page);
  cairo_save(context);
  cairo_translate(context, page.grid_left + page.before_map, page.grid_top + page.grid_height() + bar_distance);
  paint_bar_ramp(context, page, width);
  paint_framed_box(context, page, 0, width);
  const int parts = width > 120 ? 4 : 2;
  for (int i = 0; i <= parts; ++i) {
    const double x = width * i / parts;
    const PictureLabel label = shaper.shape(format("{:.3g}", page.full_scale * i / parts), size, 60);
    set_source(context, ink_colour(page.options.background), 0.45);
    cairo_move_to(context, x, bar_thickness);
    cairo_line_to(context, x, bar_thickness + bar_tick - 0.5);
    cairo_stroke(context);
    set_source(context, ink_colour(page.options.background));
    draw_label(context, label, x, bar_thickness + bar_tick + label.height / 2, -label.width / 2);
  }
  if (page.has_nan) paint_nan_key(context, page, width + 18, size, shaper);
  cairo_restore(context);
}

}  // namespace attend::view
