#include "attend/tasks/recipe.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "attend/base/edit_distance.h"
#include "attend/io/toml.h"
#include "attend/tasks/metrics/scores.h"

namespace attend::tasks {
namespace {

std::vector<std::string> recipes_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void apply_setting(io::Value& table, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  std::string key = setting.substr(0, equals == std::string::npos ? 0 : equals);
  key.erase(key.find_last_not_of(' ') + 1);
  if (key.empty()) throw InvalidArgument(format("--set {}: expected key=value, for example --set train.steps=500", setting));
  table.set_path(key, io::parse_toml_value(setting.substr(equals + 1)));
}

void check_metrics(const Recipe& recipe, const std::function<std::string(const std::string&)>& place) {
  const auto at = [&](const std::string& path, const auto& check) {
    try {
      check();
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(format("{}: {}", place(path), error.what()));
    }
  };
  const auto within = [&](const std::string& prefix, const auto& check) {
    try {
      check();
    } catch (const InvalidArgument& error) {
      const std::string message = error.what();  // "NAME: …"
      const std::size_t colon = message.find(':');
      throw InvalidArgument(place(prefix + message.substr(0, colon)) + message.substr(colon));
    }
  };
  const auto known = [](const std::string& name) {
    find_metric(name);
    if (name == "AER") throw InvalidArgument("AER needs a gold file: it is measured by `attend eval RUN --alignments FILE`, and not in training");
  };
  at("figure.metric", [&] { known(recipe.figure.metric); });
  at("eval.metrics", [&] { for (const std::string& name : recipe.eval.metrics) known(name); });
  within("eval.bleu.", [&] { check(recipe.eval.bleu); });
  within("eval.chrf.", [&] { check(recipe.eval.chrf); });
}

// `table` is what the recipe was read from: it knows the lines.
void check(const Recipe& recipe, const io::Value& table, const std::string& source) {
  const auto place = [&](const std::string& path) {
    const io::Value* value = table.find_path(path);
    return options_detail::place_text(source, value == nullptr ? 0 : value->line(), path);
  };
  const DataOptions& data = recipe.data;
  if (data.corpus.empty() && data.train.empty())
    throw InvalidArgument(format("{}: expected a corpus (made by `attend data`) or the paths of train", place("data")));
  for (const auto& [name, files] : {std::pair("data.train", data.train), std::pair("data.valid", data.valid), std::pair("data.test", data.test)})
    if (files.size() > 2) throw InvalidArgument(format("{}: expected one TSV file or two parallel files, got {} files", place(name), files.size()));
  const auto positive = [&](const char* name, std::int64_t value) {
    if (value < 1) throw InvalidArgument(format("{}: expected at least 1, got {}", place(name), value));
  };
  positive("data.least_count", data.least_count);
  positive("data.largest", data.largest);
  positive("data.longest", data.longest);
  if (data.longest_words < 0) throw InvalidArgument(format("{}: expected 0 or more, got {}", place("data.longest_words"), data.longest_words));
  if (data.vocabulary_size < 5)
    throw InvalidArgument(format("{}: expected at least 5 (four tokens are special), got {}", place("data.vocabulary_size"), data.vocabulary_size));
  if (!(data.character_coverage > 0 && data.character_coverage <= 1))
    throw InvalidArgument(format("{}: expected a share above 0, at most 1, got {}", place("data.character_coverage"), data.character_coverage));
  if (data.shared_vocabulary && data.source != data.target)
    throw InvalidArgument(format("{}: expected both sides to be cut alike, got source = \"{}\" and target = \"{}\"", place("data.shared_vocabulary"),
                                 name_of(data.source), name_of(data.target)));
  positive("decode.beam", recipe.decode.beam);
  positive("decode.length_extra", recipe.decode.length_extra);
  const auto within = [&](const char* name, double value, double most) {
    if (!(value >= 0 && value <= most)) throw InvalidArgument(format("{}: expected a number from 0 to {}, got {}", place(name), most, value));
  };
  within("decode.length_factor", recipe.decode.length_factor, 1000);
  within("decode.length_penalty", recipe.decode.length_penalty, 100);
  within("decode.coverage_penalty", recipe.decode.coverage_penalty, 100);
  check_metrics(recipe, place);
  try {
    train::check(recipe.train);
  } catch (const InvalidArgument& error) {
    const std::string message = error.what();  // "train.NAME: …"
    const std::size_t colon = message.find(':');
    throw InvalidArgument(place(message.substr(0, colon)) + message.substr(colon));
  }
}

}  // namespace

std::filesystem::path find_recipe(const std::string& name_or_path) {
  namespace fs = std::filesystem;
  if (fs::is_regular_file(name_or_path)) return name_or_path;
  std::vector<fs::path> folders = {"recipes"};
  if (!share_folder().empty()) folders.push_back(share_folder() / "recipes");
  std::vector<std::string> known;
  std::string looked = name_or_path;
  for (const fs::path& folder : folders) {
    const fs::path candidate = folder / (name_or_path + ".toml");
    if (fs::is_regular_file(candidate)) return candidate;
    looked += ", " + candidate.string();
    for (const std::string& name : recipes_in(folder))
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "; there are: " : ", ") + name;
  throw SystemError(format("recipe {}: not found (looked for {}){}{}", name_or_path, looked, did_you_mean(name_or_path, known), list));
}

Recipe read_recipe(const std::filesystem::path& file, const std::vector<std::string>& settings) {
  io::Value table = io::read_toml(file);
  const std::string source = file.string();
  const io::Value* version = table.find("format");
  if (version == nullptr || !version->is_integer() || version->as_integer() < 1 || version->as_integer() > recipe_format)
    throw InvalidData(format("{}: expected format = {}, got {}; {}", version == nullptr ? source : format("{}:{}", source, version->line()), recipe_format,
                             version == nullptr          ? "no format"
                             : version->is_integer() ? std::to_string(version->as_integer())
                                                         : version->kind(),
                             version != nullptr && version->is_integer() && version->as_integer() > recipe_format
                                 ? "it was written for a newer version of attend"
                                 : "is this a recipe?"));
  for (const std::string& setting : settings) apply_setting(table, setting);
  Recipe recipe;
  read_options(recipe, table, source);
  if (recipe.name.empty()) recipe.name = file.stem().string();
  recipe.figure.metric = figure_metric(recipe);
  check(recipe, table, source);
  return recipe;
}

std::string figure_metric(const Recipe& recipe) {
  if (!recipe.figure.metric.empty()) return recipe.figure.metric;
  if (!recipe.eval.metrics.empty()) return recipe.eval.metrics.front();
  return recipe.data.target == data::Unit::symbols ? "PER" : "chrF";  // BLEU may be 0 for long, and then nothing is the best
}

std::vector<std::string> metrics_of(const Recipe& recipe) {
  std::vector<std::string> wanted = recipe.eval.metrics;
  if (wanted.empty())
    wanted = recipe.data.target == data::Unit::symbols ? std::vector<std::string>{"PER", "WER", "perplexity"}
                                                       : std::vector<std::string>{"BLEU", "chrF", "perplexity"};
  const std::string figure = figure_metric(recipe);
  if (std::find(wanted.begin(), wanted.end(), figure) == wanted.end()) wanted.insert(wanted.begin(), figure);
  return wanted;
}

std::string to_toml(const Recipe& recipe) { return io::to_toml(write_options(recipe)); }

std::string settings_table() {
  std::string text = "| setting | default | meaning |\n| --- | --- | --- |\n";
  const auto add = [&text](const OptionDescription& row, const std::string& of) {
    std::string choices;
    for (const std::string& choice : row.choices) choices += (choices.empty() ? "; one of " : ", ") + choice;
    text += format("| `{}`{} | {} | {}{} |\n", row.name, of, row.default_text.empty() ? "" : "`" + row.default_text + "`", row.meaning, choices);
  };
  for (const OptionDescription& row : describe_options<Recipe>()) {
    const bool of_a_model = row.name.starts_with("model.") && row.name != "model.name";
    if (!of_a_model) add(row, "");
    if (row.name != "model.name") continue;
    for (const EnumName<ModelName>& model : EnumNames<ModelName>::values) {
      ModelOptions chosen;
      chosen.name = model.value;
      for (const OptionDescription& own : describe_options(chosen, "model"))
        if (own.name != "model.name") add(own, format(" of {}", model.name));
    }
  }
  return text;
}

std::filesystem::path data_folder() {
  if (const char* given = std::getenv("ATTEND_DATA"); given != nullptr && *given != '\0') return given;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr && *home != '\0' ? home : "/tmp") / ".local/share/attend";
}

std::filesystem::path share_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&share_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  // installed: PREFIX/lib[/TRIPLET]/libattend.so; in a build: SOURCE/build/PRESET/lib/libattend.so
  for (std::filesystem::path folder = library.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (std::filesystem::is_directory(folder / "share/attend/recipes")) return folder / "share/attend";
    if (std::filesystem::is_directory(folder / "recipes") && std::filesystem::exists(folder / "CMakePresets.json")) return folder;
  }
  return {};
}

std::string expand(const std::string& path) {
  std::string expanded;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t open = path.find("${", at);
    expanded += path.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = path.find('}', open);
    const std::string name = close == std::string::npos ? path.substr(open) : path.substr(open + 2, close - open - 2);
    if (name == "ATTEND_DATA") {
      expanded += data_folder().string();
    } else if (name == "ATTEND_SHARED") {
      const char* given = std::getenv("ATTEND_SHARED");
      expanded += given != nullptr ? given : "../shared";
    } else {
      throw InvalidArgument(format("{}: expected ${{ATTEND_DATA}} or ${{ATTEND_SHARED}}, got the variable \"{}\"", path, name));
    }
    at = close + 1;
  }
  return expanded;
}

}  // namespace attend::tasks
