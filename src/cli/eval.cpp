#include "attend/io/file.h"
#include "attend/io/json.h"
#include "attend/tasks/metrics/alignment.h"
#include "attend/tasks/metrics/scores.h"
#include "attend/tasks/result_log.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {

namespace {

// A column for each score, a row for each range of lengths.
std::string by_length_text(const tasks::Evaluation& evaluation) {
  std::string text = format("\n{:<15}{:>9}", "source tokens", "items");
  for (const auto& [name, score] : evaluation.by_length.front().metrics)
    text += format("{:>12}", tasks::find_metric(name).percent ? name + " %" : name);
  text += "\n";
  for (const tasks::Evaluation::Length& row : evaluation.by_length) {
    text += format("{:<15}{:>9}", format("{}-{}", row.from, row.to), row.items);
    for (const auto& [name, score] : row.metrics) text += tasks::find_metric(name).percent ? format("{:>12.1f}", score) : format("{:>12.2f}", score);
    text += "\n";
  }
  return text;
}

tasks::EvaluateOptions options_of(const EvalArguments& arguments, const tasks::Run& run) {
  tasks::EvaluateOptions options;
  options.beam = arguments.beam > 0 ? arguments.beam : run.recipe.decode.beam;
  if (arguments.by_length) options.length_step = arguments.length_step;
  if (!arguments.gold.empty()) {
    options.gold = tasks::read_alignments(arguments.gold);
    options.gold_name = arguments.gold;
  }
  return options;
}

}  // namespace

tasks::Evaluation evaluate_with_progress(tasks::Run& run, const std::string& split, const tasks::EvaluateOptions& options) {
  const InterruptScope interrupts;
  ProgressLine line;
  const auto progress = [&line](std::int64_t done, std::int64_t all) {
    line.show(static_cast<double>(done) / static_cast<double>(all), format("scoring {}/{}", done, all));
  };
  return tasks::evaluate(run, split, options, progress, is_interrupted);
}

std::string score_text(const tasks::Run& run, const tasks::Evaluation& evaluation) {
  std::string text;
  for (const auto& [name, value] : evaluation.metrics) text += tasks::metric_text(name, value) + " ";
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

void apply(const DecodeArguments& arguments, tasks::DecodeOptions& options) {
  if (arguments.length_penalty) options.length_penalty = *arguments.length_penalty;
  if (arguments.coverage_penalty) options.coverage_penalty = *arguments.coverage_penalty;
  if (arguments.replace_unknown) options.replace_unknown = true;
}

void run(const EvalArguments& arguments) {
  tasks::Run run = tasks::open_run(arguments.run);
  apply(arguments.decode, run.recipe.decode);
  const std::string split = arguments.split.empty() ? run.recipe.figure.split : arguments.split;
  const tasks::EvaluateOptions options = options_of(arguments, run);
  const tasks::Evaluation evaluation = evaluate_with_progress(run, split, options);
  if (evaluation.longer_than_trained > 0)
    warn(longer_text(run.recipe, format("{} of {} {}", evaluation.longer_than_trained, evaluation.items, run.recipe.data.items)));
  if (arguments.json) {
    print(io::to_json(tasks::evaluation_value(run, evaluation)) + "\n");
  } else {
    print(score_text(run, evaluation) + "\n");
    const std::string figure = figure_text(run.recipe, evaluation);
    if (!figure.empty()) print("figure: " + figure + "\n");
    if (!evaluation.by_length.empty()) print(by_length_text(evaluation));
  }
  if (arguments.log) {
    const std::filesystem::path file = tasks::log_result(run, evaluation, options.beam, "results");
    if (!arguments.json) print(format("logged in {}\n", file.string()));
  }
}

}  // namespace attend::cli
