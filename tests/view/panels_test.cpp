#include "attend/view/panels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "tests/view/alignment.h"

namespace attend::view {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Panels, OneForEachHead) {
  const Example example{"1", {"a", "b", "c"}, {"x", "y"}, {}};
  const Item item{.module = "decoder.attention", .axes = {"head", "target", "source"}, .heads = 2, .layer = 3, .shape = {2, 2, 3},
                  .weights = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  const Panels panels = panels_of(example, item);
  EXPECT_EQ(panels.title, "decoder.attention, layer 3");
  EXPECT_EQ(panels.row_axis, "target");
  EXPECT_EQ(panels.column_axis, "source");
  EXPECT_THAT(panels.row_labels, ElementsAre("x", "y"));
  EXPECT_THAT(panels.column_labels, ElementsAre("a", "b", "c"));
  ASSERT_EQ(panels.panels.size(), 2u);
  EXPECT_EQ(panels.panels[1].heading, "head 2 of 2");
  EXPECT_THAT(panels.panels[1].weights, ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST(Panels, LeadingAxesAreNamedWithTheirTokens) {
  const Example example{"1", {}, {"chien", "noir"}, {}};
  const Item item{.module = "m", .kind = Kind::spatial, .axes = {"target", "step", "row", "column"}, .shape = {2, 3, 1, 2},
                  .weights = std::vector<float>(12)};
  const Panels panels = panels_of(example, item);
  ASSERT_EQ(panels.panels.size(), 6u);
  EXPECT_EQ(panels.panels[0].heading, "target 1 of 2: chien, step 1 of 3");
  EXPECT_EQ(panels.panels[5].heading, "target 2 of 2: noir, step 3 of 3");
  EXPECT_THAT(panels.row_labels, ElementsAre("1"));
  EXPECT_THAT(panels.column_labels, ElementsAre("1", "2"));
}

TEST(Panels, OneAxisIsOneRow) {
  const Item item{.module = "se", .kind = Kind::channel, .axes = {"channel"}, .shape = {3}, .weights = {0.1f, 0.2f, 0.3f}};
  const Panels panels = panels_of({}, item);
  EXPECT_EQ(panels.row_axis, "");
  EXPECT_EQ(panels.rows(), 1);
  EXPECT_EQ(panels.columns(), 3);
  EXPECT_EQ(panels.panels.size(), 1u);
  EXPECT_EQ(panels.panels[0].heading, "");
}

TEST(Panels, NothingToDrawIsNoPanel) {
  const Item empty{.module = "m", .axes = {"head", "target", "source"}, .shape = {1, 0, 0}, .weights = {}};
  EXPECT_TRUE(panels_of({}, empty).is_empty());
  EXPECT_THAT(panels_of({}, empty).panels, IsEmpty());
  const Item no_steps{.module = "m", .kind = Kind::temporal, .axes = {"step", "row", "column"}, .shape = {0, 2, 2}, .weights = {}};
  EXPECT_TRUE(panels_of({}, no_steps).is_empty());
}

TEST(Panels, RefuseAnItemThatDoesNotFit) {
  const Item item{.module = "m", .axes = {"head", "target", "source"}, .shape = {1, 1, 1}, .weights = {1}};
  EXPECT_THROW(panels_of({}, item), InvalidArgument);
}

TEST(PrintableToken, CanBeShownAnywhere) {
  EXPECT_EQ(printable_token(""), "");
  EXPECT_EQ(printable_token("cat"), "cat");
  EXPECT_EQ(printable_token("  "), "␣␣");
  EXPECT_EQ(printable_token(" a"), " a");
  EXPECT_EQ(printable_token("\u0301"), "◌\u0301");
  EXPECT_EQ(printable_token("e\u0301"), "e\u0301");
  EXPECT_EQ(printable_token("\x1B\xFF"), "␛\uFFFD");
  EXPECT_TRUE(is_blank_token(" "));
  EXPECT_FALSE(is_blank_token(""));
  EXPECT_FALSE(is_blank_token("a "));
}

TEST(StrongestColumn, IsTheFirstOfEqualsAndNeverNan) {
  EXPECT_EQ(strongest_column({}), std::nullopt);
  EXPECT_EQ(strongest_column(std::vector<float>{nan_weight, nan_weight}), std::nullopt);
  EXPECT_EQ(strongest_column(std::vector<float>{nan_weight, 0.2f, 0.4f, 0.4f}), 2);
  EXPECT_EQ(strongest_column(std::vector<float>{0, 0, nan_weight}), std::nullopt);
  EXPECT_EQ(strongest_column(std::vector<float>{-2, -1, -3}), 1);
}

TEST(LargestWeight, SkipsWhatIsNotFinite) {
  EXPECT_EQ(largest_weight({}), 0);
  EXPECT_EQ(largest_weight({.weights = {nan_weight, 0.25f, std::numeric_limits<float>::infinity()}}), 0.25f);
}

}  // namespace
}  // namespace attend::view
