// Checkpoints: all that training needs to go on as if nothing had happened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"
#include "attend/core/tensor_file.h"

namespace attend::train {

// Where a run stands. Numbers that are written as text keep every bit.
struct RunState {
  std::int64_t step = 0;               // steps done
  std::int64_t epoch = 0, batch = 0;   // the next batch
  std::int64_t reductions = 0;         // of the learning rate, by schedule "plateau"
  std::int64_t since_gain = 0;         // validations since the best one
  std::int64_t since_reduction = 0;    // validations without gain since the rate was reduced
  double loss_sum = 0;                 // since the last log line
  std::int64_t loss_count = 0;
  double seconds = 0;
  std::int64_t metrics_bytes = 0;      // length of metrics.jsonl
  bool validation_due = false;         // the step is done, its validation is not
  bool finished = false, stopped_early = false;
  std::optional<double> best_score;
  std::map<std::string, double> best, valid;

  // All but the two maps.
  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("step", self.step, "");
    visitor("epoch", self.epoch, "");
    visitor("batch", self.batch, "");
    visitor("reductions", self.reductions, "");
    visitor("since_gain", self.since_gain, "");
    visitor("since_reduction", self.since_reduction, "");
    visitor("loss_sum", self.loss_sum, "");
    visitor("loss_count", self.loss_count, "");
    visitor("seconds", self.seconds, "");
    visitor("metrics_bytes", self.metrics_bytes, "");
    visitor("validation_due", self.validation_due, "");
    visitor("finished", self.finished, "");
    visitor("stopped_early", self.stopped_early, "");
    visitor("best_score", self.best_score, "");
  }
};

struct Checkpoint {
  RunState state;
  NamedTensors model, optimizer;
  Tensor generator;  // of libtorch's default generator on the CPU
};

// Writes FOLDER/step-N.safetensors atomically and then removes all but this one and the one before it: older ones, and those of later
// steps, which were passed over as damaged when the run went back.
ATTEND_API void save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

// The newest checkpoint of a folder that can be read; what was wrong with newer ones is appended to `problems`. Empty where there is none.
ATTEND_API std::optional<Checkpoint> load_newest_checkpoint(const std::filesystem::path& folder, std::vector<std::string>& problems);

}  // namespace attend::train
