#include "attend/train/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace attend::train {
namespace {

TrainOptions schedule_of(Schedule schedule, std::int64_t steps, std::int64_t warmup) {
  TrainOptions options;
  options.learning_rate = 0.4;
  options.schedule = schedule;
  options.steps = steps;
  options.warmup = warmup;
  options.plateau_factor = 0.5;
  return options;
}

TEST(LearningRate, GrowsLinearlyWhileWarmingUp) {
  for (const Schedule schedule : {Schedule::constant, Schedule::cosine, Schedule::plateau, Schedule::halving, Schedule::inverse_sqrt}) {
    const TrainOptions options = schedule_of(schedule, 100, 8);
    for (std::int64_t step = 1; step <= 8; ++step) EXPECT_DOUBLE_EQ(learning_rate(options, step), 0.4 * static_cast<double>(step) / 8);
  }
}

TEST(LearningRate, StaysWhereItIsConstant) {
  const TrainOptions options = schedule_of(Schedule::constant, 100, 0);
  for (const std::int64_t step : {1, 50, 100}) EXPECT_EQ(learning_rate(options, step, 3), 0.4);
}

TEST(LearningRate, FollowsHalfACosine) {
  const TrainOptions options = schedule_of(Schedule::cosine, 19, 0);
  for (std::int64_t step = 1; step <= 19; ++step)
    EXPECT_DOUBLE_EQ(learning_rate(options, step), 0.4 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / 20)) / 2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10), 0.2);
}

TEST(LearningRate, AlongACosineFallsAndIsNeverZero) {
  const TrainOptions options = schedule_of(Schedule::cosine, 50, 10);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10), 0.4);
  for (std::int64_t step = 11; step <= 50; ++step) {
    EXPECT_LT(learning_rate(options, step), learning_rate(options, step - 1));
    EXPECT_GT(learning_rate(options, step), 0);
  }
}

TEST(LearningRate, FallsWithEachPlateau) {
  const TrainOptions options = schedule_of(Schedule::plateau, 100, 4);
  EXPECT_DOUBLE_EQ(learning_rate(options, 5), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(options, 5, 1), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 100, 3), 0.05);
}

TEST(LearningRate, HalvesAfterSomeStepsAndThenAgainAndAgain) {
  TrainOptions options = schedule_of(Schedule::halving, 100, 0);
  options.halve_after = 50;
  options.halve_every = 10;
  for (const auto& [step, rate] : {std::pair(1, 0.4), {50, 0.4}, {51, 0.2}, {60, 0.2}, {61, 0.1}, {70, 0.1}, {71, 0.05}, {100, 0.4 / 32}})
    EXPECT_DOUBLE_EQ(learning_rate(options, step), rate) << step;
}

TEST(LearningRate, FallsWithTheSquareRootOfTheStepFromItsPeak) {
  const TrainOptions options = schedule_of(Schedule::inverse_sqrt, 10000, 16);
  EXPECT_DOUBLE_EQ(learning_rate(options, 16), 0.4);
  EXPECT_LT(learning_rate(options, 15), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate(options, 64), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 6400), 0.02);
  for (std::int64_t step = 17; step < 200; ++step)  // width^(−1/2) · min(step^(−1/2), step · warmup^(−3/2)) (Vaswani 2017, equation 3) up to a factor
    EXPECT_DOUBLE_EQ(learning_rate(options, step), 0.4 * 4 * std::min(std::pow(step, -0.5), static_cast<double>(step) * std::pow(16, -1.5)));
  EXPECT_DOUBLE_EQ(learning_rate(schedule_of(Schedule::inverse_sqrt, 100, 0), 4), 0.2);
}

TEST(LearningRate, AWarmUpLongerThanTheRunIsAllThereIs) {
  EXPECT_DOUBLE_EQ(learning_rate(schedule_of(Schedule::cosine, 10, 20), 10), 0.2);
}

}  // namespace
}  // namespace attend::train
