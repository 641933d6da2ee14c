#include "attend/io/file.h"
#include "attend/io/json.h"
#include "attend/tasks/result_log.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {

tasks::Evaluation evaluate_with_progress(tasks::Run& run, const std::string& split, std::int64_t beam) {
  const InterruptScope interrupts;
  ProgressLine line;
  const auto progress = [&line](std::int64_t done, std::int64_t all) {
    line.show(static_cast<double>(done) / static_cast<double>(all), format("scoring {}/{}", done, all));
  };
  return tasks::evaluate(run, split, beam, progress, is_interrupted);
}

std::string score_text(const tasks::Run& run, const tasks::Evaluation& evaluation) {
  std::string text;
  for (const auto& [name, value] : evaluation.metrics) text += format("{} {:.1f} % ", name, value);
  const bool held_out = evaluation.split == "test" || evaluation.split == "valid";
  return text + format("on {} {}{}", evaluation.items, held_out ? "held-out " : "", run.recipe.data.items);
}

std::string figure_text(const tasks::Recipe& recipe, const tasks::Evaluation& evaluation) {
  const auto score = evaluation.metrics.find(recipe.figure.metric);
  if (score == evaluation.metrics.end() || evaluation.split != recipe.figure.split) return "";
  const auto verdict = [](bool reached) { return reached ? "reached" : "missed"; };
  std::string text;
  if (recipe.figure.at_most)
    text += format("at most {} {}: {}", *recipe.figure.at_most, score->first, verdict(score->second <= *recipe.figure.at_most));
  if (recipe.figure.at_least)
    text += format("{}at least {} {}: {}", text.empty() ? "" : ", ", *recipe.figure.at_least, score->first,
                   verdict(score->second >= *recipe.figure.at_least));
  return text;
}

void apply(const DecodeArguments& arguments, tasks::DecodeOptions& options) {
  if (arguments.length_penalty) options.length_penalty = *arguments.length_penalty;
  if (arguments.coverage_penalty) options.coverage_penalty = *arguments.coverage_penalty;
  if (arguments.replace_unknown) options.replace_unknown = true;
}

void run(const EvalArguments& arguments) {
  tasks::Run run = tasks::open_run(arguments.run);
  apply(arguments.decode, run.recipe.decode);
  const std::string split = arguments.split.empty() ? run.recipe.figure.split : arguments.split;
  const std::int64_t beam = arguments.beam > 0 ? arguments.beam : run.recipe.decode.beam;
  const tasks::Evaluation evaluation = evaluate_with_progress(run, split, beam);
  if (arguments.json) {
    print(io::to_json(tasks::evaluation_value(run, evaluation)) + "\n");
  } else {
    print(score_text(run, evaluation) + "\n");
    const std::string figure = figure_text(run.recipe, evaluation);
    if (!figure.empty()) print("figure: " + figure + "\n");
  }
  if (arguments.log) {
    const std::filesystem::path file = tasks::log_result(run, evaluation, beam, "results");
    if (!arguments.json) print(format("logged in {}\n", file.string()));
  }
}

}  // namespace attend::cli
