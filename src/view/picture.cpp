#include "attend/view/picture.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <pango/pangocairo.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "attend/io/file.h"
#include "attend/view/panels.h"

namespace attend::view {
namespace {

struct CairoDelete {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_pattern_t* pattern) const { cairo_pattern_destroy(pattern); }
  void operator()(cairo_font_options_t* options) const { cairo_font_options_destroy(options); }
  void operator()(PangoLayout* layout) const { g_object_unref(layout); }
  void operator()(PangoFontDescription* description) const { pango_font_description_free(description); }
};
using CairoContext = std::unique_ptr<cairo_t, CairoDelete>;
using CairoSurface = std::unique_ptr<cairo_surface_t, CairoDelete>;
using CairoPattern = std::unique_ptr<cairo_pattern_t, CairoDelete>;
using TextShape = std::unique_ptr<PangoLayout, CairoDelete>;

constexpr double page_margin = 14, panel_gap = 18, label_gap = 4;
constexpr double bar_distance = 14, bar_thickness = 9, bar_shortest = 90, bar_longest = 180, bar_tick = 3;
// What one panel, and all panels together, may take of the page in one direction.
constexpr double panel_extent_most = 1400, grid_extent_most = 2800;
constexpr double page_proportion = 1.6;
constexpr double smallest_font = 5;
constexpr std::size_t rectangles_most = 10000;
constexpr double pixels_most = 64e6, side_most = 16384;
// A token that is longer than this would be elided at any size.
constexpr std::size_t label_graphemes_most = 200;

// A shaped line of text and its size.
struct PictureLabel {
  TextShape shape;
  double left = 0, width = 0, height = 0;
};

enum class LabelDirection { horizontal, slanted, upright };

// Everything that is needed to paint, in points.
struct PictureLayout {
  Panels panels;
  PictureOptions options;
  double full_scale = 1;
  bool has_nan = false;
  std::int64_t grid_columns = 1, grid_rows = 1;
  double cell = 0, cell_gap = 0;
  std::int64_t row_step = 1, column_step = 1;  // each k-th label is written
  std::vector<PictureLabel> row_labels, column_labels;
  LabelDirection direction = LabelDirection::horizontal;
  PictureLabel title, row_axis, column_axis;
  std::vector<PictureLabel> headings;
  double map_width = 0, map_height = 0;                             // of the cells of a panel
  double before_map = 0, above_map = 0, after_map = 0;              // room for the labels of a panel
  double heading_height = 0, grid_left = 0, grid_top = 0;
  double page_width = 0, page_height = 0;

  double panel_width() const { return before_map + map_width + after_map; }
  double panel_height() const { return heading_height + above_map + map_height; }
  double grid_width() const { return static_cast<double>(grid_columns) * (panel_width() + panel_gap) - panel_gap; }
  double grid_height() const { return static_cast<double>(grid_rows) * (panel_height() + panel_gap) - panel_gap; }
};

void set_source(cairo_t* context, Colour colour, double opacity = 1) {
  cairo_set_source_rgba(context, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0, opacity);
}

// Shapes text without hinting, so that it has the same size in SVG and PNG at any resolution.
class TextShaper {
 public:
  explicit TextShaper(std::string font)
      : font_(std::move(font)), surface_(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1)), context_(cairo_create(surface_.get())) {
    const std::unique_ptr<cairo_font_options_t, CairoDelete> options(cairo_font_options_create());
    cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(context_.get(), options.get());
  }

  // One line, elided where it is longer than `longest`.
  PictureLabel shape(const std::string& text, double size, double longest, PangoWeight weight = PANGO_WEIGHT_NORMAL) const {
    PictureLabel label{TextShape(pango_cairo_create_layout(context_.get()))};
    PangoLayout* layout = label.shape.get();
    const std::unique_ptr<PangoFontDescription, CairoDelete> description(pango_font_description_from_string(font_.c_str()));
    pango_font_description_set_absolute_size(description.get(), size * PANGO_SCALE);
    pango_font_description_set_weight(description.get(), weight);
    pango_layout_set_font_description(layout, description.get());
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    pango_layout_set_text(layout, text.data(), static_cast<int>(text.size()));
    PangoRectangle extents;
    pango_layout_get_extents(layout, nullptr, &extents);
    if (extents.width > longest * PANGO_SCALE) {
      pango_layout_set_width(layout, static_cast<int>(longest * PANGO_SCALE));
      pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
      pango_layout_get_extents(layout, nullptr, &extents);
    }
    label.left = pango_units_to_double(extents.x);
    label.width = pango_units_to_double(extents.width);
    label.height = pango_units_to_double(extents.height);
    return label;
  }

 private:
  std::string font_;
  CairoSurface surface_;
  CairoContext context_;
};

// Draws a label with its left end at (x, y) and its middle line through it, turned by `angle`. `along` moves it along its own direction.
void draw_label(cairo_t* context, const PictureLabel& label, double x, double y, double along = 0, double angle = 0) {
  cairo_save(context);
  cairo_translate(context, x, y);
  cairo_rotate(context, angle);
  cairo_move_to(context, along - label.left, -label.height / 2);
  pango_cairo_show_layout(context, label.shape.get());
  cairo_restore(context);
}

void check_picture_options(const PictureOptions& options) {
  const auto check = [](const char* name, double value, double least, double most) {
    if (!(value >= least && value <= most)) throw InvalidArgument(format("expected {} from {} to {}, got {}", name, least, most, value));
  };
  check("font_size", options.font_size, 4, 72);
  check("cell_size", options.cell_size, 1, 200);
  check("label_length", options.label_length, 20, 10000);
  check("full_scale", options.full_scale, 0, 1e30);
  check("pixels_per_point", options.pixels_per_point, 0.5, 8);
  if (!data::is_valid_utf8(options.font) || options.font.find('\0') != std::string::npos) {
    throw InvalidArgument("expected the name of a font in UTF-8, got other bytes");
  }
}

// Safe to shape: printable, and not so long that shaping takes noticeable time.
std::string picture_text(const std::string& token) {
  const std::string printable = printable_token(token);
  if (printable.size() <= label_graphemes_most) return printable;
  std::string shortened;
  std::size_t count = 0;
  // one cluster may itself be of any length: a letter under ten thousand accents
  constexpr std::size_t bytes_most = 8 * label_graphemes_most;
  for (const std::string& grapheme : data::graphemes(std::string_view(printable).substr(0, 2 * bytes_most))) {
    if (++count > label_graphemes_most || shortened.size() + grapheme.size() > bytes_most) return shortened + "…";
    shortened += grapheme;
  }
  return shortened;
}

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

void choose_cell_size(PictureLayout& layout) {
  const double rows = static_cast<double>(layout.panels.rows()), columns = static_cast<double>(layout.panels.columns());
  const auto count = static_cast<std::int64_t>(layout.panels.panels.size());
  const double nominal = std::min(layout.options.cell_size, panel_extent_most / std::max(rows, columns));
  const double labels = layout.options.label_length / 2 + panel_gap;
  layout.grid_columns = choose_grid_columns(count, columns * nominal + labels, rows * nominal + labels);
  layout.grid_rows = (count + layout.grid_columns - 1) / layout.grid_columns;
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

double widest_label(const std::vector<PictureLabel>& labels) {
  double width = 0;
  for (const PictureLabel& label : labels) width = std::max(width, label.width);
  return width;
}

double tallest_label(const std::vector<PictureLabel>& labels) {
  double height = 0;
  for (const PictureLabel& label : labels) height = std::max(height, label.height);
  return height;
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
void place_column_labels(PictureLayout& layout, const TextShaper& shaper) {
  const PictureOptions& options = layout.options;
  layout.column_labels = fit_labels(layout.panels.column_labels, layout.cell, options, shaper, layout.column_step);
  const double apart = layout.cell * static_cast<double>(layout.column_step);
  const double widest = widest_label(layout.column_labels), tallest = tallest_label(layout.column_labels);
  layout.direction = widest + label_gap <= apart                      ? LabelDirection::horizontal
                     : tallest <= apart * std::sin(slant) + 1e-9      ? LabelDirection::slanted
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

void place_panels(PictureLayout& layout, const TextShaper& shaper) {
  const PictureOptions& options = layout.options;
  choose_cell_size(layout);
  layout.row_labels = fit_labels(layout.panels.row_labels, layout.cell, options, shaper, layout.row_step);
  const double widest = widest_label(layout.row_labels);
  layout.before_map = widest > 0 ? widest + label_gap : 0;
  place_column_labels(layout, shaper);
  for (const Panel& panel : layout.panels.panels) {
    if (panel.heading.empty()) continue;
    layout.headings.push_back(shaper.shape(picture_text(panel.heading), options.font_size, std::max(60.0, layout.panel_width())));
  }
  layout.heading_height = layout.headings.empty() ? 0 : tallest_label(layout.headings) + label_gap;
}

double bar_width(const PictureLayout& layout) { return std::clamp(layout.map_width, bar_shortest, bar_longest); }

// From the top: title, name of the column axis, the grid of panels, the bar. On the left: name of the row axis. Whole points, so that cells
// begin at pixels.
void place_on_page(PictureLayout& layout, const TextShaper& shaper) {
  const double size = layout.options.font_size;
  layout.title = shaper.shape(picture_text(layout.panels.title), 1.2 * size, 2000, PANGO_WEIGHT_SEMIBOLD);
  layout.grid_left = page_margin;
  layout.grid_top = page_margin + layout.title.height + label_gap;
  if (!layout.panels.is_empty()) {
    layout.column_axis = shaper.shape(picture_text(layout.panels.column_axis), 0.9 * size, layout.options.label_length);
    layout.row_axis = shaper.shape(picture_text(layout.panels.row_axis), 0.9 * size, layout.options.label_length);
    place_panels(layout, shaper);
    layout.before_map = std::ceil(layout.before_map);
    layout.above_map = std::ceil(layout.above_map);
    layout.after_map = std::ceil(layout.after_map);
    layout.heading_height = std::ceil(layout.heading_height);
    layout.grid_left += layout.panels.row_axis.empty() ? 0 : layout.row_axis.height + label_gap;
    layout.grid_top += layout.column_axis.height + label_gap;
  }
  layout.grid_left = std::ceil(layout.grid_left);
  layout.grid_top = std::ceil(layout.grid_top);
  double right = page_margin + layout.title.width, bottom = layout.grid_top + 2 * size;
  if (!layout.panels.is_empty()) {
    const double bar_right = layout.before_map + bar_width(layout) + (layout.has_nan ? 5 * size : size);
    right = std::max(right, layout.grid_left + std::max(layout.grid_width(), bar_right));
    bottom = layout.grid_top + layout.grid_height() + bar_distance + bar_thickness + bar_tick + 1.2 * size;
  } else {
    right = std::max(right, 20 * size);
  }
  layout.page_width = std::ceil(right + page_margin);
  layout.page_height = std::ceil(bottom + page_margin);
}

PictureLayout lay_out_picture(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  PictureLayout layout;
  layout.panels = panels_of(example, item);
  layout.options = options;
  const double scale = options.full_scale > 0 ? options.full_scale : largest_weight(item);
  layout.full_scale = scale > 0 ? scale : 1;
  layout.has_nan = std::any_of(item.weights.begin(), item.weights.end(), [](float weight) { return std::isnan(weight); });
  place_on_page(layout, shaper);
  return layout;
}

Colour cell_colour_of(const PictureLayout& layout, float weight) {
  return heat_map_colour(weight / layout.full_scale, layout.options.background);
}

void paint_rectangles(cairo_t* context, const PictureLayout& layout, const Panel& panel) {
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
void paint_image(cairo_t* context, const PictureLayout& layout, const Panel& panel) {
  const auto rows = static_cast<int>(layout.panels.rows()), columns = static_cast<int>(layout.panels.columns());
  const CairoSurface image(cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows));
  if (cairo_surface_status(image.get()) != CAIRO_STATUS_SUCCESS) {
    throw InvalidArgument(format("expected a map of at most 32767 rows and columns, got {} x {}; choose a part of it", rows, columns));
  }
  cairo_surface_flush(image.get());
  unsigned char* pixels = cairo_image_surface_get_data(image.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(image.get()));
  for (std::size_t y = 0; y < static_cast<std::size_t>(rows); ++y) {
    auto* row = reinterpret_cast<std::uint32_t*>(pixels + y * stride);  // cairo aligns its rows
    for (std::size_t x = 0; x < static_cast<std::size_t>(columns); ++x) {
      const Colour colour = cell_colour_of(layout, panel.weights[y * static_cast<std::size_t>(columns) + x]);
      row[x] = (std::uint32_t{colour.red} << 16) | (std::uint32_t{colour.green} << 8) | colour.blue;
    }
  }
  cairo_surface_mark_dirty(image.get());
  cairo_save(context);
  cairo_scale(context, layout.cell, layout.cell);
  cairo_set_source_surface(context, image.get(), 0, 0);
  const bool whole_pixels = layout.cell * layout.options.pixels_per_point >= 1;
  cairo_pattern_set_filter(cairo_get_source(context), whole_pixels ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
  cairo_rectangle(context, 0, 0, columns, rows);
  cairo_fill(context);
  cairo_restore(context);
}

void paint_numbers(cairo_t* context, const PictureLayout& layout, const Panel& panel, const TextShaper& shaper) {
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

void paint_labels(cairo_t* context, const PictureLayout& layout) {
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

void paint_panel(cairo_t* context, const PictureLayout& layout, std::size_t number, const TextShaper& shaper) {
  const auto column = static_cast<std::int64_t>(number) % layout.grid_columns;
  const auto row = static_cast<std::int64_t>(number) / layout.grid_columns;
  const Panel& panel = layout.panels.panels[number];
  cairo_save(context);
  cairo_translate(context, layout.grid_left + static_cast<double>(column) * (layout.panel_width() + panel_gap),
                  layout.grid_top + static_cast<double>(row) * (layout.panel_height() + panel_gap));
  set_source(context, ink_colour(layout.options.background));
  if (!layout.headings.empty()) {
    draw_label(context, layout.headings[number], layout.before_map, (layout.heading_height - label_gap) / 2);
  }
  cairo_translate(context, layout.before_map, layout.heading_height + layout.above_map);
  const bool as_image = layout.panels.panels.size() * panel.weights.size() > rectangles_most;
  as_image ? paint_image(context, layout, panel) : paint_rectangles(context, layout, panel);
  paint_numbers(context, layout, panel, shaper);
  // Weights near 0 have nearly the paper's colour: the frame shows where the map ends.
  set_source(context, ink_colour(layout.options.background), 0.45);
  cairo_set_line_width(context, 0.5);
  cairo_rectangle(context, -0.75, -0.75, layout.map_width - layout.cell_gap + 1.5, layout.map_height - layout.cell_gap + 1.5);
  cairo_stroke(context);
  paint_labels(context, layout);
  cairo_restore(context);
}

void paint_bar_ramp(cairo_t* context, const PictureLayout& layout, double width) {
  constexpr int stops = 64;
  const CairoPattern ramp(cairo_pattern_create_linear(0, 0, width, 0));
  for (int i = 0; i <= stops; ++i) {
    const double part = static_cast<double>(i) / stops;
    const Colour colour = heat_map_colour(part, layout.options.background);
    cairo_pattern_add_color_stop_rgb(ramp.get(), part, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
  }
  cairo_set_source(context, ramp.get());
  cairo_rectangle(context, 0, 0, width, bar_thickness);
  cairo_fill(context);
}

void paint_framed_box(cairo_t* context, const PictureLayout& layout, double x, double width) {
  set_source(context, ink_colour(layout.options.background), 0.45);
  cairo_set_line_width(context, 0.5);
  cairo_rectangle(context, x, 0, width, bar_thickness);
  cairo_stroke(context);
}

// The bar that says which colour means which weight, under the first panel.
void paint_bar(cairo_t* context, const PictureLayout& layout, const TextShaper& shaper) {
  const double size = 0.85 * layout.options.font_size, width = bar_width(layout);
  cairo_save(context);
  cairo_translate(context, layout.grid_left + layout.before_map, layout.grid_top + layout.grid_height() + bar_distance);
  paint_bar_ramp(context, layout, width);
  paint_framed_box(context, layout, 0, width);
  const int parts = width > 120 ? 4 : 2;
  for (int i = 0; i <= parts; ++i) {
    const double x = width * i / parts;
    const PictureLabel label = shaper.shape(format("{:.3g}", layout.full_scale * i / parts), size, 60);
    set_source(context, ink_colour(layout.options.background), 0.45);
    cairo_move_to(context, x, bar_thickness);
    cairo_line_to(context, x, bar_thickness + bar_tick - 0.5);
    cairo_stroke(context);
    set_source(context, ink_colour(layout.options.background));
    draw_label(context, label, x, bar_thickness + bar_tick + label.height / 2, -label.width / 2);
  }
  if (layout.has_nan) {
    const double x = width + 18;
    set_source(context, missing_colour(layout.options.background));
    cairo_rectangle(context, x, 0, bar_thickness, bar_thickness);
    cairo_fill(context);
    paint_framed_box(context, layout, x, bar_thickness);
    set_source(context, ink_colour(layout.options.background));
    draw_label(context, shaper.shape("NaN", size, 60), x + bar_thickness + label_gap, bar_thickness / 2);
  }
  cairo_restore(context);
}

void paint_axis_names(cairo_t* context, const PictureLayout& layout) {
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

void paint_picture(cairo_t* context, const PictureLayout& layout, const TextShaper& shaper) {
  set_source(context, paper_colour(layout.options.background));
  cairo_paint(context);
  set_source(context, ink_colour(layout.options.background));
  draw_label(context, layout.title, page_margin, page_margin + layout.title.height / 2);
  if (layout.panels.is_empty()) {
    const std::string sizes = format("nothing to show ({} x {})", layout.panels.rows(), layout.panels.columns());
    draw_label(context, shaper.shape(sizes, layout.options.font_size, 1000), page_margin, layout.grid_top + layout.options.font_size);
    return;
  }
  paint_axis_names(context, layout);
  for (std::size_t i = 0; i < layout.panels.panels.size(); ++i) paint_panel(context, layout, i, shaper);
  paint_bar(context, layout, shaper);
}

// cairo_write_func_t: no exception may pass through C.
cairo_status_t append_to_text(void* text, const unsigned char* bytes, unsigned int length) {
  try {
    static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (...) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

void expect_cairo_success(cairo_status_t status, const std::filesystem::path& file) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw SystemError(format("{}: the picture can't be drawn: {}", file.string(), cairo_status_to_string(status)));
}

// Characters that mean something to XML as entities; U+FFFE and U+FFFF, which it forbids, left out.
std::string xml_text(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i, 3);
    if (rest == "\xEF\xBF\xBE" || rest == "\xEF\xBF\xBF") {
      i += 2;
    } else {
      result += text[i] == '&' ? "&amp;" : text[i] == '<' ? "&lt;" : text[i] == '>' ? "&gt;" : std::string(1, text[i]);
    }
  }
  return result;
}

// cairo numbers its surfaces through the life of the process; counted anew, the same picture has the same bytes.
std::string with_stable_names(const std::string& svg) {
  constexpr std::array<std::string_view, 4> prefixes{"id=\"", "href=\"#", "url(#", "\"#"};
  std::map<std::string, int, std::less<>> numbers;
  std::string result;
  std::size_t done = 0;
  for (std::size_t i = 0; i < svg.size(); ++i) {
    const std::string_view rest = std::string_view(svg).substr(i);
    const auto prefix = std::find_if(prefixes.begin(), prefixes.end(), [&](std::string_view text) { return rest.starts_with(text); });
    if (prefix == prefixes.end()) continue;
    const std::size_t begin = i + prefix->size(), digits = svg.find_first_of("0123456789\")", begin);
    const std::size_t end = svg.find_first_not_of("0123456789", digits);
    const std::string stem = svg.substr(begin, digits - begin);
    if (digits == end || (stem != "surface" && stem != "image" && stem != "source" && stem != "mask")) continue;
    const int number = numbers.try_emplace(svg.substr(begin, end - begin), static_cast<int>(numbers.size()) + 1).first->second;
    result += svg.substr(done, digits - done) + format("{}", number);
    done = i = end;
  }
  return result + svg.substr(done);
}

// A title for who can't see the outlines.
std::string with_title(std::string svg, const std::string& title) {
  const std::size_t root = svg.find("<svg");
  const std::size_t end = root == std::string::npos ? root : svg.find('>', root);
  if (end != std::string::npos) svg.insert(end + 1, "\n<title>" + xml_text(printable_token(title)) + "</title>");
  return svg;
}

}  // namespace

void write_svg(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options) {
  check_picture_options(options);
  const TextShaper shaper(options.font);
  const PictureLayout layout = lay_out_picture(example, item, options, shaper);
  std::string svg;
  const CairoSurface surface(cairo_svg_surface_create_for_stream(append_to_text, &svg, layout.page_width, layout.page_height));
  const CairoContext context(cairo_create(surface.get()));
  paint_picture(context.get(), layout, shaper);
  expect_cairo_success(cairo_status(context.get()), file);
  cairo_surface_finish(surface.get());
  expect_cairo_success(cairo_surface_status(surface.get()), file);
  io::write_file(file, with_title(with_stable_names(svg), "Heat map of " + layout.panels.title));
}

void write_png(const std::filesystem::path& file, const Example& example, const Item& item, const PictureOptions& options) {
  check_picture_options(options);
  const TextShaper shaper(options.font);
  PictureLayout layout = lay_out_picture(example, item, options, shaper);
  const double scale = std::min({options.pixels_per_point, side_most / layout.page_width, side_most / layout.page_height,
                                 std::sqrt(pixels_most / (layout.page_width * layout.page_height))});
  const int width = std::max(1, static_cast<int>(layout.page_width * scale));
  const int height = std::max(1, static_cast<int>(layout.page_height * scale));
  layout.options.pixels_per_point = scale;
  const CairoSurface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  const CairoContext context(cairo_create(surface.get()));
  cairo_scale(context.get(), scale, scale);
  paint_picture(context.get(), layout, shaper);
  expect_cairo_success(cairo_status(context.get()), file);
  std::string png;
  expect_cairo_success(cairo_surface_write_to_png_stream(surface.get(), append_to_text, &png), file);
  io::write_file(file, png);
}

}  // namespace attend::view
