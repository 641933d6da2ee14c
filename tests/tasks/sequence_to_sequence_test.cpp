#include "attend/tasks/sequence_to_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/core/tensor_file.h"
#include "attend/core/tokens.h"
#include "attend/data/pairs.h"
#include "attend/data/words.h"
#include "attend/io/folder_lock.h"
#include "attend/io/json.h"
#include "attend/tasks/evaluation.h"
#include "attend/tasks/prediction.h"
#include "attend/view/record.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using fixtures::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

// Texts to train on, and a recipe of a tiny model over them.
class LetterTask : public testing::Test {
 protected:
  Recipe recipe(const std::vector<std::string>& settings = {}) const { return read_recipe(recipe_file, settings); }
  fs::path place(const std::string& name) const { return folder.path() / name; }

  template <class Exception>
  void expect_refusal(const std::vector<std::string>& settings, const std::string& start, const std::string& why) const {
    EXPECT_THAT([&] { train_run(recipe(settings), place("refused"), false); }, ThrowsMessage<Exception>(AllOf(StartsWith(start), HasSubstr(why))));
    EXPECT_FALSE(fs::exists(place("refused") / "recipe.toml"));  // the folder can be used for a mended run
  }

  const TemporaryFolder folder;
  const fs::path recipe_file = fixtures::write_letters(folder);
};

// The same tokens in another order: no vocabulary shows it.
std::string with_first_two_targets_swapped(const std::string& tsv) {
  const std::size_t first_tab = tsv.find('\t'), first_end = tsv.find('\n'), second_tab = tsv.find('\t', first_end), second_end = tsv.find('\n', first_end + 1);
  const std::string first = tsv.substr(first_tab, first_end - first_tab), second = tsv.substr(second_tab, second_end - second_tab);
  EXPECT_NE(first, second);
  return tsv.substr(0, first_tab) + second + tsv.substr(first_end, second_tab - first_end) + first + tsv.substr(second_end);
}

// --- training ----------------------------------------------------------------------------------------------------------------------------

TEST_F(LetterTask, TrainingWritesAWholeRunFolder) {
  TrainingData began;
  TrainCallbacks callbacks;
  callbacks.began = [&](const TrainingData& data) { began = data; };
  const train::Outcome outcome = train_run(recipe(), place("run"), false, callbacks);
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.steps, 40);
  EXPECT_EQ(outcome.best.count("PER"), 1u);
  for (const char* name : {"recipe.toml", "model.safetensors", "vocabulary.source", "vocabulary.target", "metrics.jsonl", "samples.attn",
                           "checkpoints/step-00000040.safetensors"})
    EXPECT_TRUE(fs::exists(place("run") / name)) << name;
  EXPECT_EQ(began.train, 200);
  EXPECT_EQ(began.valid, 40);
  EXPECT_EQ(began.source_tokens, 4 + 8);
  EXPECT_EQ(began.target_tokens, 4 + 16);
  EXPECT_GT(began.parameters, 1000);
  EXPECT_EQ(began.too_long + began.empty, 0);
  EXPECT_THAT(view::read_record(place("run") / "samples.attn").examples, SizeIs(5));
  const Recipe resolved = read_recipe(place("run") / "recipe.toml");
  EXPECT_EQ(resolved.data.fingerprint, began.fingerprint);
  EXPECT_TRUE(write_options(resolved) == write_options(recipe({"data.fingerprint=\"" + began.fingerprint + "\""})));
}

TEST_F(LetterTask, TheSameSeedGivesTheSameFilesAndAnotherSeedDoesNot) {
  train_run(recipe(), place("one"), false);
  train_run(recipe(), place("two"), false);
  train_run(recipe({"train.seed=2"}), place("three"), false);
  for (const char* name : {"model.safetensors", "recipe.toml", "vocabulary.source", "vocabulary.target", "samples.attn"})
    EXPECT_EQ(bytes_of(place("one") / name), bytes_of(place("two") / name)) << name;
  EXPECT_NE(bytes_of(place("one") / "model.safetensors"), bytes_of(place("three") / "model.safetensors"));
}

TEST_F(LetterTask, TrainingNeverOpensTheTestPart) {
  ASSERT_FALSE(fs::exists(place("test.tsv")));
  EXPECT_TRUE(train_run(recipe({"train.steps=1"}), place("missing"), false).finished);
  folder.write("test.tsv", "not\xFF a pair\n");
  EXPECT_TRUE(train_run(recipe({"train.steps=1"}), place("bad"), false).finished);
}

TEST_F(LetterTask, ValidationIsTakenFromTrainWhereThereIsNone) {
  folder.write("train.tsv", fixtures::tsv(fixtures::words(500)));
  TrainingData began;
  TrainCallbacks callbacks;
  callbacks.began = [&](const TrainingData& data) { began = data; };
  train_run(recipe({"data.valid=[]", "train.steps=1"}), place("run"), false, callbacks);
  EXPECT_EQ(began.train + began.valid, 500);
  EXPECT_NEAR(static_cast<double>(began.valid), 10, 9);
}

TEST_F(LetterTask, WhatIsLeftOutIsCounted) {
  folder.write("train.tsv", fixtures::tsv(fixtures::words(100)) + "\n\nabcdefghabc\tA\na\tA B C D E F G H A B C\n");
  TrainingData began;
  TrainCallbacks callbacks;
  callbacks.began = [&](const TrainingData& data) { began = data; };
  train_run(recipe({"data.longest=10", "train.steps=1"}), place("run"), false, callbacks);
  EXPECT_EQ(began.train, 100);
  EXPECT_EQ(began.too_long, 2);
  EXPECT_EQ(began.empty, 2);
}

TEST_F(LetterTask, FurtherColumnsAreMorePairsWhereTheRecipeSaysSo) {
  folder.write("train.tsv", fixtures::tsv(fixtures::words(100)) + "ab\tA B\tA A\tB B\n");
  TrainingData began;
  TrainCallbacks callbacks;
  callbacks.began = [&](const TrainingData& data) { began = data; };
  train_run(recipe({"train.steps=1"}), place("first"), false, callbacks);
  EXPECT_EQ(began.train, 101);
  train_run(recipe({"train.steps=1", "data.further_columns=targets"}), place("all"), false, callbacks);
  EXPECT_EQ(began.train, 103);
}

TEST_F(LetterTask, CapitalsAreReadAsLowerCaseInTrainingTooWhereTheRecipeSaysSo) {
  const auto with_capital_sources = [](std::string tsv) {
    bool in_source = true;
    for (char& byte : tsv) {
      if (byte == '\t' || byte == '\n') in_source = byte == '\n';
      else if (in_source) byte = static_cast<char>(std::toupper(static_cast<unsigned char>(byte)));
    }
    return tsv;
  };
  for (const char* unit : {"characters", "sentencepiece"}) {
    const std::string source = unit, run = "small " + source, capitals = "capitals " + source;
    const std::vector<std::string> settings = {"data.lower_case=true", "data.source=" + source, "data.vocabulary_size=20", "train.steps=4"};
    const std::string train = bytes_of(place("train.tsv")), valid = bytes_of(place("valid.tsv"));
    train_run(recipe(settings), place(run), false);
    folder.write("train.tsv", with_capital_sources(train));
    folder.write("valid.tsv", with_capital_sources(valid));
    train_run(recipe(settings), place(capitals), false);
    EXPECT_EQ(bytes_of(place(run) / "model.safetensors"), bytes_of(place(capitals) / "model.safetensors")) << unit;
    EXPECT_EQ(bytes_of(place(run) / "recipe.toml"), bytes_of(place(capitals) / "recipe.toml")) << unit << ": data.fingerprint";
    folder.write("train.tsv", train);
    folder.write("valid.tsv", valid);
  }
}

TEST_F(LetterTask, TwoParallelFilesDoAsWellAsOneTsv) {
  std::string sources, targets;
  for (const std::string& word : fixtures::words(200)) sources += word + "\n", targets += fixtures::spell(word) + "\n";
  folder.write("train.words", sources);
  folder.write("train.symbols", targets);
  train_run(recipe(), place("tsv"), false);
  train_run(recipe({"data.train=[\"" + place("train.words").string() + "\", \"" + place("train.symbols").string() + "\"]"}), place("parallel"), false);
  EXPECT_EQ(bytes_of(place("tsv") / "model.safetensors"), bytes_of(place("parallel") / "model.safetensors"));
}

TEST_F(LetterTask, BadDataAreRefusedBeforeAnythingIsWritten) {
  const std::string train = place("train.tsv").string();
  folder.write("train.tsv", "");
  expect_refusal<InvalidData>({}, train + ": ", "holds no pair to train on");
  folder.write("train.tsv", "\n \n");
  expect_refusal<InvalidData>({}, train + ": ", "holds no pair to train on");
  folder.write("train.tsv", "abc\tA B C\n");
  expect_refusal<InvalidData>({"data.longest=2"}, train + ": ", "every pair has more than 2 tokens");
  expect_refusal<InvalidData>({"data.valid=[]"}, train + ": ", "too few pairs to take 2 % for validation; give data.valid");
  folder.write("train.tsv", "abc\tA B C\none column\n");
  expect_refusal<InvalidData>({}, train + ":2: ", "expected two columns");
  fs::remove(train);
  expect_refusal<SystemError>({}, train + ": ", "cannot be opened");
}

TEST_F(LetterTask, AValidationFileThatIsNamedMustBeThere) {
  fs::remove(place("valid.tsv"));
  expect_refusal<SystemError>({}, place("valid.tsv").string() + ": ", "cannot be opened");
}

TEST_F(LetterTask, AMissingCorpusIsToldHowToBeMade) {
  setenv("ATTEND_DATA", folder.path().c_str(), 1);
  expect_refusal<SystemError>({"data.train=[]", "data.valid=[]", "data.corpus=cmudict"}, place("cmudict/train.tsv").string() + ": not found",
                              "`attend data cmudict` makes it");
  unsetenv("ATTEND_DATA");
}

// --- resuming ----------------------------------------------------------------------------------------------------------------------------

TEST_F(LetterTask, AnInterruptedRunGoesOnToTheBit) {
  train_run(recipe(), place("undisturbed"), false);
  TrainCallbacks callbacks;
  std::int64_t seen = 0;
  callbacks.progress = [&](const train::Progress& progress) { seen = progress.step; };
  for (const std::int64_t step : {3, 20, 33}) {
    callbacks.stop = [&] { return seen >= step; };
    seen = 0;
    EXPECT_FALSE(train_run(recipe(), place("stopped"), false, callbacks).finished);
    EXPECT_TRUE(train_run(recipe(), place("stopped"), true).finished);
    for (const char* name : {"model.safetensors", "samples.attn"})
      EXPECT_EQ(bytes_of(place("stopped") / name), bytes_of(place("undisturbed") / name)) << name << " after step " << step;
    fs::remove_all(place("stopped"));
  }
}

// --- hard attention ----------------------------------------------------------------------------------------------------------------------

// The validation losses of a run, in their order.
std::vector<double> valid_losses(const fs::path& run) {
  std::vector<double> losses;
  std::istringstream lines(bytes_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);)
    if (const io::Value metrics = io::parse_json(line, "metrics"); metrics.find("valid") != nullptr)
      losses.push_back(metrics.at("valid").at("loss").as_number());
  return losses;
}

TEST_F(LetterTask, HardAttentionTrainsAndGoesOnToTheBitWithItsBaseline) {
  // with input feeding a draw is paid by all that follows: it learns more slowly
  for (const auto& [input_feeding, share] : {std::pair("false", 0.8), std::pair("true", 0.9)}) {
    const Recipe hard = recipe({"model.attention.normalizer=hard-sample", "model.hard={baseline = true, entropy = 0.01}", "model.attention.expected=0.25",
                                std::string("model.input_feeding=") + input_feeding, "train.steps=200"});
    train_run(hard, place("undisturbed"), false);
    const std::vector<double> losses = valid_losses(place("undisturbed"));
    ASSERT_EQ(losses.size(), 10u);
    EXPECT_LT(losses.back(), share * losses.front()) << "input feeding " << input_feeding;
    const io::SafetensorsFile model = io::SafetensorsFile::read(place("undisturbed") / "model.safetensors");
    ASSERT_EQ(model.tensors().count("score_function.baseline"), 1u);
    EXPECT_LT(tensor_of(model.tensors().at("score_function.baseline")).item<double>(), 0);
    TrainCallbacks callbacks;
    std::int64_t seen = 0;
    callbacks.progress = [&](const train::Progress& progress) { seen = progress.step; };
    callbacks.stop = [&] { return seen >= 33; };
    EXPECT_FALSE(train_run(hard, place("stopped"), false, callbacks).finished);
    EXPECT_TRUE(train_run(hard, place("stopped"), true).finished);
    for (const char* name : {"model.safetensors", "samples.attn"})
      EXPECT_EQ(bytes_of(place("stopped") / name), bytes_of(place("undisturbed") / name)) << name;
    tasks::Run run = open_run(place("undisturbed"));
    const std::vector<Prediction> once = predict(run, {"bed", "cafe"}), again = predict(run, {"bed", "cafe"});
    EXPECT_EQ(once[1].outputs.at(0).text, again[1].outputs.at(0).text) << "nothing is drawn in decoding";
    EXPECT_EQ(once[1].outputs[0].score, again[1].outputs[0].score);
    fs::remove_all(place("stopped"));
    fs::remove_all(place("undisturbed"));
  }
}

TEST_F(LetterTask, ResumingWhereNothingIsBegins) {
  EXPECT_TRUE(train_run(recipe({"train.steps=1"}), place("new"), true).finished);
}

TEST_F(LetterTask, ResumingWithAnotherRecipeNamesTheFirstDifference) {
  train_run(recipe({"train.steps=1"}), place("run"), false);
  const std::string model = bytes_of(place("run") / "model.safetensors");
  const auto refusal = [&](const std::vector<std::string>& settings, const std::string& difference) {
    EXPECT_THAT([&] { train_run(recipe(settings), place("run"), true); },
                ThrowsMessage<InvalidArgument>(AllOf(StartsWith(place("run").string() + ": was begun with another recipe: " + difference + " differs"))));
  };
  refusal({}, "train.steps");
  refusal({"train.steps=1", "model.attention.score=additive", "train.seed=5"}, "model.attention.score");
  refusal({"train.steps=1", "figure.at_least=5"}, "figure.at_least");
  EXPECT_EQ(bytes_of(place("run") / "model.safetensors"), model);
}

TEST_F(LetterTask, AFolderThatHoldsARunIsNotTrainedOver) {
  train_run(recipe({"train.steps=1"}), place("run"), false);
  const std::string model = bytes_of(place("run") / "model.safetensors");
  EXPECT_THAT([&] { train_run(recipe({"train.steps=1"}), place("run"), false); },
              ThrowsMessage<SystemError>(AllOf(StartsWith(place("run").string() + ": holds a run already"), HasSubstr("--resume"), HasSubstr("--out"))));
  EXPECT_EQ(bytes_of(place("run") / "model.safetensors"), model);
}

TEST_F(LetterTask, AFolderHasOneWriter) {
  fs::create_directories(place("run"));
  const io::FolderLock lock(place("run"));
  EXPECT_THAT([&] { train_run(recipe(), place("run"), false); }, ThrowsMessage<SystemError>(HasSubstr("is writing here")));
}

TEST_F(LetterTask, DataThatChangedAreNoticed) {
  train_run(recipe({"train.steps=1"}), place("run"), false);
  const std::string vocabulary = bytes_of(place("run") / "vocabulary.source");
  folder.write("train.tsv", "xyz\tX Y Z\n");
  EXPECT_THAT([&] { train_run(recipe({"train.steps=1"}), place("run"), true); },
              ThrowsMessage<InvalidData>(AllOf(StartsWith(place("run").string()), HasSubstr("the training data changed"))));
  EXPECT_EQ(bytes_of(place("run") / "vocabulary.source"), vocabulary);
}

TEST_F(LetterTask, DataThatChangedBehindTheSameVocabularyAreNoticed) {
  train_run(recipe({"train.steps=1"}), place("run"), false);
  const std::string train = bytes_of(place("train.tsv")), valid = bytes_of(place("valid.tsv")), model = bytes_of(place("run") / "model.safetensors");
  const auto expect_noticed = [&] {
    EXPECT_THAT([&] { train_run(recipe({"train.steps=1"}), place("run"), true); },
                ThrowsMessage<InvalidData>(AllOf(StartsWith(place("run").string() + ": the training data changed since this run began: expected the fingerprint "),
                                                 HasSubstr("train anew in another folder"))));
  };
  folder.write("train.tsv", with_first_two_targets_swapped(train));
  expect_noticed();
  folder.write("train.tsv", train);
  folder.write("valid.tsv", with_first_two_targets_swapped(valid));
  expect_noticed();
  EXPECT_EQ(bytes_of(place("run") / "model.safetensors"), model);
  folder.write("valid.tsv", valid);
  EXPECT_TRUE(train_run(recipe({"train.steps=1"}), place("run"), true).finished);
}

TEST_F(LetterTask, ARecipeMayNameTheDataThatItIsFor) {
  train_run(recipe({"train.steps=1"}), place("run"), false);
  const std::string fingerprint = *read_recipe(place("run") / "recipe.toml").data.fingerprint;
  EXPECT_TRUE(train_run(recipe({"train.steps=1", "data.fingerprint=\"" + fingerprint + "\""}), place("same"), false).finished);
  expect_refusal<InvalidData>({"data.fingerprint=\"00000000\""}, "data.fingerprint: ", "expected training data with the fingerprint 00000000, got " + fingerprint);
}

// --- units and limits ---------------------------------------------------------------------------------------------------------------------

class SentenceTask : public LetterTask {
 protected:
  SentenceTask() {
    // sentences of two to five words, each translated letter by letter
    const std::vector<std::string> words = fixtures::words(120, 3);
    for (std::size_t i = 0; i + 5 < words.size(); ++i) {
      std::string source, target;
      for (std::size_t j = i; j < i + 2 + i % 4; ++j) source += (j == i ? "" : " ") + words[j], target += (j == i ? "" : " ") + words[j] + "x";
      (i % 10 == 0 ? valid : train) += source + ".\t" + target + "!\n";
    }
    folder.write("train.tsv", train);
    folder.write("valid.tsv", valid);
  }
  static std::vector<std::string> with(std::vector<std::string> settings, const std::string& unit) {
    for (const std::string& more : {"data.source=" + unit, "data.target=" + unit, std::string("data.vocabulary_size=60"), std::string("train.steps=4")})
      settings.push_back(more);
    return settings;
  }
  std::string train, valid;
};

TEST_F(SentenceTask, AllUnitsTrainAndAnswer) {
  for (const std::string unit : {"characters", "symbols", "words", "sentencepiece"}) {
    EXPECT_TRUE(train_run(recipe(with({}, unit)), place(unit), false).finished);
    tasks::Run run = open_run(place(unit));
    const std::vector<Prediction> predictions = predict(run, {"abba decade.", "", "\u4E2D unseen!"});
    ASSERT_THAT(predictions[0].outputs, SizeIs(1)) << unit;
    EXPECT_EQ(predictions[0].outputs[0].text, run.target.join(predictions[0].outputs[0].tokens));
    EXPECT_EQ(run.source.join(predictions[0].source), "abba decade.") << unit;
    EXPECT_THAT(predictions[1].outputs, IsEmpty());
    EXPECT_THAT(predictions[2].outputs, SizeIs(1));
    EXPECT_EQ(fs::exists(place(unit) / "vocabulary.source.model"), unit == "sentencepiece");
    EXPECT_EQ(fs::exists(place(unit) / "vocabulary.source"), unit != "sentencepiece");
  }
}

TEST_F(SentenceTask, TwoFilesDoAsWellAsOneWhateverTheUnit) {
  std::string sources, targets;
  for (const data::TextPair& pair : data::read_tsv(place("train.tsv")).pairs) sources += pair.source + "\n", targets += pair.target + "\n";
  const std::string files = "data.train=[\"" + folder.write("train.en", sources).string() + "\", \"" + folder.write("train.fr", targets).string() + "\"]";
  for (const std::string unit : {"words", "sentencepiece"}) {
    train_run(recipe(with({}, unit)), place(unit + "-one"), false);
    train_run(recipe(with({files}, unit)), place(unit + "-two"), false);
    EXPECT_EQ(bytes_of(place(unit + "-one") / "model.safetensors"), bytes_of(place(unit + "-two") / "model.safetensors")) << unit;
  }
}

TEST_F(SentenceTask, SubWordsAreTheSameEachTimeAndGoOnToTheBit) {
  const Recipe wanted = recipe(with({"train.checkpoint_every=2"}, "sentencepiece"));
  train_run(wanted, place("one"), false);
  std::int64_t seen = 0;
  TrainCallbacks callbacks;
  callbacks.progress = [&](const train::Progress& progress) { seen = progress.step; };
  callbacks.stop = [&] { return seen >= 2; };
  EXPECT_FALSE(train_run(wanted, place("two"), false, callbacks).finished);
  const auto written = fs::last_write_time(place("two") / "vocabulary.source.model");
  EXPECT_TRUE(train_run(wanted, place("two"), true).finished);
  EXPECT_EQ(fs::last_write_time(place("two") / "vocabulary.source.model"), written);  // a run keeps its own
  for (const char* name : {"vocabulary.source.model", "vocabulary.target.model", "model.safetensors", "recipe.toml"})
    EXPECT_EQ(bytes_of(place("one") / name), bytes_of(place("two") / name)) << name;
  folder.write("train.tsv", with_first_two_targets_swapped(train));
  EXPECT_THAT([&] { train_run(wanted, place("two"), true); }, ThrowsMessage<InvalidData>(HasSubstr("the training data changed")));
}

TEST_F(SentenceTask, SubWordsOfAnotherRunAreRefused) {
  train_run(recipe(with({}, "sentencepiece")), place("run"), false);
  fs::copy_file(place("run") / "vocabulary.source.model", place("run") / "vocabulary.target.model", fs::copy_options::overwrite_existing);
  EXPECT_THAT([&] { open_run(place("run")); }, ThrowsMessage<InvalidData>(AllOf(StartsWith((place("run") / "vocabulary.target.model").string() + ": "),
                                                                               HasSubstr("this vocabulary doesn't belong to"))));
}

TEST_F(SentenceTask, BothSidesMayHaveOneVocabulary) {
  for (const std::string unit : {"words", "sentencepiece"}) {
    train_run(recipe(with({"data.shared_vocabulary=true", "data.lower_case=true"}, unit)), place(unit), false);
    const tasks::Run run = open_run(place(unit));
    EXPECT_EQ(run.source.fingerprint(), run.target.fingerprint()) << unit;
    EXPECT_EQ(run.source.size(), run.target.size());
    EXPECT_EQ(run.source.cut("ABBA"), run.source.cut("abba"));
    EXPECT_NE(run.target.cut("ABBA"), run.target.cut("abba"));
    // what was seen on the target side alone is known to the source side
    const std::string target = data::read_tsv(place("train.tsv")).pairs[0].target;
    EXPECT_THAT(run.source.ids(run.source.cut(target)), testing::Each(testing::Gt(end_token))) << unit;
  }
}

TEST_F(SentenceTask, AVocabularyThatTheTextIsTooSmallForIsRefused) {
  expect_refusal<InvalidArgument>({"data.source=sentencepiece", "data.vocabulary_size=9000"}, "data.vocabulary_size: no sub-words of the sources: ", "9000");
}

TEST_F(SentenceTask, AListOfWordsMayBeLimited) {
  train_run(recipe(with({"data.largest=10"}, "words")), place("run"), false);
  EXPECT_EQ(open_run(place("run")).source.size(), 4 + 10);
}

TEST_F(SentenceTask, ALimitInWordsHoldsForTrainingAloneAndIsTold) {
  TrainingData began;
  TrainCallbacks callbacks;
  callbacks.began = [&](const TrainingData& data) { began = data; };
  train_run(recipe(with({"data.longest_words=3"}, "sentencepiece")), place("run"), false, callbacks);
  std::int64_t longer = 0, all = 0;
  for (const data::TextPair& pair : data::read_tsv(place("train.tsv")).pairs) ++all, longer += data::count_words(pair.source) > 3;
  EXPECT_GT(longer, 0);
  EXPECT_EQ(began.too_many_words, longer);
  EXPECT_EQ(began.train, all - longer);
  EXPECT_EQ(began.too_long, 0);
  EXPECT_EQ(began.valid, static_cast<std::int64_t>(data::read_tsv(place("valid.tsv")).pairs.size()));
  tasks::Run run = open_run(place("run"));
  const std::vector<Prediction> predictions = predict(run, {"a b c.", "a b c d.", ""});
  EXPECT_FALSE(predictions[0].longer_than_trained);
  EXPECT_TRUE(predictions[1].longer_than_trained);
  EXPECT_THAT(predictions[1].outputs, SizeIs(1));
  EXPECT_FALSE(predictions[2].longer_than_trained);
  std::int64_t longer_valid = 0;
  for (const auto& item : data::gather_references(data::read_tsv(place("valid.tsv")).pairs)) longer_valid += data::count_words(item.source) > 3;
  EXPECT_GT(longer_valid, 0);
  EXPECT_EQ(evaluate(run, "valid", 1).longer_than_trained, longer_valid);
  expect_refusal<InvalidData>({"data.longest_words=1"}, place("train.tsv").string() + ": ", "every pair has more than 1 words on a side (data.longest_words)");
}

}  // namespace
}  // namespace attend::tasks
