// Recipes: one TOML file for each result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"
#include "attend/data/vocabulary.h"
#include "attend/io/value.h"
#include "attend/models/luong.h"
#include "attend/train/options.h"

namespace attend {
namespace tasks {

enum class TaskName { sequence_to_sequence };

}  // namespace tasks

template <>
struct EnumNames<tasks::TaskName> {
  static constexpr EnumName<tasks::TaskName> values[] = {{tasks::TaskName::sequence_to_sequence, "sequence-to-sequence"}};
};

namespace tasks {

// What the recipe must reach.
struct FigureOptions {
  std::string metric = "PER";
  std::optional<double> at_most;
  std::optional<double> at_least;
  std::string split = "test";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("metric", self.metric, "the score that counts");
    visitor("at_most", self.at_most, "what it must not exceed");
    visitor("at_least", self.at_least, "what it must reach");
    visitor("split", self.split, "where it is measured");
  }
};

struct DataOptions {
  std::string corpus;
  std::vector<std::string> train, valid, test;
  data::Unit source = data::Unit::characters, target = data::Unit::symbols;
  bool lower_case = false;
  std::int64_t least_count = 1;
  std::int64_t longest = 200;
  std::string items = "items";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("corpus", self.corpus, "a data set made by `attend data`, below ATTEND_DATA; or give the paths");
    visitor("train", self.train, "a TSV file (source TAB target), or two files whose lines belong together");
    visitor("valid", self.valid, "the same for validation; absent: 2 % of train, by the hash of the source");
    visitor("test", self.test, "the same for the figure; never read in training");
    visitor("source", self.source, "what sources are cut into");
    visitor("target", self.target, "what targets are cut into");
    visitor("lower_case", self.lower_case, "whether sources are made lower case");
    visitor("least_count", self.least_count, "how often a token must occur in train to be in the vocabulary");
    visitor("longest", self.longest, "pairs with more tokens on a side are left out of training, and counted");
    visitor("items", self.items, "what an item of the set is called in messages");
  }
};

struct DecodeOptions {
  std::int64_t beam = 1;
  double length_penalty = 0.6;
  double coverage_penalty = 0.0;
  bool replace_unknown = false;
  double length_factor = 2.0;
  std::int64_t length_extra = 10;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("beam", self.beam, "hypotheses kept in search; 1 is greedy");
    visitor("length_penalty", self.length_penalty, "alpha of ((5 + n) / 6)^alpha; greedy search has none");
    visitor("coverage_penalty", self.coverage_penalty, "beta of the coverage penalty (Wu 2016, equation 14); greedy search has none");
    visitor("replace_unknown", self.replace_unknown, "whether an unknown token in an answer becomes the source token that it looked at most");
    visitor("length_factor", self.length_factor, "a target has at most factor · source + extra tokens");
    visitor("length_extra", self.length_extra, "see length_factor");
  }
};

// The model's table is read in two steps: its name chooses which options the rest is.
struct ModelOptions {
  std::string name = "luong";
  models::LuongOptions luong;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("name", self.name, "which model");
    std::decay_t<decltype(self.luong)>::visit(self.luong, visitor);
  }
};

struct Recipe {
  std::int64_t format = 1;
  std::string name;
  std::string system;
  TaskName task = TaskName::sequence_to_sequence;
  FigureOptions figure;
  DataOptions data;
  ModelOptions model;
  train::TrainOptions train;
  DecodeOptions decode;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("format", self.format, "version of the recipe's format");
    visitor("name", self.name, "names the result; absent: the file's own name");
    visitor("system", self.system, "row of `attend systems`");
    visitor("task", self.task, "what goes in and out");
    visitor("figure", self.figure, "what the recipe must reach");
    visitor("data", self.data, "");
    visitor("model", self.model, "");
    visitor("train", self.train, "");
    visitor("decode", self.decode, "");
  }
};

// The newest format of recipes that is read.
inline constexpr std::int64_t recipe_format = 1;

// Finds a recipe: a path, or a name searched in ./recipes, then in the installed share/attend/recipes. SystemError that lists where it was looked for and what is there.
ATTEND_API std::filesystem::path find_recipe(const std::string& name_or_path);

// Reads a recipe and applies `settings`, each "key=value" with a dotted key. InvalidData / InvalidArgument "FILE:LINE: …" for malformed TOML, an
// unknown format, an unknown key (with the nearest one), a value out of range.
ATTEND_API Recipe read_recipe(const std::filesystem::path& file, const std::vector<std::string>& settings = {});

// Every setting, resolved, as TOML.
ATTEND_API std::string to_toml(const Recipe& recipe);

// Every setting with its default, meaning and choices, as a table in Markdown.
ATTEND_API std::string settings_table();

// ATTEND_DATA, or ~/.local/share/attend.
ATTEND_API std::filesystem::path data_folder();
// The folder with recipes/ that was installed beside the library, or stands in the source tree of a build; empty where there is none.
ATTEND_API std::filesystem::path share_folder();
// Replaces ${ATTEND_DATA} and ${ATTEND_SHARED} (default: ../shared). InvalidArgument for another variable.
ATTEND_API std::string expand(const std::string& path);

}  // namespace tasks
}  // namespace attend
