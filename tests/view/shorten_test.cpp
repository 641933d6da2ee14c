#include "attend/view/shorten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "attend/base/error.h"
#include "attend/view/panels.h"
#include "tests/view/alignment.h"

namespace attend::view {
namespace {

using ::testing::ElementsAre;
using ::testing::Pointwise;

Example tokens(std::size_t targets, std::size_t sources) { return {"e", std::vector<std::string>(sources, "s"), std::vector<std::string>(targets, "t"), {}}; }

TEST(Shortened, KeepsTheLargestOfEachRow) {
  const Example example = tokens(2, 6);
  const Item item = alignment(1, example, {0.1f, 0.4f, 0.1f, 0.3f, 0.1f, 0, 0, 0, 1, 0, 0, 0});
  const Item kept = shortened(item, {Form::top_k, 2, 64});
  EXPECT_NO_THROW(check_item(example, kept));
  EXPECT_THAT(kept.keys, ElementsAre(1, 3, 2, -1));
  EXPECT_THAT(kept.weights, ElementsAre(0.4f, 0.3f, 1, 0));
  EXPECT_THAT(kept.shape, ElementsAre(1, 2, 6)) << "as it was";
  ASSERT_EQ(kept.entropy.size(), 2u);
  EXPECT_NEAR(kept.entropy[0], -0.4 * std::log2(0.4) - 0.3 * std::log2(0.3) - 3 * 0.1 * std::log2(0.1), 1e-6);
  EXPECT_EQ(kept.entropy[1], 0);
}

TEST(Shortened, NanComesFirst) {
  const Example example = tokens(1, 6);
  const Item kept = shortened(alignment(1, example, {1, 2, nan_weight, 3, nan_weight, 4}), {Form::top_k, 2, 64});
  EXPECT_THAT(kept.keys, ElementsAre(2, 4));
  EXPECT_TRUE(std::isnan(kept.weights[0]));
  EXPECT_TRUE(std::isfinite(kept.entropy[0]));
}

TEST(Shortened, MeansOfBlocks) {
  const Example example = tokens(3, 5);
  const Item item = alignment(2, example, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,                   //
                                           0, 0, 0, 0, 0, 0, 0, 0, nan_weight, 0, 0, 0, 0, 0, 8});
  const Item kept = shortened(item, {Form::thumbnail, 8, 2});
  EXPECT_NO_THROW(check_item(example, kept));
  EXPECT_THAT(kept.block, ElementsAre(2, 3));
  const std::vector<float> wanted{27.0f / 6, 28.0f / 4, 36.0f / 3, 29.0f / 2, 0, nan_weight, 0, 4};
  EXPECT_THAT(kept.weights, Pointwise(::testing::NanSensitiveFloatEq(), wanted));
}

TEST(Shortened, LeavesWhatWouldNotBeSmaller) {
  const Example example = tokens(2, 4);
  const Item item = alignment(1, example, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(shortened(item, {}).form, Form::all);
  EXPECT_EQ(shortened(item, {Form::top_k, 2, 64}).form, Form::all) << "two weights and two keys are four numbers";
  EXPECT_EQ(shortened(item, {Form::thumbnail, 8, 4}).form, Form::all);
  const Item top = shortened(item, {Form::top_k, 1, 64});
  EXPECT_EQ(top.form, Form::top_k);
  EXPECT_EQ(shortened(top, {Form::thumbnail, 8, 1}).form, Form::top_k) << "shortened once";
  const Item gate{.module = "gate", .kind = Kind::channel, .axes = {"channel"}, .shape = {9}, .weights = std::vector<float>(9)};
  EXPECT_EQ(shortened(gate, {Form::top_k, 1, 1}).form, Form::all);
  const Item path{.module = "eye", .kind = Kind::glimpse, .axes = {"step", "coordinate"}, .shape = {9, 4}, .weights = std::vector<float>(36)};
  EXPECT_EQ(shortened(path, {Form::thumbnail, 1, 1}).form, Form::all);
  EXPECT_EQ(shortened(alignment(1, tokens(0, 9), {}), {Form::top_k, 1, 1}).form, Form::all);
  EXPECT_THROW(shortened(item, {Form::top_k, 0, 64}), InvalidArgument);
  EXPECT_THROW(shortened(item, {Form::thumbnail, 8, 0}), InvalidArgument);
}

// What is kept stands where it stood, and what isn't is smaller.
TEST(Shortened, PanelsShowWhatWasKept) {
  const Example example = tokens(20, 33);
  std::mt19937 random(5);
  std::vector<float> weights(2 * 20 * 33);
  for (float& weight : weights) weight = static_cast<float>(random() % 1000) / 1000;
  const Item item = alignment(2, example, weights), kept = shortened(item, {Form::top_k, 5, 64});
  const Panels all = panels_of(example, item), some = panels_of(example, kept);
  EXPECT_EQ(some.title, "decoder.attention (the 5 largest of each row)");
  for (std::size_t head = 0; head < 2; ++head)
    for (std::size_t row = 0; row < 20; ++row) {
      const auto whole = all.panels[head].weights.subspan(row * 33, 33), part = some.panels[head].weights.subspan(row * 33, 33);
      int shown = 0;
      float smallest = 1;
      for (std::size_t c = 0; c < 33; ++c)
        if (part[c] != 0) {
          EXPECT_EQ(part[c], whole[c]);
          smallest = std::min(smallest, part[c]);
          ++shown;
        }
      EXPECT_EQ(shown, 5);
      EXPECT_LE(std::count_if(whole.begin(), whole.end(), [&](float weight) { return weight > smallest; }), 4);
    }
}

TEST(Shortened, PanelsOfBlocksSayWhichTheyAre) {
  const Example example = tokens(5, 9);
  const Panels panels = panels_of(example, shortened(alignment(1, example, std::vector<float>(45, 0.5f)), {Form::thumbnail, 8, 4}));
  EXPECT_EQ(panels.title, "decoder.attention (means of 2 × 3)");
  EXPECT_THAT(panels.row_labels, ElementsAre("1–2", "3–4", "5–5"));
  EXPECT_THAT(panels.column_labels, ElementsAre("1–3", "4–6", "7–9"));
  EXPECT_EQ(panels.panels.at(0).weights.size(), 9u);
}

TEST(RowEntropy, IsThatOfTheNormalisedRow) {
  const std::vector<float> even(8, 3.0f), one{0, 5, 0}, odd{1, 1, -4, nan_weight}, none{0, 0};
  EXPECT_NEAR(row_entropy(even.data(), 8), 3, 1e-6);
  EXPECT_EQ(row_entropy(one.data(), 3), 0);
  EXPECT_NEAR(row_entropy(odd.data(), 4), 1, 1e-6);
  EXPECT_EQ(row_entropy(none.data(), 2), 0);
  EXPECT_EQ(row_entropy(nullptr, 0), 0);
}

}  // namespace
}  // namespace attend::view
