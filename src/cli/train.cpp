#include "cli/blas.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

std::string scores_text(const std::map<std::string, double>& scores) {
  std::string text;
  for (const auto& [name, score] : scores) text += format("{}{} {:.2f}", text.empty() ? "" : "  ", name, score);
  return text;
}

std::string progress_text(const train::Progress& progress) {
  std::string text = format("step {}/{}  loss {:.3f}", progress.step, progress.steps, progress.loss);
  if (progress.items_per_second > 0) text += format("  {:.0f} pairs/s", progress.items_per_second);
  text += format("  {} left", duration_text(progress.seconds_left));
  if (progress.phase == train::Progress::Phase::validating) text += "  validating";
  if (!progress.valid.empty()) text += "  valid " + scores_text(progress.valid);
  return text;
}

}  // namespace

bool train_with_progress(const tasks::Recipe& recipe, const std::filesystem::path& folder, bool resume) {
  const Blas blas = find_blas();
  if (!blas.advice.empty()) warn(blas.advice);
  const InterruptScope interrupts;
  ProgressLine line;
  tasks::TrainCallbacks callbacks;
  callbacks.stop = is_interrupted;
  callbacks.progress = [&line](const train::Progress& progress) {
    if (line.is_due())
      line.show(static_cast<double>(progress.step) / static_cast<double>(std::max<std::int64_t>(progress.steps, 1)), progress_text(progress));
  };
  callbacks.problem = [&line](const std::string& problem) {
    line.clear();
    warn(problem);
  };
  callbacks.began = [](const tasks::TrainingData& data) {
    std::string left_out;
    if (data.too_long > 0) left_out += format(", {} left out: longer than data.longest", data.too_long);
    if (data.too_many_words > 0) left_out += format(", {} left out: more words than data.longest_words", data.too_many_words);
    if (data.empty > 0) left_out += format(", {} empty lines", data.empty);
    print(format("data      {} pairs to train on, {} for validation{}\n", data.train, data.valid, left_out));
    print(format("model     {} parameters, {} source and {} target tokens\n", data.parameters, data.source_tokens, data.target_tokens));
    flush_output();
  };
  const train::Outcome outcome = tasks::train_run(recipe, folder, resume, callbacks);
  line.clear();
  if (!outcome.finished) {
    warn(format("stopped at step {}; all is saved: go on with --resume --out {}", outcome.steps, folder.string()));
    return false;
  }
  print(format("trained   {} steps in {}{}; best on validation: {}\n", outcome.steps, duration_text(outcome.seconds),
               outcome.stopped_early ? " (stopped early)" : "", scores_text(outcome.best)));
  print(format("run       {}\n", folder.string()));
  return true;
}

void run(const TrainArguments& arguments) {
  if (arguments.list_settings) {
    print(tasks::settings_table());
    return;
  }
  const tasks::Recipe recipe = tasks::read_recipe(tasks::find_recipe(arguments.recipe), arguments.settings);
  const std::filesystem::path folder = arguments.out.empty() ? std::filesystem::path("runs") / recipe.name : std::filesystem::path(arguments.out);
  train_with_progress(recipe, folder, arguments.resume);
}

}  // namespace attend::cli
