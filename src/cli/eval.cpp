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

std::string longer_text(const tasks::Recipe& recipe, const std::string& sources) {
  std::string limits = format("{} tokens (data.longest)", recipe.data.longest);
  if (recipe.data.longest_words > 0) limits += format(" or {} words (data.longest_words)", recipe.data.longest_words);
  return format("{}: longer than the {} that training was limited to; answers may be worse", sources, limits);
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

void run(const EvalArguments& arguments) {
  tasks::Run run = tasks::open_run(arguments.run);
  const std::string split = arguments.split.empty() ? run.recipe.figure.split : arguments.split;
  const std::int64_t beam = arguments.beam > 0 ? arguments.beam : run.recipe.decode.beam;
  const tasks::Evaluation evaluation = evaluate_with_progress(run, split, beam);
  if (evaluation.longer_than_trained > 0)
    warn(longer_text(run.recipe, format("{} of {} {}", evaluation.longer_than_trained, evaluation.items, run.recipe.data.items)));
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
