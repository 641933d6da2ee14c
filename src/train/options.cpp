#include "attend/train/options.h"

#include <cmath>

namespace attend::train {
namespace {

// Numbers that a float32 holds, the least without loss.
constexpr double largest_number = 3e38, least_number = 1e-37;

void at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least) throw InvalidArgument(format("train.{}: expected at least {}, got {}", name, least, value));
}

void within(const char* name, double value, double low, double high) {
  if (!(value >= low && value < high))
    throw InvalidArgument(format("train.{}: expected a number from {} to below {}, got {}", name, low, high, value));
}

}  // namespace

void check(const TrainOptions& options) {
  at_least("steps", options.steps, 1);
  at_least("batch", options.batch, 1);
  at_least("warmup", options.warmup, 0);
  at_least("plateau_patience", options.plateau_patience, 1);
  at_least("valid_every", options.valid_every, 1);
  at_least("valid_items", options.valid_items, 0);
  at_least("halve_after", options.halve_after, 0);
  at_least("halve_every", options.halve_every, 1);
  at_least("patience", options.patience, 0);
  at_least("checkpoint_every", options.checkpoint_every, 1);
  at_least("log_every", options.log_every, 1);
  within("beta1", options.beta1, 0, 1);
  if (!(options.learning_rate > 0 && std::isfinite(options.learning_rate)))
    throw InvalidArgument(format("train.learning_rate: expected a positive number, got {}", options.learning_rate));
  // Adam's first step is learning_rate / (1 − beta1) times what it is made from
  const double largest_rate = options.optimizer == OptimizerName::adam ? largest_number * (1 - options.beta1) : largest_number;
  if (options.learning_rate > largest_rate)
    throw InvalidArgument(format("train.learning_rate: expected at most {:g}, beyond which an update leaves the range of its numbers, got {:g}; Adam learns with "
                                 "0.0001 to 0.01, SGD with 0.01 to 1",
                                 largest_rate, options.learning_rate));
  if (!(options.clip >= 0 && std::isfinite(options.clip)))
    throw InvalidArgument(format("train.clip: expected 0 or a positive number, got {}", options.clip));
  if (!(options.epsilon > 0 && std::isfinite(options.epsilon)))
    throw InvalidArgument(format("train.epsilon: expected a positive number, got {}", options.epsilon));
  if (options.epsilon < least_number || options.epsilon > largest_number)
    throw InvalidArgument(format("train.epsilon: expected a number from {:g} to {:g}, got {:g}", least_number, largest_number, options.epsilon));
  within("plateau_factor", options.plateau_factor, 0, 1);
  within("momentum", options.momentum, 0, 1);
  within("beta2", options.beta2, 0, 1);
  within("weight_decay", options.weight_decay, 0, 1);
  within("averaging", options.averaging, 0, 1);
}

}  // namespace attend::train
