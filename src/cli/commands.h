// The commands of the tool: each reads its arguments, calls the library once or twice, and says what came of it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "attend/base/error.h"
#include "attend/tasks/evaluation.h"
#include "attend/tasks/prediction.h"
#include "attend/tasks/sequence_to_sequence.h"
#include "attend/tasks/systems.h"
#include "cli/arguments.h"

namespace attend::cli {

// What was asked for can't be, whatever the files hold: the tool exits with `wrong_call`.
class WrongCall : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

void run(const QuickstartArguments& arguments);
void run(const DataArguments& arguments);
void run(const TrainArguments& arguments);
void run(const EvalArguments& arguments);
void run(const PredictArguments& arguments);
void run(const CheckArguments& arguments);
void run(const ShowArguments& arguments);
void run(const ViewArguments& arguments);
void run(const SystemsArguments& arguments);
void run(const BenchArguments& arguments);

// Search as the line says, in place of what the recipe says.
void apply(const DecodeArguments& arguments, tasks::DecodeOptions& options);

// Trains with a progress line on a terminal. → false where it was interrupted (everything is saved then).
bool train_with_progress(const tasks::Recipe& recipe, const std::filesystem::path& folder, bool resume);

// Scores with a progress line on a terminal. → "PER 9.1 % WER 37.2 % perplexity 1.41 on 11387 held-out words"
tasks::Evaluation evaluate_with_progress(tasks::Run& run, const std::string& split, const tasks::EvaluateOptions& options);
std::string score_text(const tasks::Run& run, const tasks::Evaluation& evaluation);
// What to say of `sources` that are longer than those of training: "3 lines", "12 of 40 sentences".
std::string longer_text(const tasks::Recipe& recipe, const std::string& sources);
// The recording that is meant: a .attn file, or the samples of a run folder. SystemError where a folder has none.
std::filesystem::path recording_of(const std::string& file_or_run);

// What a data set is: source, licence, counts.
void print_source(const io::Value& source, const std::filesystem::path& folder);

// "at most 9.5 PER": reached or missed; empty where the recipe names no figure for this score.
std::string figure_text(const tasks::Recipe& recipe, const tasks::Evaluation& evaluation);

}  // namespace attend::cli
