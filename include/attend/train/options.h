// The [train] part of a recipe.
#pragma once

#include <cstdint>

#include "attend/core/options.h"

namespace attend {
namespace train {

// How gradients change the parameters.
enum class OptimizerName { adam, sgd };

// How the learning rate changes. All warm up linearly over `warmup` steps first.
enum class Schedule {
  constant,
  cosine,   // from the learning rate to 0 at the last step, along half a cosine (Loshchilov 2017)
  plateau,  // times `plateau_factor` when `plateau_patience` validations in a row brought nothing better
  halving,  // half of it after `halve_after` steps, and half of that after each `halve_every` more (Luong 2015 §4.1)
  inverse_sqrt,  // falls with the square root of the step after the warm-up, which reaches the learning rate itself (Vaswani 2017 §5.3)
};

}  // namespace train

template <>
struct EnumNames<train::OptimizerName> {
  static constexpr EnumName<train::OptimizerName> values[] = {{train::OptimizerName::adam, "adam"}, {train::OptimizerName::sgd, "sgd"}};
};
template <>
struct EnumNames<train::Schedule> {
  static constexpr EnumName<train::Schedule> values[] = {{train::Schedule::constant, "constant"},
                                                         {train::Schedule::cosine, "cosine"},
                                                         {train::Schedule::plateau, "plateau"},
                                                         {train::Schedule::halving, "halving"},
                                                         {train::Schedule::inverse_sqrt, "inverse-sqrt"}};
};

namespace train {

struct TrainOptions {
  std::int64_t seed = 1;
  std::int64_t steps = 10000;
  std::int64_t batch = 64;
  OptimizerName optimizer = OptimizerName::adam;
  double learning_rate = 1e-3;
  Schedule schedule = Schedule::cosine;
  std::int64_t warmup = 0;
  double plateau_factor = 0.5;
  std::int64_t plateau_patience = 3;
  std::int64_t halve_after = 5000, halve_every = 1000;
  double clip = 5.0;
  double momentum = 0.0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.0;
  double averaging = 0.0;
  std::int64_t valid_every = 1000;
  std::int64_t valid_items = 0;
  std::int64_t patience = 0;
  std::int64_t checkpoint_every = 1000;
  std::int64_t log_every = 100;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("seed", self.seed, "what all chance comes from: the same seed gives the same model");
    visitor("steps", self.steps, "updates of the parameters");
    visitor("batch", self.batch, "examples in an update");
    visitor("optimizer", self.optimizer, "Adam (Kingma 2015), or stochastic gradient descent");
    visitor("learning_rate", self.learning_rate, "how far an update goes, after the warm-up");
    visitor("schedule", self.schedule, "how the learning rate changes");
    visitor("warmup", self.warmup, "steps over which the learning rate grows from 0");
    visitor("plateau_factor", self.plateau_factor, "what schedule \"plateau\" multiplies the learning rate by");
    visitor("plateau_patience", self.plateau_patience, "validations without gain before it does");
    visitor("halve_after", self.halve_after, "steps after which schedule \"halving\" halves the learning rate for the first time");
    visitor("halve_every", self.halve_every, "steps after which it does so again");
    visitor("clip", self.clip, "largest norm of all gradients together; 0: any");
    visitor("momentum", self.momentum, "what SGD keeps of its last update; 0: nothing");
    visitor("beta1", self.beta1, "Adam's decay of the mean gradient");
    visitor("beta2", self.beta2, "Adam's decay of the mean squared gradient");
    visitor("epsilon", self.epsilon, "Adam's summand in the denominator");
    visitor("weight_decay", self.weight_decay, "decay of all parameters per update, in the gradient");
    visitor("averaging", self.averaging, "decay of the running average of the parameters that is validated and kept; 0: none");
    visitor("valid_every", self.valid_every, "steps between validations; the last step always has one");
    visitor("valid_items", self.valid_items, "examples that a validation decodes, the first ones; 0: all");
    visitor("patience", self.patience, "validations without gain before training stops early; 0: never");
    visitor("checkpoint_every", self.checkpoint_every, "steps between checkpoints");
    visitor("log_every", self.log_every, "steps between lines of metrics.jsonl");
  }
};

// InvalidArgument "train.NAME: expected …" for a value out of range.
ATTEND_API void check(const TrainOptions& options);

}  // namespace train
}  // namespace attend
