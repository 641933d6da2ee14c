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
  value.set("state", write_options(state));
  value.set("best", scores_value(state.best));
  value.set("valid", scores_value(state.valid));
  return io::to_json(value);
}

RunState state_of(const io::Value& value) {
  RunState state;
  read_options(state, value.at("state"), state_key);
  const io::Value complete = write_options(state);
  for (const auto& [key, written] : complete.as_table()) value.at("state").at(key);  // throws where one is missing
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
