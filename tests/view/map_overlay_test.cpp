// Spatial maps over their picture, as write_png() and write_svg() draw them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/view/picture.h"
#include "tests/view/alignment.h"
#include "tests/view/picture_file.h"

namespace attend::view {
namespace {

using ::testing::HasSubstr;

constexpr Colour brick{200, 40, 40};

Item spatial(std::int64_t rows, std::int64_t columns, std::vector<float> weights) {
  return {.module = "decoder.attention",
          .kind = Kind::spatial,
          .axes = {"row", "column"},
          .shape = {rows, columns},
          .weights = std::move(weights)};
}

Item captioned(const Example& example, std::int64_t rows, std::int64_t columns, std::vector<float> weights) {
  Item item = spatial(rows, columns, std::move(weights));
  item.axes.insert(item.axes.begin(), "target");
  item.shape.insert(item.shape.begin(), std::ssize(example.target));
  return item;
}

Example pictured(Picture picture, std::vector<std::string> words = {}) {
  Example example{"1", {}, std::move(words), {}};
  example.picture = std::move(picture);
  return example;
}

// The ramp at 65 % over a picture, as viewer/raster.js computes it.
Colour expected_over(Colour picture, double part) {
  const double cover = std::isnan(part) ? 0.91 : 0.65 * (0.4225 + 0.5775 * std::sqrt(part)), grey = 0.975;
  const double shade = grey * (0.299 * picture.red + 0.587 * picture.green + 0.114 * picture.blue);
  const Colour ramp = heat_map_colour(part, Background::dark);
  const auto mixed = [&](double below, double above) {
    return static_cast<std::uint8_t>(std::lround((below * (1 - grey) + shade) * (1 - cover) + above * cover));
  };
  return {mixed(picture.red, ramp.red), mixed(picture.green, ramp.green), mixed(picture.blue, ramp.blue)};
}

void expect_near(Colour seen, Colour wanted, int slack = 2) {
  EXPECT_NEAR(seen.red, wanted.red, slack);
  EXPECT_NEAR(seen.green, wanted.green, slack);
  EXPECT_NEAR(seen.blue, wanted.blue, slack);
}

class MapOverlayFile : public PictureFile {
 protected:
  // Where the one panel of a picture in brick red lies: without opacity nothing covers it.
  ColourPlace panel_of(const Example& example, const Item& item) {
    write_png(png_, example, item, {.overlay = Overlay::light, .opacity = 0});
    return Pixels(png_).find(brick);
  }
};

TEST_F(MapOverlayFile, ThePanelHasThePicturesProportions) {
  for (const auto& [width, height, wide, tall] : {std::tuple(90, 60, 160, 107),
                                                  {60, 90, 107, 160},
                                                  {400, 100, 300, 75},
                                                  {4000, 3000, 360, 270},
                                                  {1, 1, 160, 160},
                                                  {1, 1000, 60, 360},
                                                  {1000, 1, 360, 30}}) {
    const ColourPlace panel = panel_of(pictured(plain_picture(width, height, brick)), spatial(1, 1, {1}));
    EXPECT_NEAR(panel.width(), 2 * wide, 2) << width << " x " << height;
    EXPECT_NEAR(panel.height(), 2 * tall, 2) << width << " x " << height;
    EXPECT_EQ(panel.count, panel.width() * panel.height());
  }
}

TEST_F(MapOverlayFile, StrongWeightsHaveTheMapsColourWeakOnesNearlyThePictures) {
  const Example example = pictured(plain_picture(90, 60, brick));
  const Item item = spatial(1, 3, {0.05f, 0, 0.0125f});  // the largest has the strongest colour
  const ColourPlace panel = panel_of(example, item);
  write_png(png_, example, item);
  const Pixels pixels(png_);
  const int y = panel.top + panel.height() / 2;
  const auto middle_of = [&](int cell) { return pixels.at(panel.left + (2 * cell + 1) * panel.width() / 6, y); };
  expect_near(middle_of(0), expected_over(brick, 1), 4);
  expect_near(middle_of(1), expected_over(brick, 0), 6);
  expect_near(middle_of(2), expected_over(brick, 0.25), 6);
  const Colour strongest = heat_map_colour(1, Background::dark), grey{88, 88, 88};
  EXPECT_LT(perceived_distance(middle_of(0), strongest), perceived_distance(middle_of(0), grey));
  EXPECT_LT(perceived_distance(middle_of(1), grey), perceived_distance(middle_of(1), strongest));
  EXPECT_EQ(pixels.at(1, 1), paper_colour(Background::light));
}

TEST_F(MapOverlayFile, MapsAreSmoothBetweenTheMiddlesOfCells) {
  const Example example = pictured(plain_picture(90, 60, brick));
  const Item item = spatial(1, 2, {1, 0});
  const ColourPlace panel = panel_of(example, item);
  write_png(png_, example, item, {.opacity = 1});
  const Pixels pixels(png_);
  const auto at = [&](double across) { return pixels.at(panel.left + static_cast<int>(across * panel.width()), panel.top + 50); };
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0}) expect_near(at(0.75 - part / 2), heat_map_colour(part, Background::dark), 5);
  for (const double across : {0.01, 0.1, 0.2})
    EXPECT_EQ(at(across), heat_map_colour(1, Background::dark)) << across;  // not beyond the middles
  for (const double across : {0.8, 0.9, 0.99}) EXPECT_EQ(at(across), heat_map_colour(0, Background::dark)) << across;
}

TEST_F(MapOverlayFile, NanHasAColourOfItsOwnAndAKey) {
  const Example example = pictured(plain_picture(90, 60, brick));
  const Item item = spatial(1, 2, {nan_weight, 1});
  const ColourPlace panel = panel_of(example, spatial(1, 2, {0, 1}));
  write_png(png_, example, item);
  const Pixels pixels(png_);
  const int y = panel.top + panel.height() / 2;
  expect_near(pixels.at(panel.left + panel.width() / 4, y), expected_over(brick, NAN));
  expect_near(pixels.at(panel.left + panel.width() / 2 - 2, y), expected_over(brick, NAN));  // to the cell's very edge
  expect_near(pixels.at(panel.left + panel.width() * 3 / 4 + 4, y), expected_over(brick, 1));
  EXPECT_GT(pixels.find(missing_colour(Background::dark)).count, 14 * 14);  // beside the bar
}

TEST_F(MapOverlayFile, InfinitiesHarmNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Example example = pictured(plain_picture(90, 60, brick));
  const Item item = spatial(1, 3, {infinity, -infinity, 0.5f});
  const ColourPlace panel = panel_of(example, item);
  write_png(png_, example, item, {.opacity = 1});
  const Pixels pixels(png_);
  EXPECT_EQ(pixels.at(panel.left + 2, panel.top + 9), heat_map_colour(1, Background::dark));
  expect_near(pixels.at(panel.left + panel.width() / 2, panel.top + 9), heat_map_colour(0, Background::dark), 6);
}

TEST_F(MapOverlayFile, LightDimsWhatWasNotLookedAt) {
  const Example example = pictured(plain_picture(90, 60, brick));
  const Item item = spatial(1, 2, {0, 0.3f});
  const ColourPlace panel = panel_of(example, item);
  write_png(png_, example, item, {.overlay = Overlay::light});
  const Pixels pixels(png_);
  EXPECT_EQ(pixels.at(panel.right - 5, panel.top + 9), brick);
  expect_near(pixels.at(panel.left + 5, panel.top + 9), {70, 14, 14});  // 35 % of it
}

TEST_F(MapOverlayFile, NoneIsThePlainHeatMap) {
  const Example with = pictured(plain_picture(90, 60, brick), {"a", "dog"}), without{"1", {}, {"a", "dog"}, {}};
  const Item item = captioned(with, 2, 2, {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, nan_weight});
  write_png(png_, without, item);
  write_svg(svg_, without, item);
  const std::string png = io::read_file(png_), svg = io::read_file(svg_);
  write_png(png_, with, item, {.overlay = Overlay::none});
  write_svg(svg_, with, item, {.overlay = Overlay::none});
  EXPECT_EQ(io::read_file(png_), png);
  EXPECT_EQ(io::read_file(svg_), svg);
  write_png(png_, with, item);
  EXPECT_NE(io::read_file(png_), png);
  // other kinds never lie on the picture
  const Item channels{.module = "gate", .kind = Kind::channel, .axes = {"row", "column"}, .shape = {1, 2}, .weights = {0.2f, 0.7f}};
  write_svg(svg_, with, channels);
  const std::string with_picture = io::read_file(svg_);
  write_svg(svg_, without, channels);
  EXPECT_EQ(io::read_file(svg_), with_picture);
}

TEST_F(MapOverlayFile, EachWordHasAPanel) {
  const Example example = pictured(plain_picture(90, 60, brick), {"a", "<b>&", "dog"});
  const Item item = captioned(example, 1, 2, {1, 0, 0, 1, 0.5f, 0.5f});
  write_png(png_, example, item, {.overlay = Overlay::light, .opacity = 0});
  EXPECT_NEAR(Pixels(png_).find(brick).count, 3 * 320 * 214, 3 * 320);
  write_png(png_, example, item, {.opacity = 1});
  const Pixels pixels(png_);
  EXPECT_NEAR(pixels.find(heat_map_colour(1, Background::dark)).count, 2 * 80 * 214,
              2000);                                                 // the outer halves of two cells, and the bar's end
  EXPECT_GT(pixels.find(ink_colour(Background::light)).count, 100);  // headings
}

TEST_F(MapOverlayFile, ShortenedMapsLieWhereTheirCellsAre) {
  const Example example = pictured(plain_picture(90, 60, brick));
  Item thumbnail = spatial(1, 10, {0, 0, 1});  // blocks of 4, 4 and 2 cells: the last one begins at 80 %
  thumbnail.form = Form::thumbnail;
  thumbnail.block = {1, 4};
  Item top = spatial(1, 5, {1});
  top.form = Form::top_k;
  top.k = 1;
  top.keys = {4};
  const ColourPlace panel = panel_of(example, thumbnail);
  for (const Item& item : {thumbnail, top}) {
    write_png(png_, example, item, {.opacity = 1});
    const Pixels pixels(png_);
    const auto at = [&](double across) { return pixels.at(panel.left + static_cast<int>(across * panel.width()), panel.top + 50); };
    expect_near(at(0.9), heat_map_colour(1, Background::dark), 5);
    EXPECT_EQ(at(0.97), heat_map_colour(1, Background::dark));
    EXPECT_EQ(at(0.5), heat_map_colour(0, Background::dark));
  }
}

TEST_F(MapOverlayFile, ALonePeakIsSeenThoughItIsSmallerThanAPixel) {
  const Example example = pictured(plain_picture(90, 60, brick));
  std::vector<float> weights(400 * 1600);
  weights[123 * 1600 + 777] = 1;
  const Item item = spatial(400, 1600, std::move(weights));
  const ColourPlace panel = panel_of(example, item);
  write_png(png_, example, item, {.opacity = 1});
  const Pixels pixels(png_);
  const int x = panel.left + panel.width() * 777 / 1600, y = panel.top + panel.height() * 123 / 400;
  int peaks = 0;
  for (int i = -3; i <= 3; ++i) {
    for (int j = -3; j <= 3; ++j) peaks += pixels.at(x + i, y + j) == heat_map_colour(1, Background::dark) ? 1 : 0;
  }
  EXPECT_GE(peaks, 1);
}

TEST_F(MapOverlayFile, FewPixelsAreShownAsSquares) {
  write_png(png_, pictured({1, 2, 1, {0, 255}}), spatial(1, 1, {1}), {.overlay = Overlay::light, .opacity = 0});
  const ColourPlace left = Pixels(png_).find({0, 0, 0});
  EXPECT_EQ(left.width(), 160);
  EXPECT_EQ(left.height(), 160);
  EXPECT_EQ(left.count, 160 * 160);
}

TEST_F(MapOverlayFile, ManyPixelsBecomeTheirMeanAndGreyIsGrey) {
  Picture stripes{720, 1440, 1};  // twice as many as are drawn
  for (int i = 0; i < 720 * 1440; ++i) stripes.pixels.push_back(i % 2 == 0 ? 0 : 200);
  write_png(png_, pictured(stripes), spatial(1, 1, {1}), {.overlay = Overlay::light, .opacity = 0});
  EXPECT_GE(Pixels(png_).find({100, 100, 100}).count, 718 * 358);
}

TEST_F(MapOverlayFile, SvgStandsAloneAndTheSameInputGivesTheSameBytes) {
  const Example example = pictured(plain_picture(30, 20, brick), {"a", "<b>", "dog"});
  const Item item = captioned(example, 2, 2, {0.1f, 0.2f, 0.3f, 0.4f, 0, 0, 0, 1, nan_weight, 0, 0, 0});
  const auto bytes = [&] {
    write_svg(svg_, example, item);
    write_png(png_, example, item);
    return io::read_file(svg_) + io::read_file(png_);
  };
  const std::string first = bytes();
  EXPECT_EQ(bytes(), first);
  expect_lone_svg(io::read_file(svg_), "Heat map of decoder.attention over its picture");
}

TEST_F(MapOverlayFile, ManyWordsStayWithinBounds) {
  std::mt19937 random(1);
  Picture noise{480, 640, 3};
  for (int i = 0; i < 480 * 640 * 3; ++i) noise.pixels.push_back(static_cast<std::uint8_t>(random()));
  const Example example = pictured(noise, std::vector<std::string>(60, "word"));
  std::vector<float> weights(60 * 14 * 14);
  for (float& weight : weights) weight = static_cast<float>(random() % 1000) / 1000;
  const Item item = captioned(example, 14, 14, weights);
  write_svg(svg_, example, item);
  EXPECT_LT(std::filesystem::file_size(svg_), 14u << 20);  // nothing is harder to pack than noise
  const Example plain = pictured(plain_picture(90, 60, brick));
  Item many = spatial(1, 1, std::vector<float>(600, 0.5f));
  many.axes = {"map", "row", "column"};
  many.shape = {600, 1, 1};
  write_png(png_, plain, many, {.pixels_per_point = 8});
  EXPECT_LE(1.0 * Pixels(png_).width() * Pixels(png_).height(), 64e6);
}

TEST_F(MapOverlayFile, EmptyAndStrangeMapsAreDrawnToo) {
  const Example example = pictured(plain_picture(1, 1, brick));
  for (const Item& item : {spatial(0, 0, {}), spatial(0, 5, {}), spatial(1, 1, {0}), spatial(1, 1, {nan_weight}), spatial(1, 1, {-1})}) {
    write_png(png_, example, item);
    EXPECT_GT(Pixels(png_).find(ink_colour(Background::light)).count, 50);
    write_svg(svg_, example, item, {.background = Background::dark});
    expect_well_formed(io::read_file(svg_));
  }
  const Item line{.module = "m", .kind = Kind::spatial, .axes = {"place"}, .shape = {3}, .weights = {1, 1, 0}};
  write_png(png_, example, line, {.opacity = 1});
  EXPECT_GT(Pixels(png_).find(heat_map_colour(1, Background::dark)).count, 300);
}

TEST_F(MapOverlayFile, RefusesWhatIsNoPicture) {
  const Item item = spatial(1, 1, {1});
  const auto expect_refused = [&](const Picture& picture, const std::string& complaint) {
    for (const auto write : {write_svg, write_png}) {
      try {
        write(png_, pictured(picture), item, {});
        ADD_FAILURE() << complaint;
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), HasSubstr(complaint));
      }
    }
  };
  expect_refused({60, 90, 3}, "expected the pixels of the picture that the item lies on, got none");
  expect_refused({0, 0, 3}, "got none");
  expect_refused({0, 0, 3, {1, 2, 3}}, "expected a picture of at least 1 × 1 pixels");
  expect_refused({1, 1, 2, {1, 2}}, "1 or 3 channels");
  expect_refused({1, 2, 3, {1, 2, 3}}, "got 1 × 2 × 3 and 3 numbers");
  expect_refused({-1, -1, 1, {1}}, "at least 1 × 1");
  const Example example = pictured(plain_picture(1, 1, brick));
  EXPECT_THROW(write_png(png_, example, item, {.opacity = 1.5}), InvalidArgument);
  EXPECT_THROW(write_png(png_, example, item, {.opacity = std::nan("")}), InvalidArgument);
  EXPECT_THROW(write_png(png_, example, item, {.overlay = static_cast<Overlay>(7)}), InvalidArgument);
  EXPECT_THROW(write_png(png_, example, spatial(2, 2, {1}), {}), InvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace attend::view
