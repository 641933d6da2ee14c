#include "attend/train/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attend/io/toml.h"

namespace attend::train {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

template <class T>
void expect_refusal(T TrainOptions::*member, T value, const std::string& message) {
  TrainOptions options;
  options.*member = value;
  EXPECT_THAT([&] { check(options); }, ThrowsMessage<InvalidArgument>(StartsWith(message)));
}

TEST(TrainOptions, DefaultsAreInRange) { EXPECT_NO_THROW(check(TrainOptions())); }

TEST(TrainOptions, CountsBelowTheirLeastAreRefused) {
  using Counts = std::vector<std::pair<std::int64_t TrainOptions::*, std::string>>;
  for (const auto& [member, name] : Counts{{&TrainOptions::steps, "steps"},
                                           {&TrainOptions::batch, "batch"},
                                           {&TrainOptions::plateau_patience, "plateau_patience"},
                                           {&TrainOptions::halve_every, "halve_every"},
                                           {&TrainOptions::valid_every, "valid_every"},
                                           {&TrainOptions::checkpoint_every, "checkpoint_every"},
                                           {&TrainOptions::log_every, "log_every"}})
    expect_refusal<std::int64_t>(member, 0, "train." + name + ": expected at least 1, got 0");
  for (const auto& [member, name] :
       Counts{{&TrainOptions::warmup, "warmup"}, {&TrainOptions::halve_after, "halve_after"}, {&TrainOptions::valid_items, "valid_items"}, {&TrainOptions::patience, "patience"}})
    expect_refusal<std::int64_t>(member, -1, "train." + name + ": expected at least 0, got -1");
}

TEST(TrainOptions, NumbersOutOfRangeAreRefused) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    expect_refusal(&TrainOptions::learning_rate, bad, "train.learning_rate: expected a positive number, got ");
    expect_refusal(&TrainOptions::epsilon, bad, "train.epsilon: expected a positive number, got ");
  }
  for (const double bad : {-1.0, nan, infinity}) expect_refusal(&TrainOptions::clip, bad, "train.clip: expected 0 or a positive number, got ");
  for (const double bad : {1e308, 4e38}) {
    expect_refusal(&TrainOptions::learning_rate, bad, "train.learning_rate: expected at most 3e+37, beyond which an update leaves the range of its numbers, got ");
    expect_refusal(&TrainOptions::epsilon, bad, "train.epsilon: expected a number from 1e-37 to 3e+38, got ");
  }
  expect_refusal(&TrainOptions::learning_rate, 4e37, "train.learning_rate: expected at most 3e+37");
  TrainOptions descent;
  descent.optimizer = OptimizerName::sgd;
  descent.learning_rate = 4e37;
  EXPECT_NO_THROW(check(descent));
  expect_refusal(&TrainOptions::epsilon, 1e-50, "train.epsilon: expected a number from 1e-37 to 3e+38, got 1e-50");
  for (const double bad : {-0.1, 1.0, nan}) {
    expect_refusal(&TrainOptions::plateau_factor, bad, "train.plateau_factor: expected a number from 0 to below 1, got ");
    expect_refusal(&TrainOptions::momentum, bad, "train.momentum: ");
    expect_refusal(&TrainOptions::beta1, bad, "train.beta1: ");
    expect_refusal(&TrainOptions::beta2, bad, "train.beta2: ");
    expect_refusal(&TrainOptions::weight_decay, bad, "train.weight_decay: ");
    expect_refusal(&TrainOptions::averaging, bad, "train.averaging: ");
  }
}

TEST(TrainOptions, AreReadFromARecipeAndWrittenAgain) {
  TrainOptions options;
  read_options(options, io::parse_toml("schedule = \"plateau\"\nsteps = 7\nlearning_rate = 1\n", "recipe"), "recipe", "train");
  EXPECT_EQ(options.schedule, Schedule::plateau);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.learning_rate, 1.0);
  EXPECT_EQ(options.batch, TrainOptions().batch);
  TrainOptions again;
  read_options(again, write_options(options), "resolved", "train");
  EXPECT_TRUE(write_options(again) == write_options(options));
}

TEST(TrainOptions, EveryFieldIsDescribed) {
  const std::vector<OptionDescription> rows = describe_options<TrainOptions>({}, "train");
  EXPECT_EQ(rows.size(), write_options(TrainOptions()).as_table().size());
  for (const OptionDescription& row : rows) {
    EXPECT_THAT(row.name, StartsWith("train."));
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_FALSE(row.default_text.empty()) << row.name;
  }
}

TEST(TrainOptions, AMisspeltKeyIsRefusedWithItsLineAndTheNearest) {
  TrainOptions options;
  EXPECT_THAT([&] { read_options(options, io::parse_toml("steps = 7\nlearning_rat = 1\n", "recipe"), "recipe.toml", "train"); },
              ThrowsMessage<InvalidArgument>(StrEq("recipe.toml:2: train.learning_rat: unknown key; did you mean \"learning_rate\"?")));
  EXPECT_THAT([&] { read_options(options, io::parse_toml("schedule = \"cosin\"\n", "recipe"), "recipe.toml", "train"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("recipe.toml:1: train.schedule: expected one of \"constant\", \"cosine\", \"plateau\", \"halving\", \"inverse-sqrt\"")));
}

}  // namespace
}  // namespace attend::train
