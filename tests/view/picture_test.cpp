#include "attend/view/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "tests/view/alignment.h"
#include "tests/view/picture_file.h"

namespace attend::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Example small_example{"1", {"the", "cat", "sleeps"}, {"le", "chat"}, {}};
const Item small_item = alignment(1, small_example, {1, 0.5f, 0.25f, 0, 0.75f, nan_weight});

TEST_F(PictureFile, PngShowsTheRampWhereTheWeightsAre) {
  for (const Background background : {Background::light, Background::dark}) {
    write_png(png_, small_example, small_item, {.background = background});
    EXPECT_THAT(io::read_file(png_), StartsWith("\x89PNG\r\n\x1A\n"));
    const Pixels pixels(png_);
    const auto cell_of = [&](double weight) { return pixels.find(heat_map_colour(weight, background)); };
    // a cell is 22 points = 44 pixels, less the gap
    for (const double weight : {0.0, 0.25, 0.5, 0.75, 1.0}) EXPECT_NEAR(cell_of(weight).count, 43 * 43, 43) << weight;
    EXPECT_NEAR(cell_of(0.5).x - cell_of(1).x, 44, 1);
    EXPECT_NEAR(cell_of(0.25).x - cell_of(0.5).x, 44, 1);
    EXPECT_NEAR(cell_of(0).y - cell_of(1).y, 44, 1);
    EXPECT_NEAR(cell_of(0).x, cell_of(1).x, 1);
    EXPECT_NEAR(cell_of(0.75).x, cell_of(0.5).x, 1);
    EXPECT_GE(pixels.find(missing_colour(background)).count, 43 * 43);
    EXPECT_EQ(pixels.at(1, 1), paper_colour(background));
    EXPECT_GT(pixels.find(ink_colour(background)).count, 50);  // the labels
  }
}

TEST_F(PictureFile, EachHeadHasAPanel) {
  const Example example{"1", {"a"}, {"x"}, {}};
  write_png(png_, example, alignment(4, example, {0.2f, 0.4f, 0.6f, 0.8f}));
  const Pixels pixels(png_);
  for (const double weight : {0.2f, 0.4f, 0.6f, 0.8f}) EXPECT_GE(pixels.find(heat_map_colour(weight)).count, 42 * 42) << weight;
}

TEST_F(PictureFile, ScaleCanBeTheLargestWeight) {
  const Example example{"1", {"a", "b"}, {"x"}, {}};
  const Item item = alignment(1, example, {0.01f, 0.02f});
  write_png(png_, example, item, {.full_scale = 0});
  EXPECT_GE(Pixels(png_).find(heat_map_colour(1)).count, 42 * 42);
  write_png(png_, example, item);
  EXPECT_LT(Pixels(png_).find(heat_map_colour(1)).count, 42 * 42);
}

TEST_F(PictureFile, NumbersAreWrittenIntoCells) {
  const Example example{"1", {"a"}, {"x"}, {}};
  const Item item = alignment(1, example, {0.4f});
  write_png(png_, example, item);
  const int plain = Pixels(png_).find(heat_map_colour(0.4f)).count;
  write_png(png_, example, item, {.numbers = true});
  EXPECT_LT(Pixels(png_).find(heat_map_colour(0.4f)).count, plain - 50);
}

TEST_F(PictureFile, LongLabelsNeedRoomButNeverMoreThanAllowed) {
  Example example{"1", {"a", "b", "c"}, {"x"}, {}};
  const Item item = alignment(1, example, {0, 0, 0});
  write_png(png_, example, item);
  const int low = Pixels(png_).height();
  example.source[1] = "internationalisation";
  write_png(png_, example, item);
  const int high = Pixels(png_).height();
  EXPECT_GT(high, low + 60);
  example.source[1] = std::string(10000, 'm');
  write_png(png_, example, item);
  EXPECT_LT(Pixels(png_).height(), low + 2 * 130);
}

TEST_F(PictureFile, SvgIsWellFormedAndHasOutlinesForText) {
  write_svg(svg_, small_example, small_item);
  const std::string svg = io::read_file(svg_);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_THAT(svg, HasSubstr("<title>Heat map of decoder.attention</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("<text")));
  EXPECT_THAT(svg, Not(HasSubstr("font-family")));
}

TEST_F(PictureFile, TheSameInputGivesTheSameBytes) {
  Example large{"1", std::vector<std::string>(120, "a"), std::vector<std::string>(120, "b"), {}};
  const Item large_item = alignment(1, large, std::vector<float>(120 * 120, 0.3f));
  const auto bytes = [&](const Example& example, const Item& item) {
    write_svg(svg_, example, item);
    write_png(png_, example, item);
    return io::read_file(svg_) + io::read_file(png_);
  };
  const std::string first = bytes(small_example, small_item), first_large = bytes(large, large_item);
  EXPECT_EQ(bytes(small_example, small_item), first);
  EXPECT_EQ(bytes(large, large_item), first_large);
}

TEST_F(PictureFile, HostileTokensDoNoHarm) {
  std::string stacked = "a";
  for (int i = 0; i < 5000; ++i) stacked += "\u0301";
  const Example example{"1",
                        {"<script>alert(1)</script>", "&", "\"'>]]>", "\x1B[31m\x01\n\r\t", std::string(10000, 'x'), "\xFF\xFE\xC3", "",
                         std::string("a\0b", 3), "\u202Eevil", stacked, "\uFFFF\uFFFE", "👨‍👩‍👧‍👦"},
                        {"שלום", "注意機構", "हिन्दी"},
                        {}};
  Item item = alignment(1, example, std::vector<float>(36, 0.5f));
  item.module = "<m & \x02\xFF\uFFFE\"]]>";
  write_svg(svg_, example, item);
  const std::string svg = io::read_file(svg_);
  expect_well_formed(svg);
  EXPECT_THAT(svg, Not(HasSubstr("script")));
  EXPECT_THAT(svg, HasSubstr("<title>Heat map of &lt;m &amp; ␂\uFFFD\"]]&gt;</title>"));
  write_png(png_, example, item);
  EXPECT_GT(Pixels(png_).width(), 300);
  EXPECT_LT(Pixels(png_).width(), 2000);
}

TEST_F(PictureFile, EmptyAndSingleMapsArePicturesToo) {
  for (const Background background : {Background::light, Background::dark}) {
    write_png(png_, {}, alignment(1, {}, {}), {.background = background});
    EXPECT_GT(Pixels(png_).find(ink_colour(background)).count, 50);
  }
  write_svg(svg_, {}, alignment(1, {}, {}));
  expect_well_formed(io::read_file(svg_));
  const Item gate{.module = "gate", .kind = Kind::channel, .axes = {"channel"}, .shape = {1}, .weights = {0.7f}};
  write_svg(svg_, {}, gate);
  write_png(png_, {}, gate);
  EXPECT_GE(Pixels(png_).find(heat_map_colour(0.7f)).count, 42 * 42);
}

TEST_F(PictureFile, LargeMapsBecomeImages) {
  constexpr int size = 2048;
  Example example{"1", std::vector<std::string>(size, "source"), std::vector<std::string>(size, "target"), {}};
  std::vector<float> weights(size * size, 0.0f);
  for (int i = 0; i < size / 2; ++i) std::fill_n(weights.begin() + i * size, size / 2, 1.0f);
  const Item item = alignment(1, example, std::move(weights));
  write_png(png_, example, item);
  const Pixels pixels(png_);
  EXPECT_LT(pixels.width(), 4000);
  EXPECT_GE(pixels.find(heat_map_colour(1)).count, 1000 * 1000);
  write_svg(svg_, example, item);
  EXPECT_LT(std::filesystem::file_size(svg_), 3u << 20);
  EXPECT_THAT(io::read_file(svg_), HasSubstr("data:image/png;base64"));
}

TEST_F(PictureFile, ManyPanelsStayWithinBounds) {
  const Example example{"1", std::vector<std::string>(64, "s"), std::vector<std::string>(64, "t"), {}};
  write_png(png_, example, alignment(100, example, std::vector<float>(64 * 64 * 100, 0.5f)), {.pixels_per_point = 8});
  EXPECT_LE(1.0 * Pixels(png_).width() * Pixels(png_).height(), 64e6);
}

TEST_F(PictureFile, RefusesWhatItCannotDraw) {
  EXPECT_THROW(write_png(png_, {}, small_item), InvalidArgument);
  EXPECT_THROW(write_svg(svg_, small_example, small_item, {.font = "\xFF"}), InvalidArgument);
  EXPECT_THROW(write_svg(svg_, small_example, small_item, {.font_size = 0}), InvalidArgument);
  EXPECT_THROW(write_svg(svg_, small_example, small_item, {.cell_size = 1000}), InvalidArgument);
  EXPECT_THROW(write_svg(svg_, small_example, small_item, {.label_length = -1}), InvalidArgument);
  EXPECT_THROW(write_png(png_, small_example, small_item, {.full_scale = std::nan("")}), InvalidArgument);
  EXPECT_THROW(write_png(png_, small_example, small_item, {.pixels_per_point = 100}), InvalidArgument);
  EXPECT_THROW(write_png(folder_ / "no" / "such.png", small_example, small_item), SystemError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace attend::view
