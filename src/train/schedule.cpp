#include "attend/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attend::train {

double learning_rate(const TrainOptions& options, std::int64_t step, std::int64_t reductions) {
  if (step <= options.warmup) return options.learning_rate * static_cast<double>(step) / static_cast<double>(options.warmup);
  switch (options.schedule) {
    case Schedule::constant: return options.learning_rate;
    case Schedule::cosine: {
      const double done = static_cast<double>(step - options.warmup) / static_cast<double>(options.steps - options.warmup + 1);
      return options.learning_rate * (1 + std::cos(std::numbers::pi * std::min(done, 1.0))) / 2;
    }
    case Schedule::plateau: return options.learning_rate * std::pow(options.plateau_factor, static_cast<double>(reductions));
    case Schedule::halving: {
      const std::int64_t beyond = std::max<std::int64_t>(step - options.halve_after, 0);
      return options.learning_rate * std::pow(0.5, static_cast<double>((beyond + options.halve_every - 1) / options.halve_every));
    }
    case Schedule::inverse_sqrt:
      return options.learning_rate * std::sqrt(static_cast<double>(std::max<std::int64_t>(options.warmup, 1)) / static_cast<double>(step));
  }
  return options.learning_rate;
}

}  // namespace attend::train
