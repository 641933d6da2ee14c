// The training loop: steps, validation, checkpoints, resuming to the bit.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/base/error.h"
#include "attend/core/libtorch.h"
#include "attend/models/sequence_to_sequence.h"
#include "attend/train/options.h"

namespace attend::train {

// A loss or gradient that is not a number. The message says at which step and what to try; checkpoints are untouched.
class ATTEND_API Diverged : public Error {
 public:
  using Error::Error;
  ~Diverged() override;
};

// What is known of a training run at one moment.
struct Progress {
  enum class Phase { training, validating } phase = Phase::training;
  std::int64_t step = 0, steps = 0, epoch = 0;
  double loss = 0;           // mean since the last log line
  double learning_rate = 0;
  double items_per_second = 0;
  double seconds = 0, seconds_left = 0;
  std::map<std::string, double> valid;  // the newest scores; empty before the first validation
};

// What is trained, as functions: the trainer knows neither data nor task.
struct Training {
  torch::nn::Module* model = nullptr;
  // Begins an epoch, from 0; → its number of batches, at least 1. Depends on nothing but the seed and the epoch.
  std::function<std::int64_t(std::int64_t epoch)> begin_epoch;
  // Losses of one batch of the epoch that was begun, and how many examples it holds.
  struct BatchLosses {
    std::vector<models::LossTerm> losses;
    std::int64_t items = 0;
  };
  std::function<BatchLosses(std::int64_t batch)> batch;
  // Scores of the model as it is, in evaluation mode; draws no random numbers. `stop` is asked now and then; once it is true the result doesn't count.
  std::function<std::map<std::string, double>(const std::function<bool()>& stop)> validate;
  // The score that decides which model is the best, and whether less is better.
  std::string best_by = "loss";
  bool less_is_better = true;
  // Writes the model as it is to its place (the best so far).
  std::function<void()> save_best;
};

struct Callbacks {
  std::function<void(const Progress&)> progress;  // may be empty
  std::function<bool()> stop;                     // may be empty; true: save a checkpoint and return
  std::function<void(const std::string&)> problem;  // may be empty; gets what was wrong with a checkpoint that is passed over
};

struct Outcome {
  bool finished = false;       // false: stopped by `stop`
  bool stopped_early = false;  // patience ran out
  std::int64_t steps = 0;
  double seconds = 0;  // of training, over all sessions
  std::map<std::string, double> best;
};

// Trains in `folder`: writes checkpoints/step-N.safetensors (the last two are kept) and metrics.jsonl. With `resume` it goes on from the newest checkpoint
// that is whole, bit for bit as if nothing had happened, on the same machine with the same number of threads; without one it begins.
// Exceptions: Diverged; SystemError for a disk that is full (the checkpoints before stay); InvalidData for a checkpoint of another model.
ATTEND_API Outcome train(const Training& training, const TrainOptions& options, const std::filesystem::path& folder, bool resume,
                         const Callbacks& callbacks = {});

}  // namespace attend::train
