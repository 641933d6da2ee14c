// A trained model of the task sequence-to-sequence, applied to texts: its answers, and how probable it finds given ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/pairs.h"
#include "attend/tasks/run.h"
#include "attend/view/record.h"

namespace attend::tasks {

struct Prediction {
  struct Output {
    std::string text;
    std::vector<std::string> tokens;
    double score = 0;      // log-probability / length penalty + coverage penalty
    Tensor alignment;      // float [target, source] where it was wanted; rows sum to 1
  };
  std::vector<std::string> source;  // tokens as the model saw them
  std::vector<Output> outputs;      // best first; none for an empty line
  bool longer_than_trained = false;  // than data.longest or data.longest_words let into training
};

struct PredictOptions {
  std::int64_t beam = 1;
  std::int64_t n_best = 1;
  bool alignments = false;
};

// Answers of a trained model to lines of text, in their order, by search as run.recipe.decode says. An empty line has no outputs. InvalidArgument for options out of
// range, and for decode.replace_unknown or coverage_penalty with a model that doesn't align target and source.
ATTEND_API std::vector<Prediction> predict(Run& run, const std::vector<std::string>& lines, const PredictOptions& options = {});

// An example of a recording: the best output's weights, or the n-th's.
ATTEND_API view::Example record_of(const Run& run, const Prediction& prediction, const std::string& id);

// The pairs of a split of the run's data ("train", "valid", "test"), or of a TSV file. Where the recipe names no validation data, "valid" is what training set aside.
struct Split {
  std::filesystem::path file;  // the first, where there are two
  std::vector<data::TextPair> pairs;
};
// InvalidArgument where the recipe names no such data; InvalidData for a file that isn't pairs of texts or holds none; SystemError where it can't be read.
ATTEND_API Split read_split(const Run& run, const std::string& split);

// A target's tokens, as the model would write them.
ATTEND_API std::vector<std::string> target_tokens(const Run& run, std::string_view target);

// Pairs as a model reads them.
struct PairBatch {
  models::TokenBatch source, target;
};

// The first pairs of a split, `most` at the most. Throws what read_split() throws.
ATTEND_API PairBatch read_pairs(const Run& run, const std::string& split, std::int64_t most);
// Lines, with the model's own answers as their targets; empty lines are left out. InvalidData where there is no other.
ATTEND_API PairBatch answer_lines(Run& run, const std::vector<std::string>& lines);

// How a target looks to the model when it is read along its own tokens (teacher forcing).
struct Likelihood {
  double negative_log = 0;         // −ln p of the target, its end included
  std::int64_t tokens = 0;         // the end included
  std::int64_t source_tokens = 0;
  Tensor alignment;                // float [target, source and its end] where it was wanted and the model aligns
};

// Each pair's, in their order. Alignments cost a step of the decoder for each token.
ATTEND_API std::vector<Likelihood> likelihoods(Run& run, const std::vector<data::TextPair>& pairs, bool alignments = false);

}  // namespace attend::tasks
