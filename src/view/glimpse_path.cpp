#include "view/glimpse_path.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/format.h"
#include "attend/view/panels.h"
#include "view/raster.h"

namespace attend::view {
namespace {

constexpr std::int64_t glimpse_steps_most = 2000;
constexpr double glimpse_side = 360;      // of what is drawn of the picture and around it
constexpr double beyond_most = 0.5;       // parts of the picture that are drawn on each side of it
constexpr double beyond_rim = 0.01;       // so that an edge which ends there is seen
constexpr double out_of_sight = 2;        // dashes of a box of astronomic size would take forever
constexpr double far_out_of_sight = 100;  // a line to a middle out there still points to it
constexpr double number_size = 9, tag_height = 12, tag_least = 13;
constexpr Colour box_colour{255, 255, 255}, shadow_colour{0, 0, 0};
constexpr double shadow_opacity = 0.75;

// In parts of the picture's width and height.
struct GlimpseBox {
  std::int64_t step = 0, scale = 0;
  double left = 0, top = 0, width = 0, height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

struct GlimpseExtent {
  double left = 0, top = 0, right = 1, bottom = 1;
};

struct GlimpseLayout {
  PictureOptions options;
  std::string title_text;
  PictureLabel title;
  std::vector<PictureLabel> notes;
  std::vector<GlimpseBox> boxes;  // that can be drawn
  GlimpseExtent extent;
  double across = 0, down = 0;  // points of the picture's width and height
  double top = 0, width = 0, height = 0;

  double figure_width() const { return across * (extent.right - extent.left); }
  double figure_height() const { return down * (extent.bottom - extent.top); }
  double x(double part) const { return (part - extent.left) * across; }
  double y(double part) const { return (part - extent.top) * down; }
};

// "3 boxes are not a number"
std::string boxes_note(std::size_t count, const char* one, const char* several) {
  return count == 1 ? std::string("1 box ") + one : format("{} boxes {}", count, several);
}

// Those that can be drawn; what is said of the others.
std::vector<std::string> read_boxes(const Item& item, std::vector<GlimpseBox>& boxes) {
  const std::int64_t scales = item.shape.size() > 2 ? item.shape[1] : 1, steps = std::min(item.shape.front(), glimpse_steps_most);
  std::size_t missing = 0, empty = 0;
  for (std::int64_t i = 0; i < steps * scales; ++i) {
    const float* box = item.weights.data() + 4 * i;
    if (!std::all_of(box, box + 4, [](float side) { return std::isfinite(side); })) {
      ++missing;
    } else if (box[2] <= 0 || box[3] <= 0) {
      ++empty;
    } else {
      boxes.push_back({i / scales, i % scales, box[0], box[1], box[2], box[3]});
    }
  }
  std::vector<std::string> notes;
  if (steps < item.shape.front()) notes.push_back(format("The first {} of {} steps are shown.", steps, item.shape.front()));
  if (missing > 0) notes.push_back(boxes_note(missing, "is not a number", "are not a number"));
  if (empty > 0) notes.push_back(boxes_note(empty, "has no area", "have no area"));
  return notes;
}

// All of the picture, and what boxes reach beyond its edges.
GlimpseExtent extent_of(const std::vector<GlimpseBox>& boxes) {
  GlimpseExtent extent;
  for (const GlimpseBox& box : boxes) {
    extent.left = std::min(extent.left, box.left);
    extent.top = std::min(extent.top, box.top);
    extent.right = std::max(extent.right, box.right());
    extent.bottom = std::max(extent.bottom, box.bottom());
  }
  if (extent.left >= 0 && extent.top >= 0 && extent.right <= 1 && extent.bottom <= 1) return extent;
  return {std::max(-beyond_most, extent.left) - beyond_rim, std::max(-beyond_most, extent.top) - beyond_rim,
          std::min(1 + beyond_most, extent.right) + beyond_rim, std::min(1 + beyond_most, extent.bottom) + beyond_rim};
}

GlimpseLayout lay_out_glimpses(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  GlimpseLayout layout;
  layout.options = options;
  layout.title_text = panels_of(example, item).title;
  layout.title = shaper.shape(picture_text(layout.title_text), 1.2 * options.font_size, 2000, PANGO_WEIGHT_SEMIBOLD);
  for (const std::string& note : read_boxes(item, layout.boxes)) layout.notes.push_back(shaper.shape(note, options.font_size, 2000));
  layout.extent = extent_of(layout.boxes);
  const GlimpseExtent& extent = layout.extent;
  const double aspect = shown_aspect(*example.picture), wide = (extent.right - extent.left) * aspect, tall = extent.bottom - extent.top;
  layout.down = glimpse_side / std::max(wide, tall);
  layout.across = layout.down * aspect;
  layout.top = std::ceil(page_margin + layout.title.height + 2 * label_gap);
  double right = std::max(layout.title.width, layout.figure_width()), bottom = layout.top + layout.figure_height();
  for (const PictureLabel& note : layout.notes) {
    right = std::max(right, note.width);
    bottom += label_gap + note.height;
  }
  layout.width = std::ceil(right + 2 * page_margin);
  layout.height = std::ceil(bottom + page_margin);
  return layout;
}

// A line that can be told from any picture: light within a shadow.
void stroke_twice(cairo_t* context) {
  constexpr double line = 1.25;  // a whole pixel at least of a PNG, wherever it lies
  set_source(context, shadow_colour, shadow_opacity);
  cairo_set_line_width(context, line + 1.5);
  cairo_stroke_preserve(context);
  set_source(context, box_colour);
  cairo_set_line_width(context, line);
  cairo_stroke(context);
}

void paint_path(cairo_t* context, const GlimpseLayout& layout) {
  const auto within_reach = [](double part) { return std::clamp(part, -far_out_of_sight, far_out_of_sight); };
  for (const GlimpseBox& box : layout.boxes) {
    if (box.scale > 0) continue;
    cairo_line_to(context, layout.x(within_reach(box.left + box.width / 2)), layout.y(within_reach(box.top + box.height / 2)));
  }
  cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  stroke_twice(context);
}

// The finest scale is drawn through, the others are dashed.
void paint_boxes(cairo_t* context, const GlimpseLayout& layout) {
  const auto edge = [](double part) { return std::clamp(part, -out_of_sight, 1 + out_of_sight); };
  cairo_set_line_join(context, CAIRO_LINE_JOIN_MITER);
  for (const GlimpseBox& box : layout.boxes) {
    const double left = layout.x(edge(box.left)), top = layout.y(edge(box.top));
    const double dashes[] = {4, 3};
    cairo_set_dash(context, dashes, box.scale > 0 ? 2 : 0, 0);
    cairo_rectangle(context, left, top, layout.x(edge(box.right())) - left, layout.y(edge(box.bottom())) - top);
    stroke_twice(context);
  }
  cairo_set_dash(context, nullptr, 0, 0);
}

// The number of each step at the corner of its finest box, moved where it would lie outside.
void paint_tags(cairo_t* context, const GlimpseLayout& layout, const TextShaper& shaper) {
  for (const GlimpseBox& box : layout.boxes) {
    if (box.scale > 0) continue;
    const PictureLabel label = shaper.shape(format("{}", box.step + 1), number_size, 60);
    const double wide = std::max(tag_least, label.width + 5);
    const double x = std::clamp(layout.x(box.left), 0.0, std::max(0.0, layout.figure_width() - wide));
    const double y = std::clamp(layout.y(box.top) - tag_height / 2, 0.0, std::max(0.0, layout.figure_height() - tag_height));
    cairo_rectangle(context, x, y, wide, tag_height);
    set_source(context, box_colour);
    cairo_fill_preserve(context);
    set_source(context, shadow_colour, shadow_opacity);
    cairo_set_line_width(context, 0.75);
    cairo_stroke(context);
    set_source(context, shadow_colour);
    draw_label(context, label, x + wide / 2, y + tag_height / 2, -label.width / 2);
  }
}

class GlimpsePath final : public Drawing {
 public:
  GlimpsePath(GlimpseLayout layout, const Picture& picture, const TextShaper& shaper)
      : layout_(std::move(layout)), picture_(picture), shaper_(shaper) {}

  std::string title() const override { return format("Glimpses of {} over their picture", layout_.title_text); }
  double width() const override { return layout_.width; }
  double height() const override { return layout_.height; }

  void paint(cairo_t* context, const ImageDetail& detail) const override {
    const Colour ink = ink_colour(layout_.options.background);
    set_source(context, paper_colour(layout_.options.background));
    cairo_paint(context);
    set_source(context, ink);
    draw_label(context, layout_.title, page_margin, page_margin + layout_.title.height / 2);
    double below = layout_.top + layout_.figure_height();
    for (const PictureLabel& note : layout_.notes) {
      draw_label(context, note, page_margin, below + label_gap + note.height / 2);
      below += label_gap + note.height;
    }
    cairo_translate(context, page_margin, layout_.top);
    cairo_rectangle(context, 0, 0, layout_.figure_width(), layout_.figure_height());
    cairo_clip(context);
    set_source(context, ink, 0.14);
    cairo_paint(context);
    paint_base(context, detail);
    paint_path(context, layout_);
    paint_boxes(context, layout_);
    paint_tags(context, layout_, shaper_);
  }

 private:
  void paint_base(cairo_t* context, const ImageDetail& detail) const {
    const double scale = std::min(detail.pixels_per_point, std::sqrt(detail.pixels_most / (layout_.across * layout_.down)));
    const auto pixels_of = [scale](double length) { return std::max<std::int64_t>(1, std::llround(length * scale)); };
    const ColourImage image = scaled_picture(picture_, pixels_of(layout_.across), pixels_of(layout_.down));
    cairo_save(context);
    cairo_translate(context, layout_.x(0), layout_.y(0));
    draw_image(context, image, layout_.across / static_cast<double>(image.width), layout_.down / static_cast<double>(image.height),
               CAIRO_FILTER_GOOD);
    cairo_restore(context);
  }

  GlimpseLayout layout_;
  const Picture& picture_;
  const TextShaper& shaper_;
};

}  // namespace

std::unique_ptr<Drawing> glimpse_path(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper) {
  return std::make_unique<GlimpsePath>(lay_out_glimpses(example, item, options, shaper), *example.picture, shaper);
}

}  // namespace attend::view
