// The learning rate of each step.
#pragma once

#include "attend/base/api.h"
#include "attend/train/options.h"

namespace attend::train {

// rate(step) for step 1 … steps:
//   warm-up   learning_rate · step / warmup                              while step ≤ warmup
//   constant  learning_rate
//   cosine    learning_rate · (1 + cos(π · (step − warmup) / (steps − warmup + 1))) / 2
//   plateau   learning_rate · plateau_factor^reductions
ATTEND_API double learning_rate(const TrainOptions& options, std::int64_t step, std::int64_t reductions = 0);

}  // namespace attend::train
