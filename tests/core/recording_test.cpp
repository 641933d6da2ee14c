#include "attend/core/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "attend/base/error.h"

namespace attend {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

// A mechanism: reports two batches, three heads, one query, two keys; weights are head numbers.
struct Looker : torch::nn::Module {
  void look() const {
    const Tensor weights = at::arange(3, at::kFloat).view({1, 3, 1, 1}).expand({2, 3, 1, 2}).clone().set_requires_grad(true);
    Recording::report(*this, "alignment", weights, {"batch", "head", "query", "key"});
  }
};

struct Layer : torch::nn::Module {
  Layer() { attention = register_module("attention", std::make_shared<Looker>()); }
  std::shared_ptr<Looker> attention;
};

struct Model : torch::nn::Module {
  Model() {
    for (const char* name : {"layer", "layers", "last"}) parts.push_back(register_module(name, std::make_shared<Layer>()));
  }
  void look() const {
    for (const std::shared_ptr<Layer>& part : parts) part->attention->look();
  }
  std::vector<std::shared_ptr<Layer>> parts;
};

std::vector<std::string> modules_of(Recording& recording) {
  std::vector<std::string> modules;
  for (const Recording::Item& item : recording.take()) modules.push_back(item.module);
  return modules;
}

TEST(Recording, KeepsReportsUnderTheirModulesPathsInTheirOrder) {
  const auto model = std::make_shared<Model>();
  Recording recording(*model);
  model->look();
  model->parts[0]->attention->look();
  EXPECT_THAT(modules_of(recording), ElementsAre("layer.attention", "layers.attention", "last.attention", "layer.attention"));
  EXPECT_TRUE(recording.take().empty()) << "taken once";
}

TEST(Recording, KeepsKindAxesAndNumbersWithoutTheirGraph) {
  const auto model = std::make_shared<Model>();
  Recording recording(*model);
  model->parts[0]->attention->look();
  const std::vector<Recording::Item> items = recording.take();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].kind, "alignment");
  EXPECT_THAT(items[0].axes, ElementsAre("batch", "head", "query", "key"));
  EXPECT_EQ(items[0].tensor.sizes(), at::IntArrayRef({2, 3, 1, 2}));
  EXPECT_EQ(items[0].tensor[1][2][0][1].item<double>(), 2);
  EXPECT_FALSE(items[0].tensor.requires_grad());
}

TEST(Recording, TheRootItselfHasAnEmptyPath) {
  const auto looker = std::make_shared<Looker>();
  Recording recording(*looker);
  looker->look();
  EXPECT_THAT(modules_of(recording), ElementsAre(""));
}

TEST(Recording, WantsNothingOutsideOfAScope) {
  const auto model = std::make_shared<Model>();
  const Looker& looker = *model->parts[0]->attention;
  EXPECT_FALSE(Recording::wants(looker));
  {
    const Recording recording(*model);
    EXPECT_TRUE(Recording::wants(looker));
  }
  EXPECT_FALSE(Recording::wants(looker));
  model->look();  // goes nowhere
  Recording later(*model);
  EXPECT_TRUE(later.take().empty());
}

// Nothing of a report is looked at, not even that its axes fit.
TEST(Recording, CostsNothingOutsideOfAScope) {
  const Looker looker;
  EXPECT_NO_THROW(Recording::report(looker, "alignment", Tensor(), {"batch"}));
}

// Outside of a scope the question takes about 5 ns; the limit leaves room for sanitizers and busy machines, yet not for a look at paths or tensors.
TEST(Recording, OutsideOfAScopeAReportTakesNoTime) {
  const Looker looker;
  constexpr int reports = 100'000;
  double least = 1e9;  // ns of one
  for (int run = 0; run < 20; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    int wanted = 0;
    for (int i = 0; i < reports; ++i) wanted += Recording::wants(looker) ? 1 : 0;
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(wanted, 0);
    least = std::min(least, time.count() / reports);
  }
  RecordProperty("nanoseconds", std::to_string(least));
  EXPECT_LT(least, 50);
}

TEST(Recording, WantsNothingOfAnotherModel) {
  const auto model = std::make_shared<Model>(), other = std::make_shared<Model>();
  Recording recording(*model);
  EXPECT_FALSE(Recording::wants(*other->parts[0]->attention));
  other->look();
  EXPECT_TRUE(recording.take().empty());
}

TEST(Recording, WantsNothingOnAnotherThread) {
  const auto model = std::make_shared<Model>();
  const Recording recording(*model);
  bool wanted = true;
  std::thread([&] { wanted = Recording::wants(*model->parts[0]->attention); }).join();
  EXPECT_FALSE(wanted);
}

TEST(Recording, TheInnermostOneGetsTheReports) {
  const auto model = std::make_shared<Model>();
  Recording outer(*model);
  {
    Recording inner(*model, {.modules = {"last"}});
    model->look();
    EXPECT_THAT(modules_of(inner), ElementsAre("last.attention"));
  }
  EXPECT_TRUE(outer.take().empty());
  model->parts[1]->attention->look();
  EXPECT_THAT(modules_of(outer), ElementsAre("layers.attention"));
}

TEST(Recording, ChosenModulesAreKeptWithWhatLiesBelowThem) {
  const auto model = std::make_shared<Model>();
  Recording recording(*model, {.modules = {"layer", "last.attention"}});
  model->look();
  EXPECT_THAT(modules_of(recording), ElementsAre("layer.attention", "last.attention")) << "\"layers\" only begins like \"layer\"";
  EXPECT_TRUE(Recording::wants(*model->parts[0]));
  EXPECT_FALSE(Recording::wants(*model->parts[1]->attention));
  EXPECT_FALSE(Recording::wants(*model->parts[2])) << "what lies above a chosen module isn't kept";
}

TEST(Recording, AModuleThatTheModelLacksIsRefusedWithTheNearestName) {
  const auto model = std::make_shared<Model>();
  EXPECT_THAT([&] { Recording(*model, {.modules = {"layer.atention"}}); },
              ThrowsMessage<InvalidArgument>(
                  StrEq(R"(attend::Recording: the model has no module "layer.atention"; did you mean "layer.attention"?)")));
  EXPECT_THAT([&] { Recording(*model, {.modules = {"qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"}}); },
              ThrowsMessage<InvalidArgument>(StrEq(R"(attend::Recording: the model has no module "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq")")));
  EXPECT_FALSE(Recording::wants(*model->parts[0]->attention)) << "a refused recording stayed open";
}

TEST(Recording, ChosenHeadsAreKeptInTheirOrder) {
  const auto model = std::make_shared<Model>();
  Recording recording(*model, {.heads = {2, 0}});
  model->parts[0]->attention->look();
  Recording::report(*model->parts[0], "gate", at::ones({2, 5}), {"batch", "channel"});
  const std::vector<Recording::Item> items = recording.take();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_TRUE(items[0].tensor.equal(at::tensor({2.f, 0.f}).view({1, 2, 1, 1}).expand({2, 2, 1, 2})));
  EXPECT_EQ(items[1].tensor.sizes(), at::IntArrayRef({2, 5})) << "without heads nothing is chosen";
}

TEST(Recording, AHeadThatTheMechanismLacksIsRefused) {
  const auto model = std::make_shared<Model>();
  for (const std::int64_t head : {-1, 3}) {
    const Recording recording(*model, {.heads = {head}});
    EXPECT_THAT([&] { model->look(); },
                ThrowsMessage<InvalidArgument>(StrEq("attend::Recording: expected heads from 0 to 2, got " + std::to_string(head))));
  }
}

TEST(Recording, EachDimensionNeedsAName) {
  const auto model = std::make_shared<Model>();
  const Recording recording(*model);
  EXPECT_THAT(
      [&] {
        Recording::report(*model, "alignment", at::ones({2, 3}), {"batch"});
      },
      ThrowsMessage<InvalidArgument>(StrEq("attend::Recording::report: expected a name for each of 2 dimensions, got 1")));
}

// Reports the weights of three queries on five keys, in falling order.
struct Reader : torch::nn::Module {
  void look() const { Recording::report(*this, "alignment", at::arange(15, 0, -1, at::kFloat).view({1, 1, 3, 5}) / 20, {"batch", "head", "query", "key"}); }
};

TEST(Recording, ChosenStepsAreKeptInTheirOrder) {
  const auto reader = std::make_shared<Reader>();
  Recording recording(*reader, {.steps = {2, 0}});
  reader->look();
  const std::vector<Recording::Item> items = recording.take();
  ASSERT_EQ(items.at(0).tensor.sizes(), at::IntArrayRef({1, 1, 2, 5}));
  EXPECT_EQ(items[0].tensor[0][0][0][0].item<float>(), 0.25f);
  EXPECT_EQ(items[0].tensor[0][0][1][0].item<float>(), 0.75f);
  Recording beyond(*reader, {.steps = {3}});
  EXPECT_THAT([&] { reader->look(); }, ThrowsMessage<InvalidArgument>(StrEq("attend::Recording: expected steps from 0 to 2, got 3")));
}

TEST(Recording, OfManyPairsTheLargestAreKept) {
  const auto reader = std::make_shared<Reader>();
  Recording recording(*reader, {.steps = {1}, .most_pairs = 14, .top = 2});
  EXPECT_EQ(Recording::keeps_largest(*reader, 3, 5), 2);
  EXPECT_EQ(Recording::keeps_largest(*reader, 2, 7), std::nullopt) << "as many as are allowed";
  EXPECT_EQ(Recording::keeps_largest(*reader, 50, 2), std::nullopt) << "no fewer would be kept";
  EXPECT_EQ(Recording::keeps_largest(*reader, 0, 5), std::nullopt);
  EXPECT_EQ(Recording::keeps_largest(*reader, std::int64_t{1} << 62, 8), 2) << "their product is beyond 64 bits";
  reader->look();
  const Recording::Item item = recording.take().at(0);
  ASSERT_TRUE(item.largest);
  EXPECT_EQ(item.largest->length, 5);
  EXPECT_TRUE(at::equal(item.tensor, at::tensor({10.0f, 9.0f}).view({1, 1, 1, 2}) / 20));
  EXPECT_TRUE(at::equal(item.largest->keys, at::tensor({0, 1}, at::kLong).view({1, 1, 1, 2})));
  double entropy = 0;
  for (const double w : {0.5, 0.45, 0.4, 0.35, 0.3}) entropy -= w * std::log(w);
  EXPECT_NEAR(item.largest->entropy.item<double>(), entropy, 1e-6);
  EXPECT_EQ(Recording::keeps_largest(*std::make_shared<Reader>(), 3, 5), std::nullopt) << "of another model";
}

TEST(Recording, KeepsAllWhereAsked) {
  const auto reader = std::make_shared<Reader>();
  Recording recording(*reader, {.most_pairs = 0, .top = 1});
  reader->look();
  EXPECT_FALSE(recording.take().at(0).largest);
  EXPECT_THROW(Recording(*reader, {.most_pairs = -1}), InvalidArgument);
  EXPECT_THROW(Recording(*reader, {.top = 0}), InvalidArgument);
}

}  // namespace
}  // namespace attend
