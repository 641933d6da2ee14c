// `attend eval`: scores by length, of texts, of alignments; what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/io/json.h"
#include "tests/cli/program.h"
#include "tests/cli/trained_run.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

class Scoring : public testing::Test {
 protected:
  std::string words(const std::vector<std::string>& words) const { return folder.write("words.tsv", fixtures::tsv(words)).string(); }
  const fixtures::TemporaryFolder folder;
};

TEST_F(Scoring, ByLengthIsATableBehindTheTotal) {
  const Ending ending =
      run({"eval", trained_run().string(), "--split", words({"a", "he", "bad", "abcdef", "abcdeh"}), "--by-length", "--length-step", "2"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(6)) << ending.output;
  EXPECT_THAT(lines[0], MatchesRegex("PER .* on 5 words"));
  EXPECT_EQ(lines[1], "");
  EXPECT_THAT(lines[2], MatchesRegex("source tokens +items +PER % +WER % +perplexity"));
  EXPECT_THAT(lines[3], MatchesRegex("1-2 +2 +[0-9.]+ +[0-9.]+ +[0-9.]+"));
  EXPECT_THAT(lines[4], MatchesRegex("3-4 +1 +[0-9.]+ +[0-9.]+ +[0-9.]+"));
  EXPECT_THAT(lines[5], MatchesRegex("5-6 +2 +[0-9.]+ +[0-9.]+ +[0-9.]+"));
  for (std::size_t i = 3; i < lines.size(); ++i) EXPECT_EQ(lines[i].size(), lines[2].size());
}

TEST_F(Scoring, ByLengthInJsonHasTheSameNumbersAsEachPartAlone) {
  const std::vector<std::string> few = {"a", "he", "bad"}, many = {"abcdef", "abcdeh", "abacadaeab"};
  std::vector<std::string> all = few;
  all.insert(all.end(), many.begin(), many.end());
  const io::Value whole = io::parse_json(
      run({"eval", trained_run().string(), "--split", words(all), "--by-length", "--length-step", "5", "--json"}).output, "eval");
  const auto& rows = whole.at("by_length").as_list();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].at("from").as_integer(), 1);
  EXPECT_EQ(rows[0].at("to").as_integer(), 5);
  EXPECT_EQ(rows[1].at("items").as_integer(), 3);
  const io::Value part = io::parse_json(run({"eval", trained_run().string(), "--split", words(many), "--json"}).output, "eval");
  EXPECT_EQ(part.find("by_length"), nullptr);
  for (const char* name : {"PER", "WER"})
    EXPECT_EQ(rows[1].at("metrics").at(name).as_number(), part.at("metrics").at(name).as_number()) << name;
}

TEST_F(Scoring, ATextIsScoredByBleuAndTheBestModelIsChosenByIt) {
  const fs::path recipe = fixtures::write_letters(folder), out = folder.path() / "text";
  const Ending trained =
      run(train_arguments(recipe, out,
                          {"--set", "data.target=characters", "--set", "figure.metric=BLEU", "--set", "train.steps=60", "--set",
                           "figure.at_most=100", "--set", "figure.at_least=0.1", "--set", "eval.bleu.tokenizer=char"}));
  EXPECT_EQ(trained.status, 0) << trained.errors;
  EXPECT_THAT(trained.output, HasSubstr("best on validation: BLEU "));
  const Ending text = run({"eval", out.string(), "--split", "valid"});
  EXPECT_THAT(text.output, MatchesRegex("BLEU [0-9.]+ chrF [0-9.]+ perplexity [0-9.]+ on 40 held-out words\n")) << text.errors;
  const Ending json = run({"eval", out.string(), "--split", "valid", "--json", "--log"}, {}, {.folder = folder.path()});
  const io::Value value = io::parse_json(json.output, "eval --json");
  EXPECT_EQ(value.at("signatures").at("BLEU").as_text(), "nrefs:1|case:mixed|eff:no|tok:char|smooth:exp");
  const double bleu = value.at("metrics").at("BLEU").as_number();
  double best = 0;
  for (const std::string& line : lines_of(bytes_of(out / "metrics.jsonl")))
    if (const io::Value logged = io::parse_json(line, "metrics.jsonl"); logged.find("valid") != nullptr)
      best = std::max(best, logged.at("valid").at("BLEU").as_number());
  EXPECT_GT(bleu, 0);
  EXPECT_DOUBLE_EQ(bleu, best);
  EXPECT_TRUE(io::parse_json(bytes_of(folder.path() / "results/letters.jsonl"), "log").at("metrics") == value.at("metrics"));
}

TEST_F(Scoring, GoldAlignmentsGiveAnErrorRate) {
  const std::string file = words({"abc", "he"});
  const std::string gold = folder.write("gold", "0-0 1-1 2-2\n0-0 1p1\n").string();
  const Ending ending = run({"eval", trained_run().string(), "--split", file, "--alignments", gold});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_THAT(ending.output, MatchesRegex("AER [0-9.]+ % PER .* on 2 words\n"));
  folder.write("gold", "0-0 1-1 2-2\n");
  EXPECT_THAT(run({"eval", trained_run().string(), "--split", file, "--alignments", gold}).errors,
              StartsWith("attend: " + gold + ": expected one line for each of the 2 pairs, got 1"));
  folder.write("gold", "0-0 1-1 3-2\n0-0\n");
  EXPECT_THAT(run({"eval", trained_run().string(), "--split", file, "--alignments", gold}).errors,
              StartsWith("attend: " + gold + ":1: the link 3-2 leads beyond"));
  folder.write("gold", "0-0\n0:0\n");
  const Ending bad = run({"eval", trained_run().string(), "--split", file, "--alignments", gold});
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.errors, StartsWith("attend: " + gold + ":2: expected pairs of numbers"));
}

TEST_F(Scoring, WrongCallsAreRefused) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--length-step", "5"}, {"--by-length", "--length-step", "0"}, {"--by-length", "--length-step", "x"}}) {
    std::vector<std::string> call = {"eval", trained_run().string()};
    call.insert(call.end(), more.begin(), more.end());
    EXPECT_EQ(run(call).status, 2);
  }
  const fs::path recipe = fixtures::write_letters(folder);
  const Ending unknown = run(train_arguments(recipe, folder.path() / "run", {"--set", "figure.metric=BLUE"}));
  EXPECT_NE(unknown.status, 0);
  EXPECT_THAT(unknown.errors, AllOf(HasSubstr("figure.metric: there is no score \"BLUE\""), HasSubstr("did you mean \"BLEU\"?")));
}

}  // namespace
}  // namespace attend::tests
