#include "view/drawing.h"

#include <cairo-svg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "attend/io/file.h"
#include "attend/view/panels.h"

namespace attend::view {
namespace {

constexpr double png_pixels_most = 64e6, png_side_most = 16384;
// Of the images in an SVG, which hold them as text: beyond that a page of many maps would be slow to open.
constexpr double svg_pixels_most = 3e6;
// A token that is longer than this would be elided at any size.
constexpr std::size_t label_graphemes_most = 200;

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

TextShaper::TextShaper(std::string font)
    : font_(std::move(font)), surface_(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1)), context_(cairo_create(surface_.get())) {
  const std::unique_ptr<cairo_font_options_t, CairoDelete> options(cairo_font_options_create());
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(context_.get(), options.get());
}

PictureLabel TextShaper::shape(const std::string& text, double size, double longest, PangoWeight weight) const {
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

void set_source(cairo_t* context, Colour colour, double opacity) {
  cairo_set_source_rgba(context, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0, opacity);
}

void draw_label(cairo_t* context, const PictureLabel& label, double x, double y, double along, double angle) {
  cairo_save(context);
  cairo_translate(context, x, y);
  cairo_rotate(context, angle);
  cairo_move_to(context, along - label.left, -label.height / 2);
  pango_cairo_show_layout(context, label.shape.get());
  cairo_restore(context);
}

void draw_image(cairo_t* context, const ColourImage& image, double across, double down, cairo_filter_t filter) {
  const CairoSurface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(image.width), static_cast<int>(image.height)));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) {  // only maps, a pixel for each cell, can be too large
    throw InvalidArgument(
        format("expected a map of at most 32767 rows and columns, got {} x {}; choose a part of it", image.height, image.width));
  }
  cairo_surface_flush(surface.get());
  unsigned char* pixels = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  const auto width = static_cast<std::size_t>(image.width), height = static_cast<std::size_t>(image.height);
  for (std::size_t y = 0; y < height; ++y) {
    auto* row = reinterpret_cast<std::uint32_t*>(pixels + y * stride);  // cairo aligns its rows
    for (std::size_t x = 0; x < width; ++x) {
      const Colour colour = image.pixels[y * width + x];
      row[x] = (std::uint32_t{colour.red} << 16) | (std::uint32_t{colour.green} << 8) | colour.blue;
    }
  }
  cairo_surface_mark_dirty(surface.get());
  cairo_save(context);
  cairo_scale(context, across, down);
  cairo_set_source_surface(context, surface.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(context), filter);
  cairo_rectangle(context, 0, 0, static_cast<double>(image.width), static_cast<double>(image.height));
  cairo_fill(context);
  cairo_restore(context);
}

void save_svg(const std::filesystem::path& file, const Drawing& drawing, double pixels_per_point) {
  std::string svg;
  const CairoSurface surface(cairo_svg_surface_create_for_stream(append_to_text, &svg, drawing.width(), drawing.height()));
  const CairoContext context(cairo_create(surface.get()));
  drawing.paint(context.get(), {pixels_per_point, svg_pixels_most});
  expect_cairo_success(cairo_status(context.get()), file);
  cairo_surface_finish(surface.get());
  expect_cairo_success(cairo_surface_status(surface.get()), file);
  io::write_file(file, with_title(with_stable_names(svg), drawing.title()));
}

void save_png(const std::filesystem::path& file, const Drawing& drawing, double pixels_per_point) {
  const double scale = std::min({pixels_per_point, png_side_most / drawing.width(), png_side_most / drawing.height(),
                                 std::sqrt(png_pixels_most / (drawing.width() * drawing.height()))});
  const int width = std::max(1, static_cast<int>(drawing.width() * scale));
  const int height = std::max(1, static_cast<int>(drawing.height() * scale));
  const CairoSurface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  const CairoContext context(cairo_create(surface.get()));
  cairo_scale(context.get(), scale, scale);
  drawing.paint(context.get(), {scale, png_pixels_most});
  expect_cairo_success(cairo_status(context.get()), file);
  std::string png;
  expect_cairo_success(cairo_surface_write_to_png_stream(surface.get(), append_to_text, &png), file);
  io::write_file(file, png);
}

}  // namespace attend::view
