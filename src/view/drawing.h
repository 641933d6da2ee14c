// What pictures are drawn with: things of cairo and Pango with their owners, shaped text, images, and drawings as files.
#pragma once

#include <cairo.h>
#include <pango/pangocairo.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attend/view/colour_map.h"

namespace attend::view {

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

// Lengths are in points.
inline constexpr double page_margin = 14, label_gap = 4, smallest_font = 5;

// A shaped line of text and its size.
struct PictureLabel {
  TextShape shape;
  double left = 0, width = 0, height = 0;
};

// Shapes text without hinting, so that it has the same size in SVG and PNG at any resolution.
class TextShaper {
 public:
  explicit TextShaper(std::string font);

  // One line, elided where it is longer than `longest`.
  PictureLabel shape(const std::string& text, double size, double longest, PangoWeight weight = PANGO_WEIGHT_NORMAL) const;

 private:
  std::string font_;
  CairoSurface surface_;
  CairoContext context_;
};

// Safe to shape: printable, and not so long that shaping takes noticeable time.
std::string picture_text(const std::string& token);

double widest_label(const std::vector<PictureLabel>& labels);
double tallest_label(const std::vector<PictureLabel>& labels);

void set_source(cairo_t* context, Colour colour, double opacity = 1);

// Draws a label with its left end at (x, y) and its middle line through it, turned by `angle`. `along` moves it along its own direction.
void draw_label(cairo_t* context, const PictureLabel& label, double x, double y, double along = 0, double angle = 0);

// Colours row by row.
struct ColourImage {
  std::int64_t width = 0, height = 0;
  std::vector<Colour> pixels = {};
};

// `image` from (0, 0) on, each of its pixels `across` × `down`.
void draw_image(cairo_t* context, const ColourImage& image, double across, double down, cairo_filter_t filter);

// How fine images in a drawing are to be, and how many pixels all of them together may have.
struct ImageDetail {
  double pixels_per_point = 1, pixels_most = 1;
};

// A page that paints itself.
class Drawing {
 public:
  Drawing() = default;
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  virtual ~Drawing() = default;

  virtual std::string title() const = 0;  // for who can't see it
  virtual double width() const = 0;       // in points
  virtual double height() const = 0;
  virtual void paint(cairo_t* context, const ImageDetail& detail) const = 0;
};

// The file appears whole or not at all. SystemError where it can't be written.
void save_svg(const std::filesystem::path& file, const Drawing& drawing, double pixels_per_point);
void save_png(const std::filesystem::path& file, const Drawing& drawing, double pixels_per_point);

}  // namespace attend::view
