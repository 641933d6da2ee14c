#include "attend/view/colour_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/base/error.h"

namespace attend::view {
namespace {

constexpr Colour black{0, 0, 0}, white{255, 255, 255};

double step_of(int i, int steps, Background background) {
  return perceived_distance(heat_map_colour(1.0 * i / steps, background), heat_map_colour((i + 1.0) / steps, background));
}

class RampOn : public ::testing::TestWithParam<Background> {};
INSTANTIATE_TEST_SUITE_P(ColourMap, RampOn, ::testing::Values(Background::light, Background::dark));

TEST_P(RampOn, StepsLookEquallyLarge) {
  constexpr int steps = 40;
  double walked = 0;
  for (int i = 0; i < steps; ++i) walked += step_of(i, steps, GetParam());
  EXPECT_GT(walked, 0.7);
  for (int i = 0; i < steps; ++i) {
    // 8 bits a channel round by up to 0.003
    EXPECT_NEAR(step_of(i, steps, GetParam()), walked / steps, 0.2 * walked / steps) << i;
  }
}

TEST_P(RampOn, LeadsAwayFromTheBackground) {
  const Colour paper = paper_colour(GetParam());
  double before = -1;
  for (int i = 0; i <= 20; ++i) {
    const double away = perceived_distance(heat_map_colour(i / 20.0, GetParam()), paper);
    EXPECT_GT(away, before) << i;
    before = away;
  }
  EXPECT_LT(perceived_distance(heat_map_colour(0, GetParam()), paper), 0.1);
  EXPECT_GT(before, 0.7);
}

TEST_P(RampOn, EndsHoldBeyondTheScaleAndNanIsOffTheRamp) {
  EXPECT_EQ(heat_map_colour(-3, GetParam()), heat_map_colour(0, GetParam()));
  EXPECT_EQ(heat_map_colour(7, GetParam()), heat_map_colour(1, GetParam()));
  EXPECT_EQ(heat_map_colour(std::numeric_limits<double>::infinity(), GetParam()), heat_map_colour(1, GetParam()));
  EXPECT_EQ(heat_map_colour(std::nan(""), GetParam()), missing_colour(GetParam()));
  for (int i = 0; i <= 100; ++i) {
    EXPECT_GT(perceived_distance(heat_map_colour(i / 100.0, GetParam()), missing_colour(GetParam())), 0.06) << i;
  }
}

TEST_P(RampOn, TextCanBeReadOnEveryStep) {
  for (int i = 0; i <= 100; ++i) {
    const Colour surface = heat_map_colour(i / 100.0, GetParam());
    EXPECT_GT(perceived_distance(surface, text_colour_on(surface)), 0.35) << i;
  }
  EXPECT_GT(perceived_distance(ink_colour(GetParam()), paper_colour(GetParam())), 0.6);
}

TEST(ColourMap, MeasuresDistanceAsTheEyeDoes) {
  EXPECT_NEAR(perceived_distance(black, white), 1, 1e-6);
  EXPECT_EQ(perceived_distance(white, white), 0);
  EXPECT_GT(perceived_distance({255, 0, 0}, {0, 255, 0}), perceived_distance({255, 0, 0}, {255, 120, 0}));
  EXPECT_EQ(text_colour_on(white), black);
  EXPECT_EQ(text_colour_on({20, 20, 90}), white);
}

TEST(ColourMap, TerminalColoursAreFoundAgain) {
  EXPECT_EQ(terminal_colour(black), 16);
  EXPECT_EQ(terminal_colour(white), 231);
  EXPECT_EQ(colour_of_terminal(196), (Colour{255, 0, 0}));
  EXPECT_EQ(colour_of_terminal(232), (Colour{8, 8, 8}));
  EXPECT_EQ(colour_of_terminal(255), (Colour{238, 238, 238}));
  for (int number = 16; number <= 255; ++number) {
    EXPECT_EQ(colour_of_terminal(terminal_colour(colour_of_terminal(number))), colour_of_terminal(number)) << number;
  }
  EXPECT_THROW(colour_of_terminal(15), InvalidArgument);
  EXPECT_THROW(colour_of_terminal(256), InvalidArgument);
}

}  // namespace
}  // namespace attend::view
