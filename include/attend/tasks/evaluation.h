// Scoring a run on held-out data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/tasks/metrics/alignment.h"
#include "attend/tasks/run.h"

namespace attend::tasks {

struct EvaluateOptions {
  std::int64_t beam = 1;
  // Tokens of source (of sub-words: words) that a row of the scores by length spans: 10 for 1–10, 11–20, …; 0: no such rows.
  std::int64_t length_step = 0;
  // Gold alignments, one for each pair of the split: the attention's error rate AER is reported, too.
  std::optional<std::vector<Alignment>> gold = {};
  std::string gold_name = "the gold alignments";  // for messages
};

struct Evaluation {
  // Items whose sources have `from` to `to` tokens; words, where tokens are sub-words.
  struct Length {
    std::int64_t from = 0, to = 0, items = 0;
    std::map<std::string, double> metrics = {};
  };

  std::string split, file;
  std::int64_t items = 0;
  std::map<std::string, double> metrics;               // as metrics_of() the recipe
  std::map<std::string, std::string> signatures = {};  // of those that have one
  std::vector<Length> by_length = {};                  // the shortest first, none without items
  // What the search alone took, and the target tokens that it wrote.
  double seconds = 0;
  std::int64_t tokens = 0;
  std::int64_t longer_than_trained = 0;  // items whose source is longer than data.longest or data.longest_words let into training
};

// Scores a run on a split of its data ("train", "valid", "test") or on a TSV file: each distinct source is answered once and compared with
// all its targets (normalised to NFC, as the model's are). Perplexity counts each pair. A source without a token stands with those of one
// token. AER takes, for each token of the target as it stands in the data, the source token that the attention's mean over its heads weighs
// most.
//
// `progress` (may be empty) gets the items done and their number; `stop` (may be empty) ends it with SystemError.
//
// InvalidArgument for options out of range, and for gold alignments of a model that aligns nothing; InvalidData where they don't fit the
// pairs; see read_split() for more.
ATTEND_API Evaluation evaluate(Run& run, const std::string& split, const EvaluateOptions& options,
                               const std::function<void(std::int64_t, std::int64_t)>& progress = {},
                               const std::function<bool()>& stop = {});

// The same with this beam.
inline Evaluation evaluate(Run& run, const std::string& split, std::int64_t beam,
                           const std::function<void(std::int64_t, std::int64_t)>& progress = {}, const std::function<bool()>& stop = {}) {
  EvaluateOptions options;
  options.beam = beam;
  return evaluate(run, split, options, progress, stop);
}

}  // namespace attend::tasks
