#include "attend/train/checkpoint.h"

#include <algorithm>
#include <limits>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/json.h"

namespace attend::train {
namespace {

constexpr std::size_t kept_checkpoints = 2;
constexpr auto state_key = "attend.run";

io::Value scores_value(const std::map<std::string, double>& scores) {
  io::Value value = io::Value::table();
  for (const auto& [name, score] : scores) value.set(name, score);
  return value;
}

// JSON has no NaN: a score that was none is null.
std::map<std::string, double> scores_of(const io::Value& value) {
  std::map<std::string, double> scores;
  for (const auto& [name, score] : value.as_table())
    scores[name] = score.is_null() ? std::numeric_limits<double>::quiet_NaN() : score.as_number();
  return scores;
}

std::string to_text(const RunState& state) {
  io::Value value = io::Value::table();
  value.set("step", state.step);
  value.set("epoch", state.epoch);
  value.set("batch", state.batch);
  value.set("reductions", state.reductions);
  value.set("since_gain", state.since_gain);
  value.set("since_reduction", state.since_reduction);
  value.set("loss_sum", state.loss_sum);
  value.set("loss_count", state.loss_count);
  value.set("seconds", state.seconds);
  value.set("metrics_bytes", state.metrics_bytes);
  value.set("validation_due", state.validation_due);
  value.set("finished", state.finished);
  value.set("stopped_early", state.stopped_early);
  if (state.best_score) value.set("best_score", *state.best_score);
  value.set("best", scores_value(state.best));
  value.set("valid", scores_value(state.valid));
  return io::to_json(value);
}

RunState state_of(const io::Value& value) {
  RunState state;
  state.step = value.at("step").as_integer();
  state.epoch = value.at("epoch").as_integer();
  state.batch = value.at("batch").as_integer();
  state.reductions = value.at("reductions").as_integer();
  state.since_gain = value.at("since_gain").as_integer();
  state.since_reduction = value.at("since_reduction").as_integer();
  state.loss_sum = value.at("loss_sum").as_number();
  state.loss_count = value.at("loss_count").as_integer();
  state.seconds = value.at("seconds").as_number();
  state.metrics_bytes = value.at("metrics_bytes").as_integer();
  state.validation_due = value.at("validation_due").as_bool();
  state.finished = value.at("finished").as_bool();
  state.stopped_early = value.at("stopped_early").as_bool();
  if (const io::Value* score = value.find("best_score")) state.best_score = score->as_number();
  state.best = scores_of(value.at("best"));
  state.valid = scores_of(value.at("valid"));
  return state;
}

// Newest first.
std::vector<std::pair<std::int64_t, std::filesystem::path>> checkpoints_in(const std::filesystem::path& folder) {
  std::vector<std::pair<std::int64_t, std::filesystem::path>> found;
  if (!std::filesystem::is_directory(folder)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("step-") || !name.ends_with(".safetensors")) continue;
    const std::string digits = name.substr(5, name.size() - 5 - 12);
    if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    found.emplace_back(std::stoll(digits), entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

Checkpoint load(const std::filesystem::path& path) {
  const io::SafetensorsFile file = io::SafetensorsFile::read(path);
  const std::string& text = file.meta(state_key);
  Checkpoint checkpoint;
  try {
    checkpoint.state = state_of(io::parse_json(text, state_key));
  } catch (const Error& error) {
    throw InvalidData(format("{}: its metadata \"{}\" is not the state of a run: {}", path.string(), state_key, error.what()));
  }
  for (const auto& [name, view] : file.tensors()) {
    if (name == "generator")
      checkpoint.generator = tensor_of(view);
    else if (name.starts_with("model."))
      checkpoint.model[name.substr(6)] = tensor_of(view);
    else
      checkpoint.optimizer[name] = tensor_of(view);
  }
  if (!checkpoint.generator.defined()) throw InvalidData(format("{}: lacks the generator's state; not a checkpoint of a run", path.string()));
  return checkpoint;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  io::make_folders(folder);
  NamedTensors tensors = checkpoint.optimizer;
  for (const auto& [name, tensor] : checkpoint.model) tensors["model." + name] = tensor;
  tensors["generator"] = checkpoint.generator;
  save_tensors(folder / format("step-{:08d}.safetensors", checkpoint.state.step), tensors, {{state_key, to_text(checkpoint.state)}});
  std::size_t kept = 0;
  for (const auto& [step, path] : checkpoints_in(folder)) {
    if (step <= checkpoint.state.step && kept++ < kept_checkpoints) continue;
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
}

std::optional<Checkpoint> load_newest_checkpoint(const std::filesystem::path& folder, std::vector<std::string>& problems) {
  for (const auto& [step, path] : checkpoints_in(folder)) {
    try {
      return load(path);
    } catch (const Error& error) {
      problems.push_back(error.what());
    }
  }
  return std::nullopt;
}

}  // namespace attend::train
