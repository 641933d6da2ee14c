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
//   halving   learning_rate / 2^⌈(step − halve_after) / halve_every⌉       where step > halve_after, else learning_rate
//   inverse-sqrt  learning_rate · √(max(warmup, 1) / step)
// Luong 2015 §4.1 halves after 5 of 10 epochs, then after each. Vaswani 2017 §5.3 gives the peak as 1 / √(model width · warmup); here it is learning_rate.
ATTEND_API double learning_rate(const TrainOptions& options, std::int64_t step, std::int64_t reductions = 0);

}  // namespace attend::train
