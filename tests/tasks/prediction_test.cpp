#include "attend/tasks/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/core/tokens.h"
#include "attend/tasks/evaluation.h"
#include "attend/tasks/metrics/error_rate.h"
#include "attend/tasks/sequence_to_sequence.h"
#include "attend/view/record.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using fixtures::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

// --- answers and scores ------------------------------------------------------------------------------------------------------------------

// One run for all tests of this kind: training it takes a second.
class TrainedLetters : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    const Recipe recipe = read_recipe(fixtures::write_letters(*folder), {"train.steps=300", "train.valid_every=300", "data.lower_case=true"});
    train_run(recipe, folder->path() / "run", false);
    run = new tasks::Run(open_run(folder->path() / "run"));
  }
  static void TearDownTestSuite() {
    delete run;
    delete folder;
  }

  static PredictOptions options(std::int64_t beam, std::int64_t n_best, bool alignments = false) {
    PredictOptions options;
    options.beam = beam;
    options.n_best = n_best;
    options.alignments = alignments;
    return options;
  }

  static inline TemporaryFolder* folder = nullptr;
  static inline tasks::Run* run = nullptr;
};

TEST_F(TrainedLetters, AnswersComeInTheOrderOfTheLines) {
  const std::vector<std::string> lines = {"abba", "", "h", "  ", "decade", "abba"};
  const std::vector<Prediction> predictions = predict(*run, lines);
  ASSERT_THAT(predictions, SizeIs(6));
  EXPECT_THAT(predictions[0].source, ElementsAre("a", "b", "b", "a"));
  EXPECT_THAT(predictions[2].source, ElementsAre("h"));
  for (const std::size_t empty : {1, 3}) EXPECT_THAT(predictions[empty].outputs, IsEmpty());
  for (const std::size_t full : {0, 2, 4, 5}) {
    ASSERT_THAT(predictions[full].outputs, SizeIs(1));
    EXPECT_EQ(predictions[full].outputs[0].text, data::join(predictions[full].outputs[0].tokens, data::Unit::symbols));
    EXPECT_LT(predictions[full].outputs[0].score, 0);
    EXPECT_FALSE(predictions[full].outputs[0].alignment.defined());
  }
  EXPECT_EQ(predictions[0].outputs[0].text, predictions[5].outputs[0].text);
}

TEST_F(TrainedLetters, SourcesArePreparedAsTheRecipeSays) {
  const std::vector<Prediction> predictions = predict(*run, {"ABBA", "x\u00E9"});
  EXPECT_THAT(predictions[0].source, ElementsAre("a", "b", "b", "a"));
  EXPECT_THAT(predictions[1].source, ElementsAre("x", "\u00E9"));
  EXPECT_THAT(predictions[1].outputs, SizeIs(1));  // letters that were never seen are answered too
}

TEST_F(TrainedLetters, AnAnswerDoesNotDependOnTheOtherLines) {
  const std::vector<std::string> lines = fixtures::words(150, 9);
  for (const std::int64_t beam : {1, 4}) {
    const std::vector<Prediction> together = predict(*run, lines, options(beam, 1));
    for (std::size_t i = 0; i < lines.size(); i += 10)
      EXPECT_EQ(predict(*run, {lines[i]}, options(beam, 1))[0].outputs[0].text, together[i].outputs[0].text) << lines[i];
  }
}

TEST_F(TrainedLetters, NBestListsAreInOrder) {
  const Prediction prediction = predict(*run, {"badge"}, options(5, 3))[0];
  ASSERT_THAT(prediction.outputs, SizeIs(3));
  std::set<std::string> different;
  for (std::size_t n = 0; n < 3; ++n) {
    different.insert(prediction.outputs[n].text);
    EXPECT_GE(prediction.outputs[n == 0 ? 0 : n - 1].score, prediction.outputs[n].score);
  }
  EXPECT_THAT(different, SizeIs(3));
  EXPECT_EQ(predict(*run, {"badge"}, options(5, 1))[0].outputs[0].text, prediction.outputs[0].text);
}

TEST_F(TrainedLetters, AlignmentsHaveARowForEachTokenThatSumsToOne) {
  for (const std::int64_t beam : {1, 4})
    for (const Prediction& prediction : predict(*run, {"badge", "he", "abcdefgh"}, options(beam, 1, /*alignments=*/true))) {
      const Prediction::Output& best = prediction.outputs.at(0);
      ASSERT_FALSE(best.tokens.empty());
      EXPECT_EQ(best.alignment.sizes(), at::IntArrayRef({static_cast<std::int64_t>(best.tokens.size()),
                                                         static_cast<std::int64_t>(prediction.source.size()) + 1}));
      EXPECT_TRUE(at::allclose(best.alignment.sum(1), at::ones({best.alignment.size(0)})));
      EXPECT_TRUE(best.alignment.ge(0).all().item<bool>());
    }
}

TEST_F(TrainedLetters, ARecordHoldsTokensAndWeights) {
  const Prediction prediction = predict(*run, {"badge"}, options(1, 1, /*alignments=*/true))[0];
  const view::Example example = record_of(*run, prediction, "7");
  EXPECT_EQ(example.id, "7");
  EXPECT_THAT(example.source, ElementsAre("b", "a", "d", "g", "e", "</s>"));
  EXPECT_EQ(example.target, prediction.outputs[0].tokens);
  ASSERT_THAT(example.items, SizeIs(1));
  EXPECT_EQ(example.items[0].module, "attention");
  EXPECT_NO_THROW(view::check_item(example, example.items[0]));
  EXPECT_THAT(record_of(*run, predict(*run, {""})[0], "8").items, IsEmpty());
}

TEST_F(TrainedLetters, ACoveragePenaltyCountsTheTextsOwnTokens) {
  run->recipe.decode.coverage_penalty = 0.3;
  for (const Prediction& prediction : predict(*run, {"badge", "he", "abcdefgh"}, options(4, 2, /*alignments=*/true)))
    for (const Prediction::Output& output : prediction.outputs) {
      const auto columns = static_cast<std::int64_t>(prediction.source.size());  // the end, which stands behind them, needn't be covered
      const double coverage = output.alignment.to(at::kDouble).sum(0).slice(0, 0, columns).clamp_max(1.0).log().sum().item<double>();
      run->recipe.decode.coverage_penalty = 0.0;
      const Prediction plain = predict(*run, {data::join(prediction.source, data::Unit::characters)}, options(4, 4))[0];
      run->recipe.decode.coverage_penalty = 0.3;
      for (const Prediction::Output& other : plain.outputs)
        if (other.text == output.text) {
          EXPECT_NEAR(output.score, other.score + 0.3 * coverage, 1e-5) << output.text;
        }
    }
  run->recipe.decode.coverage_penalty = 0.0;
}

// --- unknown tokens ----------------------------------------------------------------------------------------------------------------------

// A run whose target vocabulary lacks the symbols that are rare, so that it learns to say <unk>.
class UnknownTargets : public testing::Test {
 protected:
  const TemporaryFolder folder;
  const Recipe recipe =
      read_recipe(fixtures::write_letters(folder), {"train.steps=150", "train.valid_every=150", "data.least_count=50", "decode.replace_unknown=true"});
};

TEST_F(UnknownTargets, BecomeTheSourceTokenThatWasLookedAtMost) {
  train_run(recipe, folder.path() / "run", false);
  tasks::Run run = open_run(folder.path() / "run");
  ASSERT_LT(run.target.size(), 4 + 16);
  const std::vector<std::string> lines = fixtures::words(40, 3);
  for (const std::int64_t beam : {1, 3}) {
    PredictOptions options;
    options.beam = options.n_best = beam;
    options.alignments = true;
    int replaced = 0;
    for (const Prediction& prediction : predict(run, lines, options))
      for (const Prediction::Output& output : prediction.outputs)
        for (std::size_t t = 0; t < output.tokens.size(); ++t) {
          EXPECT_NE(output.tokens[t], "<unk>");
          if (run.target.id(output.tokens[t]) != unknown_token) continue;
          const Tensor row = output.alignment[static_cast<std::int64_t>(t)].slice(0, 0, static_cast<std::int64_t>(prediction.source.size()));
          EXPECT_EQ(output.tokens[t], prediction.source[static_cast<std::size_t>(row.argmax().item<std::int64_t>())]);
          ++replaced;
        }
    EXPECT_GT(replaced, 10);
    run.recipe.decode.replace_unknown = false;
    for (const Prediction& prediction : predict(run, lines, options))
      for (const Prediction::Output& output : prediction.outputs)
        for (const std::string& token : output.tokens) EXPECT_NE(run.target.id(token), unknown_token) << token;
    run.recipe.decode.replace_unknown = true;
    EXPECT_FALSE(predict(run, {"badge"})[0].outputs[0].alignment.defined());  // needed inside, but not asked for
  }
  EXPECT_NEAR(evaluate(run, "valid", 1).metrics.at("PER"),
              [&] {
                const std::string text = bytes_of(folder.path() / "run/metrics.jsonl");
                return std::stod(text.substr(text.rfind("\"PER\":") + 6));
              }(),
              1e-9);
}

TEST_F(UnknownTargets, NeedAModelThatAligns) {
  struct Blind : models::Luong {
    using models::Luong::Luong;
    std::string alignment_module() const override { return ""; }
  };
  train_run(recipe, folder.path() / "run", false);
  tasks::Run run = open_run(folder.path() / "run");
  run.model = std::make_shared<Blind>(run.source.size(), run.target.size(), run.recipe.model.luong);
  run.model->eval();
  EXPECT_THAT([&] { predict(run, {"a"}); }, ThrowsMessage<InvalidArgument>(AllOf(StartsWith("decode.replace_unknown: "), HasSubstr("this one has none"))));
  run.recipe.decode.replace_unknown = false;
  EXPECT_THAT(predict(run, {"a"}), SizeIs(1));
  run.recipe.decode.coverage_penalty = 0.2;
  EXPECT_THAT(predict(run, {"a"}), SizeIs(1));  // greedy search has no penalties
  PredictOptions wide;
  wide.beam = 2;
  EXPECT_THAT([&] { predict(run, {"a"}, wide); }, ThrowsMessage<InvalidArgument>(StartsWith("decode.coverage_penalty: ")));
}

// --- scores ------------------------------------------------------------------------------------------------------------------------------

TEST_F(TrainedLetters, AreScoredAgainstTheNearestOfSeveralReferences) {
  const std::vector<std::string> lines = {"badge", "he", "abc"};
  const std::vector<Prediction> predictions = predict(*run, lines);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += lines[i] + "\tX X\n" + lines[i] + "\t" + predictions[i].outputs[0].text + "\n";
  const fs::path right = folder->write("right.tsv", text);
  const Evaluation all_right = evaluate(*run, right.string(), 1);
  EXPECT_EQ(all_right.items, 3);
  EXPECT_EQ(all_right.file, right.string());
  EXPECT_EQ(all_right.metrics.at("PER"), 0);
  EXPECT_EQ(all_right.metrics.at("WER"), 0);

  std::vector<std::string> words = fixtures::words(60, 5);
  folder->write("test.tsv", fixtures::tsv(words));
  ErrorRate expected;
  const std::vector<Prediction> answers = predict(*run, words);
  for (std::size_t i = 0; i < words.size(); ++i)
    expected.add(answers[i].outputs[0].tokens, {data::cut(fixtures::spell(words[i]), data::Unit::symbols)});
  const Evaluation test = evaluate(*run, "test", 1);
  EXPECT_EQ(test.split, "test");
  EXPECT_EQ(test.items, 60);
  EXPECT_DOUBLE_EQ(test.metrics.at("PER"), expected.token_errors());
  EXPECT_DOUBLE_EQ(test.metrics.at("WER"), expected.sequence_errors());
  EXPECT_LT(test.metrics.at("PER"), 60);  // it did learn
}

TEST_F(TrainedLetters, FurtherColumnsAreReferencesWhereTheRecipeSaysSo) {
  const std::vector<std::string> lines = {"badge", "he"};
  const std::vector<Prediction> predictions = predict(*run, lines);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += lines[i] + "\tX X\t\t" + predictions[i].outputs[0].text + "\n";
  const std::string file = folder->write("columns.tsv", text).string();
  EXPECT_EQ(evaluate(*run, file, 1).metrics.at("WER"), 100);
  run->recipe.data.further_columns = data::FurtherColumns::targets;
  const Evaluation all_right = evaluate(*run, file, 1);
  run->recipe.data.further_columns = data::FurtherColumns::ignored;
  EXPECT_EQ(all_right.items, 2);
  EXPECT_EQ(all_right.metrics.at("WER"), 0);
}

TEST_F(TrainedLetters, ValidationInTrainingAgreesWithScoring) {
  EXPECT_NEAR(evaluate(*run, "valid", 1).metrics.at("PER"),
              [] {
                const std::string lines = bytes_of(folder->path() / "run/metrics.jsonl");
                return std::stod(lines.substr(lines.find("\"PER\":") + 6));
              }(),
              1e-9);
}

TEST_F(TrainedLetters, ScoringTellsHowFarItIsAndCanBeStopped) {
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
  evaluate(*run, "valid", 1, [&](std::int64_t done, std::int64_t all) { seen.emplace_back(done, all); });
  EXPECT_THAT(seen, ElementsAre(std::pair(0, 40), std::pair(40, 40)));
  EXPECT_THAT([] { evaluate(*run, "valid", 1, {}, [] { return true; }); }, ThrowsMessage<SystemError>(HasSubstr("nothing was scored")));
}

TEST_F(TrainedLetters, WhatCannotBeScoredIsRefused) {
  EXPECT_THAT([] { evaluate(*run, "missing.tsv", 1); }, ThrowsMessage<SystemError>(StartsWith("missing.tsv: cannot be opened")));
  const fs::path empty = folder->write("empty.tsv", "\n");
  EXPECT_THAT([&] { evaluate(*run, empty.string(), 1); }, ThrowsMessage<InvalidData>(StartsWith(empty.string() + ": holds no pair to score")));
  const fs::path bad = folder->write("bad.tsv", "a\tA\nb\n");
  EXPECT_THAT([&] { evaluate(*run, bad.string(), 1); }, ThrowsMessage<InvalidData>(StartsWith(bad.string() + ":2: ")));
  tasks::Run without = open_run(folder->path() / "run");
  without.recipe.data.test.clear();
  EXPECT_THAT([&] { evaluate(without, "test", 1); }, ThrowsMessage<InvalidArgument>(HasSubstr("names no test data")));
  EXPECT_THAT([] { predict(*run, {"a"}, options(2, 3)); }, ThrowsMessage<InvalidArgument>(HasSubstr("n_best")));
}

}  // namespace
}  // namespace attend::tasks
