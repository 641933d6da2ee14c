#include "attend/tasks/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>

#include "attend/io/toml.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

constexpr auto least_recipe = "format = 1\n[data]\ntrain = \"train.tsv\"\n";  // three lines

// A variable of the environment as it was before, whatever a test does to it.
class KeptVariable {
 public:
  explicit KeptVariable(const char* name) : name_(name) {
    if (const char* value = getenv(name)) before_ = value;
  }
  ~KeptVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class Recipes : public testing::Test {
 protected:
  fs::path write(const std::string& content) const { return folder.write("some.toml", content); }

  template <class Exception>
  void expect_refusal(const std::string& content, int line, const std::string& why, const std::vector<std::string>& settings = {}) const {
    const fs::path file = write(content);
    const std::string place = file.string() + (line > 0 ? ":" + std::to_string(line) : "") + ": ";
    EXPECT_THAT([&] { read_recipe(file, settings); }, ThrowsMessage<Exception>(AllOf(StartsWith(place), HasSubstr(why))));
  }

  const fixtures::TemporaryFolder folder;
};

TEST_F(Recipes, NeedLittleAndAreNamedByTheirFile) {
  const Recipe recipe = read_recipe(write(least_recipe));
  EXPECT_EQ(recipe.name, "some");
  EXPECT_THAT(recipe.data.train, ElementsAre("train.tsv"));
  EXPECT_THAT(recipe.data.test, IsEmpty());
  EXPECT_EQ(recipe.model.name, ModelName::luong);
  EXPECT_EQ(recipe.train.steps, train::TrainOptions().steps);
}

TEST_F(Recipes, HoldEverySetting) {
  const Recipe recipe = read_recipe(
      write("format = 1\nname = \"mine\"\nsystem = \"B3\"\ntask = \"sequence-to-sequence\"\nfigure = { metric = \"WER\", at_least = 3, split = \"valid\" }\n"
            "[data]\ntrain = [\"a\", \"b\"]\nsource = \"symbols\"\n"
            "[model]\nhidden = 32\ncell = \"gru\"\nattention = { score = \"additive\" }\n[train]\nsteps = 9\n[decode]\nbeam = 5\n"));
  EXPECT_EQ(recipe.name, "mine");
  EXPECT_EQ(recipe.figure.metric, "WER");
  EXPECT_EQ(recipe.figure.at_least, 3.0);
  EXPECT_EQ(recipe.figure.at_most, std::nullopt);
  EXPECT_THAT(recipe.data.train, ElementsAre("a", "b"));
  EXPECT_EQ(recipe.data.source, data::Unit::symbols);
  EXPECT_EQ(recipe.model.luong.hidden, 32);
  EXPECT_EQ(recipe.model.luong.cell, layers::Cell::gru);
  EXPECT_EQ(recipe.train.steps, 9);
  EXPECT_EQ(recipe.decode.beam, 5);
}

TEST_F(Recipes, ComeBackFromWhatIsWritten) {
  const Recipe recipe = read_recipe(write(std::string(least_recipe) + "[train]\nlearning_rate = 0.1\nschedule = \"plateau\"\n"), {"figure.at_most=9.5"});
  const Recipe again = read_recipe(folder.write("again.toml", to_toml(recipe)));
  EXPECT_TRUE(write_options(again) == write_options(recipe));
  EXPECT_EQ(again.name, "some");
  EXPECT_EQ(to_toml(again), to_toml(recipe));
}

TEST_F(Recipes, SettingsTakeThePlaceOfWhatTheFileSays) {
  const fs::path file = write(std::string(least_recipe) + "[train]\nsteps = 9\n");
  const Recipe recipe = read_recipe(file, {"train.steps=500", "model.attention.score=additive", "train.learning_rate = 1e-3", "data.test=[\"x\", \"y\"]",
                                           "name=a=b"});
  EXPECT_EQ(recipe.train.steps, 500);
  EXPECT_EQ(recipe.model.luong.attention.score, addressing::Score::additive);
  EXPECT_EQ(recipe.train.learning_rate, 1e-3);
  EXPECT_THAT(recipe.data.test, ElementsAre("x", "y"));
  EXPECT_EQ(recipe.name, "a=b");
}

TEST_F(Recipes, ASettingThatIsNoneIsRefused) {
  const fs::path file = write(least_recipe);
  for (const std::string setting : {"train.steps", "=5"})
    EXPECT_THAT([&] { read_recipe(file, {setting}); },
                ThrowsMessage<InvalidArgument>(StartsWith("--set " + setting + ": expected key=value, for example ")));
  expect_refusal<InvalidArgument>(least_recipe, 0, "train.stepz: unknown key; did you mean \"steps\"?", {"train.stepz=5"});
  expect_refusal<InvalidArgument>(least_recipe, 0, "train.steps: expected an integer, got a text", {"train.steps=many"});
}

TEST_F(Recipes, AnUnknownKeyIsRefusedWithItsLineAndTheNearest) {
  expect_refusal<InvalidArgument>("format = 1\nsysten = \"B3\"\n", 2, "systen: unknown key; did you mean \"system\"?");
  expect_refusal<InvalidArgument>(std::string(least_recipe) + "\n[train]\nsteps = 5\nlearning_rat = 0.1\n", 7,
                                  "train.learning_rat: unknown key; did you mean \"learning_rate\"?");
  expect_refusal<InvalidArgument>(std::string(least_recipe) + "[model]\nattention = { scor = \"dot\" }\n", 5, "model.attention.scor: unknown key");
}

TEST_F(Recipes, AnUnknownFormatIsRefused) {
  expect_refusal<InvalidData>("[data]\ntrain = \"x\"\n", 0, "expected format = 1, got no format; is this a recipe?");
  expect_refusal<InvalidData>("\nformat = 2\n", 2, "expected format = 1, got 2; it was written for a newer version of attend");
  expect_refusal<InvalidData>("format = 0\n", 1, "expected format = 1, got 0");
  expect_refusal<InvalidData>("format = \"1\"\n", 1, "expected format = 1, got a text");
}

TEST_F(Recipes, ValuesThatDoNotFitAreRefusedWithTheirLine) {
  const std::string least = least_recipe;
  expect_refusal<InvalidData>("format = 1\n[data\n", 2, "");
  expect_refusal<InvalidArgument>(least + "[train]\nsteps = \"many\"\n", 5, "train.steps: expected an integer, got a text");
  expect_refusal<InvalidArgument>(least + "[train]\n\nsteps = 0\n", 6, "train.steps: expected at least 1, got 0");
  expect_refusal<InvalidArgument>(least + "[train]\nbeta1 = 1.5\n", 5, "train.beta1: expected a number from 0 to below 1, got 1.5");
  expect_refusal<InvalidArgument>(least + "[model]\nname = \"luon\"\n", 5,
                                  "model.name: expected one of \"luong\", \"rnn\", \"rnnsearch\", \"attention-layer\", got \"luon\"; did you mean \"luong\"?");
  expect_refusal<InvalidArgument>(least + "longest = 0\n", 4, "data.longest: expected at least 1, got 0");
  expect_refusal<InvalidArgument>(least + "largest = 0\n", 4, "data.largest: expected at least 1, got 0");
  expect_refusal<InvalidArgument>(least + "longest_words = -1\n", 4, "data.longest_words: expected 0 or more, got -1");
  expect_refusal<InvalidArgument>(least + "vocabulary_size = 4\n", 4, "data.vocabulary_size: expected at least 5 (four tokens are special), got 4");
  expect_refusal<InvalidArgument>(least + "character_coverage = 1.5\n", 4, "data.character_coverage: expected a share above 0, at most 1, got 1.5");
  expect_refusal<InvalidArgument>(least + "shared_vocabulary = true\n", 4,
                                  "data.shared_vocabulary: expected both sides to be cut alike, got source = \"characters\" and target = \"symbols\"");
  expect_refusal<InvalidArgument>(least + "test = [\"a\", \"b\", \"c\"]\n", 4, "data.test: expected one TSV file or two parallel files, got 3 files");
  expect_refusal<InvalidArgument>(least + "[decode]\nbeam = 0\n", 5, "decode.beam: expected at least 1, got 0");
  expect_refusal<InvalidArgument>(least + "[decode]\nlength_factor = -1\n", 5, "decode.length_factor: expected a number from 0 to 1000, got -1");
  expect_refusal<InvalidArgument>(least + "[decode]\nlength_penalty = nan\n", 5, "decode.length_penalty: expected a number from 0 to 100");
  expect_refusal<InvalidArgument>("format = 1\n", 0, "data: expected a corpus (made by `attend data`) or the paths of train");
  expect_refusal<InvalidArgument>("format = 1\ntask = \"translate\"\n", 2, "task: expected one of \"sequence-to-sequence\", got \"translate\"");
}

TEST_F(Recipes, TheModelsNameChoosesItsSettings) {
  const std::string least = least_recipe;
  const Recipe rnn = read_recipe(write(least + "[model]\nname = \"rnn\"\nhidden = 32\nsource_vector = \"every-step\"\n"));
  EXPECT_EQ(rnn.model.name, ModelName::rnn);
  EXPECT_EQ(rnn.model.rnn.hidden, 32);
  EXPECT_EQ(rnn.model.rnn.source_vector, models::SourceVector::every_step);
  EXPECT_EQ(read_recipe(write(least + "[model]\nalignment = 7\nname = \"rnnsearch\"\n")).model.rnnsearch.alignment, 7) << "wherever the name stands";
  EXPECT_TRUE(read_recipe(write(least), {"model.name=attention-layer", "model.bidirectional=true"}).model.attention_layer.bidirectional);
}

TEST_F(Recipes, ASettingOfAnotherModelIsUnknownAndTheHintIsOneOfItsOwn) {
  const std::string least = least_recipe;
  expect_refusal<InvalidArgument>(least + "[model]\nname = \"rnn\"\nattention = { score = \"dot\" }\n", 6,
                                  "model.attention: unknown key; known here: name, embedding, hidden, layers, cell, reset, reverse_source, source_vector, "
                                  "maxout, tied, dropout, label_smoothing");
  expect_refusal<InvalidArgument>(least + "[model]\nname = \"rnn\"\nreverse = true\n", 6, "model.reverse: unknown key");
  expect_refusal<InvalidArgument>(least + "[model]\nname = \"rnnsearch\"\nalignmen = 5\n", 6, "model.alignmen: unknown key; did you mean \"alignment\"?");
  expect_refusal<InvalidArgument>(least + "[model]\nreverse_source = true\n", 5, "model.reverse_source: unknown key");
  expect_refusal<InvalidArgument>(least + "[model]\nattention = { score = \"dot\" }\n", 5, "model.attention: unknown key", {"model.name=rnnsearch"});
}

TEST_F(Recipes, WhatIsWrittenHoldsTheChosenModelsSettingsAlone) {
  for (const EnumName<ModelName>& model : EnumNames<ModelName>::values) {
    const Recipe recipe = read_recipe(write(least_recipe), {"model.name=" + std::string(model.name), "model.embedding=17"});
    const io::Value written = write_options(recipe);
    std::vector<std::string> keys, own;
    for (const auto& [key, value] : written.at("model").as_table()) keys.push_back(key);
    for (const OptionDescription& row : describe_options(recipe.model)) own.push_back(row.name.substr(0, row.name.find('.')));
    own.erase(std::unique(own.begin(), own.end()), own.end());
    EXPECT_EQ(keys, own) << model.name;
    EXPECT_EQ(written.at("model").at("embedding").as_integer(), 17) << model.name;
    EXPECT_TRUE(write_options(read_recipe(folder.write("again.toml", to_toml(recipe)))) == written) << model.name;
  }
}

TEST_F(Recipes, TheTableOfSettingsHasThoseOfEachModel) {
  const std::string table = settings_table();
  std::size_t before = table.find("| `model.name` |");
  ASSERT_NE(before, std::string::npos);
  for (const std::string row : {"| `model.input_feeding` of luong | `false` | ", "| `model.reverse_source` of rnn | `true` | ",
                                "| `model.alignment` of rnnsearch | `256` | ", "| `model.bidirectional` of attention-layer | `false` | ", "| `train.seed` | "}) {
    const std::size_t place = table.find(row);
    EXPECT_GT(place, before) << row;
    ASSERT_NE(place, std::string::npos) << row;
    EXPECT_EQ(table.find(row, place + 1), std::string::npos) << row << " stands there twice";
    before = place;
  }
}

TEST_F(Recipes, ScoresFollowFromFigureAndTarget) {
  const auto metrics = [&](const std::vector<std::string>& settings) { return metrics_of(read_recipe(write(least_recipe), settings)); };
  EXPECT_THAT(metrics({}), ElementsAre("PER", "WER", "perplexity"));
  EXPECT_THAT(metrics({"figure.metric=BLEU"}), ElementsAre("BLEU", "PER", "WER", "perplexity"));
  EXPECT_THAT(metrics({"data.target=characters"}), ElementsAre("BLEU", "chrF", "perplexity"));
  EXPECT_THAT(metrics({"data.target=characters", "figure.metric=WER"}), ElementsAre("WER", "BLEU", "chrF", "perplexity"));
  EXPECT_THAT(metrics({"eval.metrics=[\"chrF\", \"PER\"]"}), ElementsAre("chrF", "PER"));
  const auto figure = [&](const std::vector<std::string>& settings) { return read_recipe(write(least_recipe), settings).figure.metric; };
  EXPECT_EQ(figure({}), "PER");
  EXPECT_EQ(figure({"data.target=characters"}), "chrF");
  EXPECT_EQ(figure({"eval.metrics=[\"BLEU\", \"PER\"]"}), "BLEU");
  EXPECT_EQ(figure({"eval.metrics=[\"BLEU\"]", "figure.metric=loss"}), "loss");
}

TEST_F(Recipes, ScoresThatDoNotExistAreRefusedWithTheirLine) {
  const std::string least = least_recipe;
  expect_refusal<InvalidArgument>(least + "[figure]\nmetric = \"BLUE\"\n", 5, "figure.metric: there is no score \"BLUE\"; did you mean \"BLEU\"?; there are PER, ");
  expect_refusal<InvalidArgument>(least + "[figure]\nmetric = \"AER\"\n", 5, "figure.metric: AER needs a gold file");
  expect_refusal<InvalidArgument>(least + "[eval]\nmetrics = [\"chrF\", \"per\"]\n", 5, "eval.metrics: there is no score \"per\"");
  expect_refusal<InvalidArgument>(least + "[eval]\nbleu = { order = 0 }\n", 5, "eval.bleu.order: expected 1 to 16, got 0");
  expect_refusal<InvalidArgument>(least + "[eval]\nbleu = { tokenizer = \"14a\" }\n", 5, "eval.bleu.tokenizer: expected one of \"none\", \"13a\"");
  expect_refusal<InvalidArgument>(least + "[eval]\nchrf = { beta = -1 }\n", 5, "eval.chrf.beta: expected a number above 0");
}

TEST_F(Recipes, EverySettingIsDescribed) {
  for (const EnumName<ModelName>& model : EnumNames<ModelName>::values) {
    Recipe recipe;
    recipe.model.name = model.value;
    for (const OptionDescription& row : describe_options(recipe)) EXPECT_FALSE(row.meaning.empty()) << model.name << ": " << row.name;
  }
}

TEST_F(Recipes, AreFoundByPathOrName) {
  const fs::path before = fs::current_path();
  folder.write("recipes/mine.toml", least_recipe);
  fs::current_path(folder.path());
  EXPECT_EQ(find_recipe("recipes/mine.toml"), "recipes/mine.toml");
  EXPECT_EQ(find_recipe("mine"), "recipes/mine.toml");
  EXPECT_EQ(find_recipe("B3-cmudict-quickstart").filename(), "B3-cmudict-quickstart.toml");  // beside the library
  EXPECT_THAT([] { find_recipe("mime"); },
              ThrowsMessage<SystemError>(AllOf(StartsWith("recipe mime: not found (looked for mime, recipes/mime.toml"),
                                               HasSubstr("did you mean \"mine\"?"), HasSubstr("B3-cmudict-quickstart"))));
  fs::current_path(before);
}

TEST_F(Recipes, TheRecipesOfABuildLieInItsSources) {
  EXPECT_TRUE(fs::is_regular_file(share_folder() / "recipes/B3-cmudict-quickstart.toml")) << share_folder();
}

TEST_F(Recipes, PathsMayNameTwoVariables) {
  const KeptVariable data("ATTEND_DATA"), shared("ATTEND_SHARED"), home("HOME");
  setenv("ATTEND_DATA", "/d", 1);
  setenv("ATTEND_SHARED", "/s", 1);
  EXPECT_EQ(expand("plain/path"), "plain/path");
  EXPECT_EQ(expand("${ATTEND_DATA}/x/${ATTEND_SHARED}.tsv"), "/d/x//s.tsv");
  EXPECT_EQ(expand("$5 {x}"), "$5 {x}");
  unsetenv("ATTEND_DATA");
  unsetenv("ATTEND_SHARED");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(expand("${ATTEND_DATA}"), "/h/.local/share/attend");
  EXPECT_EQ(data_folder(), "/h/.local/share/attend");
  EXPECT_EQ(expand("${ATTEND_SHARED}"), "../shared");
  for (const std::string path : {"a/${HOME}/b", "a/${ATTEND_DATA"})
    EXPECT_THAT([&] { expand(path); }, ThrowsMessage<InvalidArgument>(StartsWith(path + ": expected ${ATTEND_DATA} or ${ATTEND_SHARED}, got ")));
}

}  // namespace
}  // namespace attend::tasks
