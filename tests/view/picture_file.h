// Pictures that a test writes and reads back.
#pragma once

#include <cairo.h>
#include <glib.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "attend/base/format.h"
#include "attend/view/colour_map.h"
#include "attend/view/record.h"

namespace attend::view {

// Where the pixels of one colour lie in a picture.
struct ColourPlace {
  int count = 0;
  double x = 0, y = 0;  // their middle
  int left = 0, top = 0, right = -1, bottom = -1;

  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

class Pixels {
 public:
  explicit Pixels(const std::filesystem::path& file) : surface_(cairo_image_surface_create_from_png(file.c_str()), cairo_surface_destroy) {
    EXPECT_EQ(cairo_surface_status(surface_.get()), CAIRO_STATUS_SUCCESS);
    cairo_surface_flush(surface_.get());
  }
  int width() const { return cairo_image_surface_get_width(surface_.get()); }
  int height() const { return cairo_image_surface_get_height(surface_.get()); }
  Colour at(int x, int y) const {
    const unsigned char* pixel = cairo_image_surface_get_data(surface_.get()) + y * cairo_image_surface_get_stride(surface_.get()) + 4 * x;
    return {pixel[2], pixel[1], pixel[0]};
  }
  ColourPlace find(Colour colour) const {
    ColourPlace place;
    for (int y = 0; y < height(); ++y) {
      for (int x = 0; x < width(); ++x) {
        if (at(x, y) != colour) continue;
        if (place.count == 0) place.left = place.right = x, place.top = y;
        place.left = std::min(place.left, x), place.right = std::max(place.right, x), place.bottom = y;
        place.count += 1, place.x += x, place.y += y;
      }
    }
    if (place.count > 0) place.x /= place.count, place.y /= place.count;
    return place;
  }

 private:
  std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface_;
};

inline void expect_well_formed(const std::string& xml) {
  const GMarkupParser no_callbacks{};
  const std::unique_ptr<GMarkupParseContext, void (*)(GMarkupParseContext*)> context(
      g_markup_parse_context_new(&no_callbacks, G_MARKUP_PREFIX_ERROR_POSITION, nullptr, nullptr), g_markup_parse_context_free);
  GError* error = nullptr;
  const bool parsed = g_markup_parse_context_parse(context.get(), xml.data(), std::ssize(xml), &error) != 0 &&
                      g_markup_parse_context_end_parse(context.get(), &error) != 0;
  EXPECT_TRUE(parsed) << (error != nullptr ? error->message : "");
  g_clear_error(&error);
}

// Well-formed, with a title, and nothing in it that lies elsewhere.
inline void expect_lone_svg(const std::string& svg, const std::string& title) {
  expect_well_formed(svg);
  EXPECT_NE(svg.find("<title>" + title + "</title>"), std::string::npos);
  for (std::size_t at = svg.find("href=\""); at != std::string::npos; at = svg.find("href=\"", at + 1)) {
    const std::string target = svg.substr(at + 6, 22);
    EXPECT_TRUE(target.starts_with("#") || target.starts_with("data:image/png;base64,")) << target;
  }
  EXPECT_EQ(svg.find("<text"), std::string::npos);
  EXPECT_EQ(svg.find("url(http"), std::string::npos);
}

// A picture of one colour.
inline Picture plain_picture(std::int64_t width, std::int64_t height, Colour colour) {
  Picture picture{height, width, 3};
  for (std::int64_t i = 0; i < width * height; ++i) picture.pixels.insert(picture.pixels.end(), {colour.red, colour.green, colour.blue});
  return picture;
}

class PictureFile : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / format("attend-picture-{}", getpid());
  std::filesystem::path png_ = folder_ / "map.png", svg_ = folder_ / "map.svg";
};

}  // namespace attend::view
