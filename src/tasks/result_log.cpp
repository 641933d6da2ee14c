#include "attend/tasks/result_log.h"

#include <cmath>
#include <ctime>
#include <fstream>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/json.h"
#include "attend/io/process.h"
#include "bench/machine.h"

namespace attend::tasks {
namespace {

// The first word of what a program prints; empty where it fails.
std::string first_word(const std::vector<std::string>& command) {
  try {
    const io::ProcessResult result = io::run_process(command, ".");
    return result.status == 0 ? result.output.substr(0, result.output.find_first_of(" \n")) : "";
  } catch (const SystemError&) {
    return "";
  }
}

std::string commit_text() {
  const std::string commit = first_word({"git", "rev-parse", "--short=12", "HEAD"});
  if (commit.empty()) return "";
  const bool changed = !first_word({"git", "status", "--porcelain", "--untracked-files=no"}).empty();
  return commit + (changed ? "+changes" : "");
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return format("{:04d}-{:02d}-{:02d}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

// Steps and seconds of the run: the last values that its log holds.
void add_training(io::Value& line, const std::filesystem::path& metrics) {
  std::ifstream file(metrics);
  io::Value last;
  std::int64_t number = 0;
  for (std::string text; std::getline(file, text);) last = io::parse_json(text, format("{}:{}", metrics.string(), ++number));
  if (!last.is_table()) return;
  for (const char* key : {"step", "seconds"})
    if (const io::Value* value = last.find(key)) line.set(std::string_view(key) == "step" ? "steps" : key, *value);
}

io::Value scores_value(const std::map<std::string, double>& scores) {
  io::Value value = io::Value::table();
  for (const auto& [name, score] : scores) value.set(name, score);
  return value;
}

io::Value by_length_value(const std::vector<Evaluation::Length>& rows) {
  io::Value list = io::Value::list();
  for (const Evaluation::Length& row : rows) {
    io::Value value = io::Value::table();
    value.set("from", row.from);
    value.set("to", row.to);
    value.set("items", row.items);
    value.set("metrics", scores_value(row.metrics));
    list.append(value);
  }
  return list;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

io::Value evaluation_value(const Run& run, const Evaluation& evaluation) {
  io::Value value = io::Value::table();
  value.set("recipe", run.recipe.name);
  if (!run.recipe.variant.empty()) value.set("variant", run.recipe.variant);
  value.set("split", evaluation.split);
  value.set("items", evaluation.items);
  value.set("metrics", scores_value(evaluation.metrics));
  if (!evaluation.signatures.empty()) {
    io::Value signatures = io::Value::table();
    for (const auto& [name, signature] : evaluation.signatures) signatures.set(name, signature);
    value.set("signatures", signatures);
  }
  if (evaluation.seconds > 0) {
    io::Value decoding = io::Value::table();
    decoding.set("seconds", rounded(evaluation.seconds));
    decoding.set("items_per_second", rounded(static_cast<double>(evaluation.items) / evaluation.seconds));
    decoding.set("tokens_per_second", rounded(static_cast<double>(evaluation.tokens) / evaluation.seconds));
    value.set("decoding", decoding);
  }
  if (!evaluation.by_length.empty()) value.set("by_length", by_length_value(evaluation.by_length));
  return value;
}

std::filesystem::path log_result(const Run& run, const Evaluation& evaluation, std::int64_t beam, const std::filesystem::path& folder) {
  io::Value line = evaluation_value(run, evaluation);
  const auto set_known = [&line](const char* key, const std::string& text) {
    if (!text.empty()) line.set(key, text);
  };
  line.set("beam", beam);
  if (beam > 1) {
    line.set("length_penalty", run.recipe.decode.length_penalty);
    line.set("coverage_penalty", run.recipe.decode.coverage_penalty);
  }
  if (run.recipe.decode.replace_unknown) line.set("replace_unknown", true);
  line.set("date", today());
  set_known("commit", commit_text());
  set_known("recipe_sha256", first_word({"sha256sum", run.files.recipe().string()}));
  line.set("seed", run.recipe.train.seed);
  add_training(line, run.files.metrics());
  set_known("machine", bench::processor_name());
  line.set("threads", at::get_num_threads());
  line.set("libtorch", TORCH_VERSION);
  set_known("data_sha256", first_word({"sha256sum", evaluation.file}));
  io::make_folders(folder);
  const std::filesystem::path file = folder / (run.recipe.name + ".jsonl");
  io::append_line(file, io::to_json(line));
  return file;
}

}  // namespace attend::tasks
