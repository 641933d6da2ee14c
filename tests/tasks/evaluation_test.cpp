#include "attend/tasks/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/core/tokens.h"
#include "attend/data/unicode.h"
#include "attend/io/json.h"
#include "attend/tasks/metrics/scores.h"
#include "attend/tasks/prediction.h"
#include "attend/tasks/sequence_to_sequence.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/reference/tolerance.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

// Two runs that are trained once: one that writes symbols, one that writes the same as a text of characters.
class Scored : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new fixtures::TemporaryFolder;
    const fs::path recipe = fixtures::write_letters(*folder);
    train_run(read_recipe(recipe, {"train.steps=300", "train.valid_every=50", "train.schedule=constant"}), folder->path() / "symbols",
              false);
    train_run(read_recipe(recipe, {"train.steps=200", "train.valid_every=20", "data.target=characters", "figure.metric=BLEU",
                                   "train.schedule=constant"}),
              folder->path() / "text", false);
    symbols = new tasks::Run(open_run(folder->path() / "symbols"));
    text = new tasks::Run(open_run(folder->path() / "text"));
  }
  static void TearDownTestSuite() {
    delete symbols;
    delete text;
    delete folder;
  }

  static fs::path write(const std::string& name, const std::vector<std::string>& words) {
    return folder->write(name, fixtures::tsv(words));
  }
  static EvaluateOptions by_length(std::int64_t step) {
    EvaluateOptions options;
    options.length_step = step;
    return options;
  }

  static inline fixtures::TemporaryFolder* folder = nullptr;
  static inline tasks::Run *symbols = nullptr, *text = nullptr;
};

// Scores that were summed in another order, or in batches of other widths.
void expect_near(const std::map<std::string, double>& got, const std::map<std::string, double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, score] : wanted) {
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_TRUE(reference::is_near(got.at(name), score, reference::tolerance(reference::Type::float32, 64)))
        << name << " " << got.at(name) << " " << score;
  }
}

std::vector<io::Value> validations(const fs::path& run) {
  std::vector<io::Value> found;
  std::istringstream lines(bytes_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);)
    if (const io::Value value = io::parse_json(line, "metrics.jsonl"); value.find("valid") != nullptr) found.push_back(value.at("valid"));
  return found;
}

TEST_F(Scored, ReportsWhatFitsTheTarget) {
  EXPECT_THAT(evaluate(*symbols, "valid", 1).metrics, ElementsAre(Key("PER"), Key("WER"), Key("perplexity")));
  const Evaluation of_text = evaluate(*text, "valid", 1);
  EXPECT_THAT(of_text.metrics, ElementsAre(Key("BLEU"), Key("chrF"), Key("perplexity")));
  EXPECT_EQ(of_text.signatures.at("BLEU"), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  EXPECT_GT(of_text.metrics.at("BLEU"), 0);
  EXPECT_LT(of_text.metrics.at("BLEU"), 100);
  tasks::Run chosen = *text;
  chosen.recipe.eval.metrics = {"WER"};
  chosen.recipe.eval.bleu.tokenizer = BleuTokenizer::character;
  const Evaluation other = evaluate(chosen, "valid", 1);
  EXPECT_THAT(other.metrics, ElementsAre(Key("BLEU"), Key("WER")));  // the figure's is never left out
  EXPECT_THAT(other.signatures.at("BLEU"), HasSubstr("tok:char"));
}

TEST_F(Scored, TextsAreComparedAsTheyAreWritten) {
  const std::vector<std::string> words = fixtures::words(30, 4);
  const Evaluation got = evaluate(*text, write("texts.tsv", words).string(), 1);
  const std::vector<Prediction> answers = predict(*text, words);
  Bleu bleu;
  Chrf chrf;
  for (std::size_t i = 0; i < words.size(); ++i) {
    bleu.add(answers[i].outputs[0].text, {fixtures::spell(words[i])});
    chrf.add(answers[i].outputs[0].text, {fixtures::spell(words[i])});
  }
  EXPECT_EQ(got.metrics.at("BLEU"), bleu.score());
  EXPECT_EQ(got.metrics.at("chrF"), chrf.score());
}

// Token by token through step(), which training never uses.
TEST_F(Scored, PerplexityIsThatOfEachTokenAfterTheRightOnes) {
  const std::string lines = "badge\tB A D G+ E\nbadge\tB A\nhe\tH+ E\nhe\tH+ E\n";  // a pair that comes twice counts twice
  const Evaluation got = evaluate(*symbols, folder->write("pairs.tsv", lines).string(), 1);
  double sum = 0, count = 0;
  torch::NoGradGuard no_gradient;
  for (const auto& [source, target] :
       {std::pair("badge", "B A D G+ E"), std::pair("badge", "B A"), std::pair("he", "H+ E"), std::pair("he", "H+ E")}) {
    std::vector<std::int64_t> ids = symbols->source.ids(data::cut(source, data::Unit::characters)),
                              wanted = symbols->target.ids(target_tokens(*symbols, target));
    ids.push_back(end_token);
    wanted.push_back(end_token);
    models::DecoderState state =
        symbols->model->encode({at::tensor(ids, at::kLong).unsqueeze(0), at::full({1}, static_cast<std::int64_t>(ids.size()), at::kLong)});
    std::int64_t previous = begin_token;
    for (const std::int64_t token : wanted) {
      sum -= symbols->model->step(at::full({1}, previous, at::kLong), state)[0][token].item<double>();
      previous = token;
      ++count;
    }
  }
  EXPECT_TRUE(reference::is_near(got.metrics.at("perplexity"), std::exp(sum / count), reference::tolerance(reference::Type::float32, 64)))
      << got.metrics.at("perplexity") << " " << std::exp(sum / count);
  EXPECT_GT(got.metrics.at("perplexity"), 1);
}

TEST_F(Scored, ValidationInTrainingAgreesInEveryScore) {
  for (tasks::Run* run : {symbols, text}) {
    Evaluation got = evaluate(*run, "valid", 1);
    const std::string figure = run->recipe.figure.metric;
    std::map<std::string, double> best;
    for (const io::Value& valid : validations(run->files.folder)) {
      std::map<std::string, double> scores;
      for (const auto& [name, score] : valid.as_table()) scores[name] = score.as_number();
      const bool better =
          best.empty() || (find_metric(figure).less_is_better ? scores[figure] < best[figure] : scores[figure] > best[figure]);
      if (better) best = scores;
    }
    best.erase("loss");
    expect_near(got.metrics, best);
  }
}

TEST_F(Scored, TheModelThatIsKeptHasTheHighestBleu) {
  const std::vector<io::Value> all = validations(text->files.folder);
  ASSERT_THAT(all, SizeIs(10));
  double highest = 0, lowest = 100;
  for (const io::Value& valid : all) {
    highest = std::max(highest, valid.at("BLEU").as_number());
    lowest = std::min(lowest, valid.at("BLEU").as_number());
  }
  EXPECT_LT(lowest, highest);
  EXPECT_NEAR(evaluate(*text, "valid", 1).metrics.at("BLEU"), highest, 1e-9);
}

TEST_F(Scored, TheSearchIsTimedAndCounted) {
  const std::vector<std::string> words = fixtures::words(30, 4);
  const Evaluation got = evaluate(*symbols, write("texts.tsv", words).string(), 1);
  std::int64_t tokens = 0;
  for (const Prediction& prediction : predict(*symbols, words)) tokens += static_cast<std::int64_t>(prediction.outputs[0].tokens.size());
  EXPECT_EQ(got.tokens, tokens);
  EXPECT_GT(got.seconds, 0);
}

// --- by length ---------------------------------------------------------------------------------------------------------------------------

TEST_F(Scored, EachRangeOfLengthsHasTheScoresOfItsItems) {
  const std::vector<std::string> words = fixtures::words(80, 6);
  for (tasks::Run* run : {symbols, text}) {
    const Evaluation all = evaluate(*run, write("all.tsv", words).string(), by_length(2));
    ASSERT_THAT(all.by_length, SizeIs(3));  // of 1 to 6 letters
    std::int64_t items = 0;
    for (const Evaluation::Length& row : all.by_length) {
      std::vector<std::string> own;
      for (const std::string& word : words)
        if (static_cast<std::int64_t>(word.size()) >= row.from && static_cast<std::int64_t>(word.size()) <= row.to) own.push_back(word);
      EXPECT_EQ(row.to, row.from + 1);
      EXPECT_EQ(row.items, static_cast<std::int64_t>(own.size()));
      expect_near(row.metrics, evaluate(*run, write("own.tsv", own).string(), 1).metrics);
      items += row.items;
    }
    EXPECT_EQ(items, 80);
    EXPECT_EQ(all.by_length[1].from, 3);
  }
}

TEST_F(Scored, RangesWithoutItemsAreLeftOut) {
  const Evaluation got = evaluate(*symbols, write("two.tsv", {"a", "abcdefgh"}).string(), by_length(3));
  ASSERT_THAT(got.by_length, SizeIs(2));
  EXPECT_EQ(got.by_length[0].to, 3);
  EXPECT_EQ(got.by_length[1].from, 7);
  EXPECT_EQ(got.by_length[1].to, 9);
  EXPECT_THAT(evaluate(*symbols, "valid", 1).by_length, IsEmpty());
  EXPECT_THAT([&] { evaluate(*symbols, "valid", by_length(-1)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("length_step of at least 0, got -1")));
}

// --- alignments --------------------------------------------------------------------------------------------------------------------------

std::vector<Alignment> attention_of(tasks::Run& run, const std::vector<std::string>& words) {
  std::vector<data::TextPair> pairs;
  for (const std::string& word : words) pairs.push_back({word, fixtures::spell(word)});
  std::vector<Alignment> alignments;
  for (const Likelihood& one : likelihoods(run, pairs, true))
    alignments.push_back(hard_alignment(one.alignment.slice(0, 0, one.tokens - 1), one.source_tokens));
  return alignments;
}

TEST_F(Scored, TheAttentionIsComparedWithGoldAlignments) {
  const std::vector<std::string> words = fixtures::words(40, 6);
  const std::string file = write("aligned.tsv", words).string();
  EvaluateOptions options;
  options.gold = attention_of(*symbols, words);
  EXPECT_EQ(evaluate(*symbols, file, options).metrics.at("AER"), 0);
  AlignmentErrorRate expected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Alignment diagonal;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(words[i].size()); ++k) diagonal.push_back({k, k});
    expected.add((*options.gold)[i], diagonal);
    (*options.gold)[i] = diagonal;
  }
  EXPECT_DOUBLE_EQ(evaluate(*symbols, file, options).metrics.at("AER"), expected.error_rate());
}

TEST_F(Scored, ForcedAlignmentsHaveARowForEachTokenAndItsEnd) {
  for (const Likelihood& one : likelihoods(*symbols, {{"badge", "B A D G+ E"}, {"a", "A"}}, true)) {
    EXPECT_EQ(one.alignment.sizes(), at::IntArrayRef({one.tokens, one.source_tokens + 1}));
    EXPECT_TRUE(at::allclose(one.alignment.sum(1), at::ones({one.tokens})));
  }
  EXPECT_FALSE(likelihoods(*symbols, {{"a", "A"}})[0].alignment.defined());
  EXPECT_THAT(likelihoods(*symbols, {}), IsEmpty());
}

class WithoutAttention : public models::SequenceToSequence {
 public:
  models::ModelOutput forward(const models::TokenBatch&, const models::TokenBatch&) override { return {}; }
  models::DecoderState encode(const models::TokenBatch&) override { return {}; }
  Tensor step(const Tensor&, models::DecoderState&) override { return {}; }
};

TEST_F(Scored, GoldAlignmentsThatDoNotFitAreRefused) {
  const std::string file = write("one.tsv", {"ab"}).string();
  EvaluateOptions options;
  options.gold_name = "gold";
  options.gold = std::vector<Alignment>{{{0, 0}}, {}};
  EXPECT_THAT([&] { evaluate(*symbols, file, options); },
              ThrowsMessage<InvalidData>(StartsWith("gold: expected one line for each of the 1 pairs, got 2")));
  for (const Link& beyond : {Link{2, 0}, Link{0, 2}}) {
    options.gold = std::vector<Alignment>{{{0, 0}, beyond}};
    EXPECT_THAT([&] { evaluate(*symbols, file, options); },
                ThrowsMessage<InvalidData>(AllOf(
                    StartsWith("gold:1: the link " + alignment_text({beyond}) + " leads beyond the 2 and 2 tokens"), HasSubstr("\"ab\""))));
  }
  tasks::Run other = *symbols;
  other.model = std::make_shared<WithoutAttention>();
  EXPECT_THAT([&] { evaluate(other, file, options); }, ThrowsMessage<InvalidArgument>(HasSubstr("has no attention from target to source")));
}

}  // namespace
}  // namespace attend::tasks
