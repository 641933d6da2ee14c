// Boxes of glimpses over their picture, as write_png() and write_svg() draw them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/view/picture.h"
#include "tests/view/alignment.h"
#include "tests/view/picture_file.h"

namespace attend::view {
namespace {

constexpr Colour sea{40, 60, 200}, box_white{255, 255, 255};

Item glimpses(std::vector<float> boxes) {
  const auto steps = std::ssize(boxes) / 4;
  return {.module = "ram", .kind = Kind::glimpse, .axes = {"step", "coordinate"}, .shape = {steps, 4}, .weights = std::move(boxes)};
}

Item scaled_glimpses(std::int64_t scales, std::vector<float> boxes) {
  Item item = glimpses(std::move(boxes));
  item.axes = {"step", "scale", "coordinate"};
  item.shape = {item.shape[0] / scales, scales, 4};
  return item;
}

class GlimpsePathFile : public PictureFile {
 protected:
  // On dark paper, where nothing but boxes is white.
  Pixels drawn(const Item& item) {
    write_png(png_, example_, item, {.background = Background::dark});
    return Pixels(png_);
  }

  // Whether a line of a box or of the path crosses one of the nine pixels around this part of the picture, which is drawn whole, 720 pixels
  // wide.
  static bool is_crossed(const Pixels& pixels, double across, double down) {
    const ColourPlace picture = pixels.find(sea);
    const int x = picture.left + static_cast<int>(across * 720), y = picture.top + static_cast<int>(down * 480);
    for (int i = 0; i < 9; ++i) {
      if (pixels.at(x + i % 3 - 1, y + i / 3 - 1) == box_white) return true;
    }
    return false;
  }

  Example example_ = [] {
    Example example{"1", {}, {}, {}};
    example.picture = plain_picture(90, 60, sea);
    return example;
  }();
};

TEST_F(GlimpsePathFile, BoxesAndThePathThroughTheirMiddlesLieOnThePicture) {
  const Pixels pixels = drawn(glimpses({0.1f, 0.1f, 0.2f, 0.3f, 0.6f, 0.5f, 0.2f, 0.3f}));
  const ColourPlace picture = pixels.find(sea);
  EXPECT_EQ(picture.width(), 720);
  EXPECT_EQ(picture.height(), 480);
  for (const auto& [across, down] : {std::pair(0.1, 0.3), {0.3, 0.3}, {0.2, 0.4}, {0.6, 0.7}, {0.8, 0.6}, {0.7, 0.8}}) {
    EXPECT_TRUE(is_crossed(pixels, across, down)) << across << ", " << down;
  }
  EXPECT_TRUE(is_crossed(pixels, 0.45, 0.45));  // half way from one middle to the other
  for (const auto& [across, down] : {std::pair(0.05, 0.3), {0.45, 0.2}, {0.7, 0.9}}) {
    EXPECT_FALSE(is_crossed(pixels, across, down)) << across << ", " << down;
  }
  EXPECT_EQ(pixels.at(picture.left + 36, picture.top + 400), sea);
  EXPECT_GT(pixels.find({0, 0, 0}).count, 10);  // the numbers
}

TEST_F(GlimpsePathFile, CoarserScalesAreDashed) {
  const Pixels pixels = drawn(scaled_glimpses(2, {0.4f, 0.4f, 0.2f, 0.2f, 0.2f, 0.2f, 0.6f, 0.6f}));
  int fine = 0, coarse = 0;
  for (double down = 0.45; down < 0.58; down += 0.0025) {
    fine += is_crossed(pixels, 0.6, down) ? 1 : 0;
    coarse += is_crossed(pixels, 0.8, down) ? 1 : 0;
  }
  EXPECT_GE(fine, 52);
  EXPECT_GT(coarse, 20);
  EXPECT_LT(coarse, 50);
}

TEST_F(GlimpsePathFile, BoxesBeyondTheEdgesWidenWhatIsDrawn) {
  const Pixels inside = drawn(glimpses({0, 0, 1, 1})), beyond = drawn(glimpses({-0.25f, 0.2f, 0.5f, 0.5f}));
  EXPECT_NEAR(inside.find(sea).width(), 720, 12);  // less the lines
  const ColourPlace picture = beyond.find(sea);
  EXPECT_NEAR(picture.width(), 720 / 1.27, 2);  // from −0.26 to 1.01
  EXPECT_NEAR(picture.left, 28 + 720 * 0.26 / 1.27, 2);
  const int x = 28 + static_cast<int>(720 * 0.01 / 1.27);
  int white = 0;
  for (int i = -2; i <= 2; ++i) white += beyond.at(x + i, picture.top + picture.height() / 2) == box_white ? 1 : 0;
  EXPECT_GE(white, 1);
  // no further than half the picture, and no longer than a moment, however far a box reaches
  const float far = 1e30f;
  const Pixels astronomic =
      drawn(scaled_glimpses(2, {-far, -far, 2 * far, 2 * far, -far, -far, 2 * far, 2 * far, far, 0, 1, 1, 0.2f, 0.2f, far, 0.1f}));
  EXPECT_NEAR(astronomic.find(sea).width(), 720 / 2.02, 2);
}

TEST_F(GlimpsePathFile, BoxesThatAreNotNumbersAreLeftOutAndSaid) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> good = {0.1f, 0.1f, 0.2f, 0.3f},
                           bad = {nan_weight, 0.5f, 0.2f, 0.3f, 0.5f, 0.5f, infinity, 0.3f, 0.5f, 0.5f, 0, 0.3f};
  std::vector<float> both = good;
  both.insert(both.end(), bad.begin(), bad.end());
  const Pixels alone = drawn(glimpses(good)), with_bad = drawn(glimpses(both)), all_bad = drawn(glimpses(bad));
  EXPECT_EQ(with_bad.find(sea).count, alone.find(sea).count);
  EXPECT_GE(with_bad.height(), alone.height() + 2 * 22);  // two lines below: of those that are no numbers, and of the one without area
  EXPECT_GT(with_bad.find(ink_colour(Background::dark)).count, alone.find(ink_colour(Background::dark)).count + 100);
  EXPECT_EQ(all_bad.find(sea).count, 720 * 480);
}

TEST_F(GlimpsePathFile, TwoThousandStepsAreDrawn) {
  std::vector<float> boxes;
  for (int i = 0; i < 2000; ++i) boxes.insert(boxes.end(), {0.4f, 0.4f, 0.1f, 0.1f});
  const Pixels all = drawn(glimpses(boxes));
  boxes.insert(boxes.end(), {0.8f, 0.8f, 0.1f, 0.1f});
  const Pixels first = drawn(glimpses(boxes));
  EXPECT_FALSE(is_crossed(first, 0.9, 0.85));
  EXPECT_GT(first.height(), all.height());  // which is said
}

TEST_F(GlimpsePathFile, SvgStandsAloneAndTheSameInputGivesTheSameBytes) {
  const Item item = scaled_glimpses(2, {0.4f, 0.4f, 0.2f, 0.2f, 0.2f, 0.2f, 0.6f, 0.6f});
  write_svg(svg_, example_, item);
  const std::string first = io::read_file(svg_);
  write_svg(svg_, example_, item);
  EXPECT_EQ(io::read_file(svg_), first);
  expect_lone_svg(first, "Glimpses of ram over their picture");
  EXPECT_LT(first.size(), 200'000u);
}

TEST_F(GlimpsePathFile, PicturesOfAnySizeAndShape) {
  for (const auto& [width, height] : {std::pair(1, 1), {1, 1000}, {1000, 1}, {3000, 20}}) {
    example_.picture = plain_picture(width, height, sea);
    const ColourPlace picture = drawn(glimpses({0, 0, 0.5f, 0.5f})).find(sea);
    EXPECT_NEAR(std::max(picture.width(), picture.height()), 720, 1) << width << " x " << height;
    EXPECT_GE(std::min(picture.width(), picture.height()), 58);
  }
  example_.picture = Picture{1, 1, 1, {77}};
  EXPECT_GT(drawn(glimpses({0, 0, 0.5f, 0.5f})).find({77, 77, 77}).count, 1000);
}

TEST_F(GlimpsePathFile, WithoutPictureOrBoxesItIsAMapOfNumbers) {
  const Item item = glimpses({0.1f, 0.1f, 0.2f, 0.3f});
  const Example bare{"1", {}, {}, {}};
  write_svg(svg_, bare, item);
  const std::string plain = io::read_file(svg_);
  write_svg(svg_, example_, item, {.overlay = Overlay::none});
  EXPECT_EQ(io::read_file(svg_), plain);
  EXPECT_NE(plain.find("<title>Heat map of ram</title>"), std::string::npos);
  for (const Item& empty : {glimpses({}), scaled_glimpses(1, {})}) {
    write_svg(svg_, example_, empty);
    expect_well_formed(io::read_file(svg_));
  }
}

TEST_F(GlimpsePathFile, RefusesWhatIsNoPicture) {
  const Item item = glimpses({0.1f, 0.1f, 0.2f, 0.3f});
  example_.picture->pixels.pop_back();
  EXPECT_THROW(write_png(png_, example_, item), InvalidArgument);
  example_.picture->pixels.clear();
  EXPECT_THROW(write_svg(svg_, example_, item), InvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace attend::view
