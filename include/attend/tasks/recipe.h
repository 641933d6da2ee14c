// Recipes: one TOML file for each result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"
#include "attend/data/pairs.h"
#include "attend/data/text_vocabulary.h"
#include "attend/io/value.h"
#include "attend/models/attention_layer.h"
#include "attend/models/luong.h"
#include "attend/models/rnn.h"
#include "attend/models/rnnsearch.h"
#include "attend/tasks/metrics/bleu.h"
#include "attend/tasks/metrics/chrf.h"
#include "attend/train/options.h"

namespace attend {
namespace tasks {

enum class TaskName { sequence_to_sequence };

enum class ModelName { luong, rnn, rnnsearch, attention_layer };

}  // namespace tasks

template <>
struct EnumNames<tasks::TaskName> {
  static constexpr EnumName<tasks::TaskName> values[] = {{tasks::TaskName::sequence_to_sequence, "sequence-to-sequence"}};
};
template <>
struct EnumNames<tasks::ModelName> {
  static constexpr EnumName<tasks::ModelName> values[] = {{tasks::ModelName::luong, "luong"},
                                                          {tasks::ModelName::rnn, "rnn"},
                                                          {tasks::ModelName::rnnsearch, "rnnsearch"},
                                                          {tasks::ModelName::attention_layer, "attention-layer"}};
};

namespace tasks {

// What the recipe must reach.
struct FigureOptions {
  std::string metric;
  std::optional<double> at_most;
  std::optional<double> at_least;
  std::string split = "test";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("metric", self.metric, "the score that counts and chooses the best model; absent: the first of eval.metrics, or PER for symbols and chrF for texts");
    visitor("at_most", self.at_most, "what it must not exceed");
    visitor("at_least", self.at_least, "what it must reach");
    visitor("split", self.split, "where it is measured");
  }
};

struct DataOptions {
  std::string corpus;
  std::vector<std::string> train, valid, test;
  data::Unit source = data::Unit::characters, target = data::Unit::symbols;
  data::FurtherColumns further_columns = data::FurtherColumns::ignored;
  bool lower_case = false;
  std::int64_t least_count = 1;
  std::int64_t largest = 1'000'000;
  std::int64_t vocabulary_size = 8000;
  data::PieceModel pieces = data::PieceModel::unigram;
  double character_coverage = 1.0;
  bool shared_vocabulary = false;
  std::int64_t longest = 200;
  std::int64_t longest_words = 0;
  std::string items = "items";
  std::optional<std::string> fingerprint;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("corpus", self.corpus, "a data set made by `attend data`, below ATTEND_DATA; or give the paths");
    visitor("train", self.train, "a TSV file (source TAB target), or two files whose lines belong together");
    visitor("valid", self.valid, "the same for validation; absent: 2 % of train, by the hash of the source");
    visitor("test", self.test, "the same for the figure; never read in training");
    visitor("source", self.source, "what sources are cut into");
    visitor("target", self.target, "what targets are cut into");
    visitor("further_columns", self.further_columns, "what a TSV file's columns after the second are: nothing, or more targets of the same source");
    visitor("lower_case", self.lower_case, "whether sources are made lower case");
    visitor("least_count", self.least_count, "how often a token must occur in train to be in the vocabulary");
    visitor("largest", self.largest, "how many tokens a vocabulary has at most, the most frequent ones; not for sentencepiece");
    visitor("vocabulary_size", self.vocabulary_size, "number of sub-words of a side cut by sentencepiece");
    visitor("pieces", self.pieces, "how sentencepiece finds sub-words");
    visitor("character_coverage", self.character_coverage, "share of the text's characters that get a sub-word; 0.9995 suits Chinese and Japanese");
    visitor("shared_vocabulary", self.shared_vocabulary, "whether both sides have one vocabulary, made from both");
    visitor("longest", self.longest, "pairs with more tokens on a side are left out of training, and counted");
    visitor("longest_words", self.longest_words, "pairs with more words on a side are left out of training, and counted; 0: any");
    visitor("items", self.items, "what an item of the set is called in messages");
    visitor("fingerprint", self.fingerprint, "sum over the tokens of train and valid, which training writes: given, they must have it");
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

struct EvalOptions {
  std::vector<std::string> metrics;
  BleuOptions bleu;
  ChrfOptions chrf;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("metrics", self.metrics, "scores to report, figure.metric besides; absent: PER and WER for symbols, BLEU and chrF for texts, and perplexity");
    visitor("bleu", self.bleu, "how BLEU is computed");
    visitor("chrf", self.chrf, "how chrF is computed");
  }
};

// The model's table is read in two steps: its name chooses which options the rest is. Only those of the chosen model are read, written and checked.
struct ModelOptions {
  ModelName name = ModelName::luong;
  models::LuongOptions luong;
  models::RnnOptions rnn;
  models::RnnsearchOptions rnnsearch;
  models::AttentionLayerOptions attention_layer;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("name", self.name, "which model; it chooses which of the settings below there are");
    choose(self, [&](auto& chosen) { std::decay_t<decltype(chosen)>::visit(chosen, visitor); });
  }

  // Calls `use` with the options of the chosen model.
  template <class Self, class Use>
  static auto choose(Self& self, const Use& use) {
    switch (self.name) {
      case ModelName::rnn: return use(self.rnn);
      case ModelName::rnnsearch: return use(self.rnnsearch);
      case ModelName::attention_layer: return use(self.attention_layer);
      case ModelName::luong: break;
    }
    return use(self.luong);
  }
};

struct Recipe {
  std::int64_t format = 1;
  std::string name;
  std::string variant;
  std::string system;
  TaskName task = TaskName::sequence_to_sequence;
  FigureOptions figure;
  DataOptions data;
  ModelOptions model;
  train::TrainOptions train;
  DecodeOptions decode;
  EvalOptions eval;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("format", self.format, "version of the recipe's format");
    visitor("name", self.name, "names the result; absent: the file's own name");
    visitor("variant", self.variant, "which of several variants of the result this is: stands beside the name in tables");
    visitor("system", self.system, "row of `attend systems`");
    visitor("task", self.task, "what goes in and out");
    visitor("figure", self.figure, "what the recipe must reach");
    visitor("data", self.data, "");
    visitor("model", self.model, "");
    visitor("train", self.train, "");
    visitor("decode", self.decode, "");
    visitor("eval", self.eval, "");
  }
};

// The newest format of recipes that is read.
inline constexpr std::int64_t recipe_format = 1;

// Finds a recipe: a path, or a name searched in ./recipes, then in the installed share/attend/recipes. SystemError that lists where it was looked for and what is there.
ATTEND_API std::filesystem::path find_recipe(const std::string& name_or_path);

// Reads a recipe and applies `settings`, each "key=value" with a dotted key. InvalidData / InvalidArgument "FILE:LINE: …" for malformed TOML, an
// unknown format, an unknown key (with the nearest one), a value out of range.
ATTEND_API Recipe read_recipe(const std::filesystem::path& file, const std::vector<std::string>& settings = {});

// figure.metric, or where the recipe names none the one that its documentation says.
ATTEND_API std::string figure_metric(const Recipe& recipe);
// The scores that a run of the recipe reports, figure_metric() among them.
ATTEND_API std::vector<std::string> metrics_of(const Recipe& recipe);

// Every setting, resolved, as TOML.
ATTEND_API std::string to_toml(const Recipe& recipe);

// Every setting with its default, meaning and choices, as a table in Markdown; those of the models one model after the other.
ATTEND_API std::string settings_table();

// ATTEND_DATA, or ~/.local/share/attend.
ATTEND_API std::filesystem::path data_folder();
// The folder with recipes/ that was installed beside the library, or stands in the source tree of a build; empty where there is none.
ATTEND_API std::filesystem::path share_folder();
// Replaces ${ATTEND_DATA} and ${ATTEND_SHARED} (default: ../shared). InvalidArgument for another variable.
ATTEND_API std::string expand(const std::string& path);

}  // namespace tasks
}  // namespace attend
