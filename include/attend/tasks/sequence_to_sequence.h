// The task sequence-to-sequence on texts: training; prediction.h applies what was trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/tasks/recipe.h"
#include "attend/train/trainer.h"

namespace attend::tasks {

// What a training run read, for the person who started it.
struct TrainingData {
  std::int64_t train = 0, valid = 0;        // pairs
  std::int64_t too_long = 0, too_many_words = 0, empty = 0;  // left out
  std::int64_t source_tokens = 0, target_tokens = 0;  // sizes of the vocabularies
  std::int64_t parameters = 0;
  std::string fingerprint;  // of the tokens of train and valid
};

struct TrainCallbacks : train::Callbacks {
  std::function<void(const TrainingData&)> began;  // may be empty
};

// Trains the recipe's model in `folder` (made where it is missing, locked while training); writes everything of a run folder. With `resume` it goes
// on where the folder stands; the recipe must be the folder's own, else InvalidArgument that names the first difference. Without it the folder must not hold a run: SystemError.
ATTEND_API train::Outcome train_run(const Recipe& recipe, const std::filesystem::path& folder, bool resume, const TrainCallbacks& callbacks = {});

}  // namespace attend::tasks
