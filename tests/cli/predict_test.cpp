#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
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
using testing::AllOf;
using testing::ElementsAre;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

Ending predict(const std::string& input, const std::vector<std::string>& more = {}, const Surroundings& surroundings = {}) {
  std::vector<std::string> arguments = {"--threads", "1", "predict", trained_run().string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments, input, surroundings);
}

TEST(Predict, WritesOneLineForEachLine) {
  const Ending ending = predict("badge\n\nhead\n \nabba");
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines[1], "");
  EXPECT_EQ(lines[3], "");
  for (const std::size_t full : {0, 2, 4}) EXPECT_THAT(lines[full], MatchesRegex("[A-H][+]?( [A-H][+]?)*"));
  EXPECT_TRUE(ending.output.ends_with('\n'));
  EXPECT_THAT(ending.errors, Not(HasSubstr("\r")));
}

TEST(Predict, OfAModelWithoutAttentionHasNoAlignmentsAndSaysSo) {
  const fixtures::TemporaryFolder folder;
  const std::string recipe = folder.write("plain.toml", "format = 1\n[data]\ntrain = \"" + folder.write("train.tsv", fixtures::tsv(fixtures::words(60))).string() +
                                                            "\"\n[model]\nname = \"rnn\"\nembedding = 8\nhidden = 8\n").string(),
                    out = (folder.path() / "run").string();
  ASSERT_EQ(run(train_arguments(recipe, out, {"--set", "train.steps=2"})).status, 0);
  EXPECT_THAT(lines_of(run({"--threads", "1", "predict", out}, "badge\n\n").output), SizeIs(2));
  const Ending json = run({"--threads", "1", "predict", out, "--json"}, "badge\n");
  EXPECT_EQ(json.status, 0);
  EXPECT_THAT(json.output, HasSubstr("\"alignment\":[]"));
  const std::string record = (folder.path() / "a.attn").string();
  for (const std::vector<std::string>& wish : {std::vector<std::string>{"--alignments"}, {"--record", record}}) {
    std::vector<std::string> arguments = {"--threads", "1", "predict", out};
    arguments.insert(arguments.end(), wish.begin(), wish.end());
    const Ending refused = run(arguments, "badge\n");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.output, IsEmpty());
    EXPECT_EQ(refused.errors, "attend: " + out + ": its model \"rnn\" has no attention, so that it aligns nothing; leave out " + wish[0] + "\n");
  }
  EXPECT_FALSE(fs::exists(record));
}

TEST(Predict, LinesLongerThanThoseOfTrainingAreAnsweredAndTold) {
  const fixtures::TemporaryFolder folder;
  const fs::path copy = copy_of_trained_run(folder);
  std::string recipe = fixtures::bytes_of(copy / "recipe.toml");
  const std::string before = "longest = 200\n";
  ASSERT_NE(recipe.find(before), std::string::npos);
  recipe.replace(recipe.find(before), before.size(), "longest = 4\n");
  folder.write("copy-of-run/recipe.toml", recipe);
  const Ending ending = run({"--threads", "1", "predict", copy.string()}, "abba\nbadge\n\nabbade\n");
  EXPECT_EQ(ending.status, 0);
  EXPECT_THAT(lines_of(ending.output), SizeIs(4));
  EXPECT_EQ(lines_of(ending.output)[1], lines_of(predict("badge\n").output)[0]);
  EXPECT_EQ(ending.errors, "attend: 2 of 4 lines (the first is line 2): longer than the 4 tokens (data.longest) that training was limited to; answers may be worse\n");
  const Ending score = run({"--threads", "1", "eval", copy.string(), "--split", folder.write("test.tsv", "abba\tA B\nbadge\tB A\n").string()});
  EXPECT_EQ(score.status, 0) << score.errors;
  EXPECT_THAT(score.errors, StartsWith("attend: 1 of 2 words: longer than the 4 tokens (data.longest)"));
}

TEST(Predict, OfNothingWritesNothing) {
  const Ending ending = predict("");
  EXPECT_EQ(ending.status, 0);
  EXPECT_THAT(ending.output, IsEmpty());
}

TEST(Predict, AnswersALineBeforeTheNextOneIsWritten) {
  Program program({"--threads", "1", "predict", trained_run().string()});
  std::vector<std::string> answers;
  for (const std::string line : {"badge\n", "\n", "head\n"}) {
    program.write(line);
    const auto answer = program.read_line();  // the input is still open
    ASSERT_TRUE(answer);
    answers.push_back(*answer);
  }
  EXPECT_EQ(answers[1], "");
  const Ending ending = program.wait();
  EXPECT_EQ(ending.status, 0);
  EXPECT_EQ(ending.output, answers[0] + "\n\n" + answers[2] + "\n");
  EXPECT_EQ(ending.output, predict("badge\n\nhead\n").output);
}

TEST(Predict, AnswersManyLinesInTheirOrder) {
  std::string input;
  for (const std::string& word : fixtures::words(1000, 4)) input += word + "\n";
  const Ending ending = predict(input);
  EXPECT_EQ(ending.status, 0);
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(1000));
  const std::vector<std::string> words = fixtures::words(1000, 4);
  int near = 0;  // a trained model finds most lengths: a shuffled answer would not fit its word
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto symbols = std::count(lines[i].begin(), lines[i].end(), ' ') + 1;
    near += std::abs(symbols - static_cast<std::int64_t>(words[i].size())) <= 1;
  }
  EXPECT_GT(near, 700);
}

TEST(Predict, ReadsAFileAsItReadsAPipe) {
  const fixtures::TemporaryFolder folder;
  const std::string expected = predict("badge\nhead\n").output;
  EXPECT_EQ(predict("", {folder.write("plain", "badge\nhead\n").string()}).output, expected);
  EXPECT_EQ(predict("", {folder.write("foreign", "\xEF\xBB\xBF" "badge\r\nhead\r\n").string()}).output, expected);
  EXPECT_EQ(predict("badge\nhead\n", {"-"}).output, expected);
}

TEST(Predict, GivesTheBestAnswersOfEachLine) {
  const Ending ending = predict("badge\n\nhead\n", {"--n-best", "2", "--beam", "4"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines, Each(MatchesRegex("[13] \\|\\|\\| [A-H+ ]* \\|\\|\\| -[0-9.]+")));
  EXPECT_THAT(lines[1], StartsWith("1 "));
  EXPECT_THAT(lines[2], StartsWith("3 "));
  EXPECT_EQ(predict("badge\n", {"--n-best", "2"}).status, 0);  // the beam is as wide as it must be
  const Ending wrong = predict("", {"--n-best", "5", "--beam", "4"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("--n-best"), HasSubstr("needs a --beam of at least as many")));
}

TEST(Predict, AppendsAlignments) {
  const Ending ending = predict("badge\n\n", {"--alignments"});
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], MatchesRegex("[A-H+ ]+ \\|\\|\\| [0-4]-[0-9]+( [0-4]-[0-9]+)*"));
  EXPECT_EQ(lines[1], "");
  EXPECT_THAT(predict("badge\n", {"--alignments", "--n-best", "1"}).output, MatchesRegex("1 \\|\\|\\| .+ \\|\\|\\| -[0-9.]+ \\|\\|\\| ([0-4]-[0-9]+ ?)*\n"));
}

TEST(Predict, WritesOneObjectALine) {
  const Ending ending = predict("badge\n\n\"\xE2\x82\xAC\n", {"--json", "--n-best", "2"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(3));
  const io::Value first = io::parse_json(lines[0], "first");
  EXPECT_EQ(first.at("line").as_integer(), 1);
  EXPECT_EQ(first.at("input").as_text(), "badge");
  ASSERT_THAT(first.at("outputs").as_list(), SizeIs(2));
  const io::Value& best = first.at("outputs").as_list()[0];
  std::string text;
  for (const io::Value& token : best.at("tokens").as_list()) text += (text.empty() ? "" : " ") + token.as_text();
  EXPECT_EQ(best.at("text").as_text(), text);
  EXPECT_GE(best.at("score").as_number(), first.at("outputs").as_list()[1].at("score").as_number());
  for (const io::Value& link : best.at("alignment").as_list()) EXPECT_THAT(link.as_list(), SizeIs(2));
  EXPECT_THAT(io::parse_json(lines[1], "second").at("outputs").as_list(), IsEmpty());
  EXPECT_EQ(io::parse_json(lines[2], "third").at("input").as_text(), "\"\xE2\x82\xAC");
}

// The numbers of an n-best list, by its texts.
std::vector<std::pair<std::string, double>> scores_of(const std::string& output) {
  std::vector<std::pair<std::string, double>> scores;
  for (const std::string& line : lines_of(output)) {
    const std::size_t text = line.find(" ||| ") + 5, score = line.find(" ||| ", text);
    scores.emplace_back(line.substr(text, score - text), std::stod(line.substr(score + 5)));
  }
  return scores;
}

TEST(Predict, TakesItsPenaltiesFromTheLine) {
  const std::vector<std::string> list = {"--n-best", "4", "--beam", "4"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = list;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ending ending = predict("badge\n", arguments);
    EXPECT_EQ(ending.status, 0) << ending.errors;
    return scores_of(ending.output);
  };
  const auto none = with({"--length-penalty", "0"}), length = with({"--length-penalty", "1"}), coverage = with({"--length-penalty", "0", "--coverage-penalty", "0.5"});
  ASSERT_THAT(none, SizeIs(4));
  int found = 0;
  for (const auto& [text, score] : none) {
    const double tokens = static_cast<double>(std::count(text.begin(), text.end(), ' ')) + 2;  // and the end
    for (const auto& [other, penalised] : length)
      if (other == text) {
        ++found;
        EXPECT_NEAR(penalised, score * 6 / (5 + tokens), 2e-4) << text;
      }
    for (const auto& [other, penalised] : coverage)
      if (other == text) {
        ++found;
        EXPECT_LT(penalised, score) << text;
      }
  }
  EXPECT_GT(found, 2);
  for (const char* option : {"--length-penalty", "--coverage-penalty"}) EXPECT_EQ(predict("", {option, "-1"}).status, 2) << option;
  EXPECT_EQ(predict("badge\n", {"--replace-unknown"}).status, 0);
}

TEST(Predict, ListsAlignmentsAndObjectsAgreeWithBeams) {
  const std::vector<std::string> list = {"--n-best", "3", "--beam", "4", "--coverage-penalty", "0.2"};
  const auto with = [&](const char* more) {
    std::vector<std::string> arguments = list;
    arguments.push_back(more);
    return lines_of(predict("badge\nhead\n", arguments).output);
  };
  const std::vector<std::string> aligned = with("--alignments"), objects = with("--json");
  ASSERT_THAT(aligned, SizeIs(6));
  ASSERT_THAT(objects, SizeIs(2));
  for (std::size_t line = 0; line < 2; ++line) {
    const auto outputs = io::parse_json(objects[line], "object").at("outputs").as_list();
    ASSERT_THAT(outputs, SizeIs(3));
    for (std::size_t n = 0; n < 3; ++n) {
      std::string links;
      for (const io::Value& link : outputs[n].at("alignment").as_list())
        links += (links.empty() ? "" : " ") + std::to_string(link.as_list()[0].as_integer()) + "-" + std::to_string(link.as_list()[1].as_integer());
      EXPECT_THAT(aligned[3 * line + n], AllOf(StartsWith(std::to_string(line + 1) + " ||| " + outputs[n].at("text").as_text() + " ||| "),
                                               testing::EndsWith(" ||| " + links)));
    }
  }
}

TEST(Predict, ABadLineIsNamedAfterThoseBeforeItAreAnswered) {
  const std::string answered = predict("badge\nhead\n").output;
  const auto expect = [&](const std::string& bad, const std::string& what) {
    const Ending ending = predict("badge\nhead\n" + bad + "\nabba\n");
    EXPECT_EQ(ending.status, 1);
    EXPECT_EQ(ending.output, answered);
    EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: standard input:3: "), HasSubstr(what)));
  };
  expect("caf\xE9", "byte 4 (0xe9) is not UTF-8");
  expect(std::string(1'000'000, 'a'), "at most 65536 are read");
  const fixtures::TemporaryFolder folder;
  const fs::path file = folder.write("lines", "badge\nhead\n\xFF\n");
  const Ending ending = predict("", {file.string()});
  EXPECT_EQ(ending.output, answered);
  EXPECT_THAT(ending.errors, StartsWith("attend: " + file.string() + ":3: byte 1 (0xff)"));
}

TEST(Predict, AMegabyteWithoutALinesEndIsRefusedAndNotGathered) {
  Program program({"--threads", "1", "predict", trained_run().string()});
  program.write(std::string(1'000'000, 'a'));
  EXPECT_FALSE(program.wait_until([] { return false; }));  // it ends although its input is open
  EXPECT_EQ(program.wait().status, 1);
}

TEST(Predict, SaysWhatItCannotReadOrWrite) {
  const Ending missing = predict("", {"missing.txt"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.errors, StartsWith("attend: missing.txt: cannot be opened"));
  const Ending folder = predict("", {"/"});
  EXPECT_EQ(folder.status, 1);
  EXPECT_THAT(folder.errors, StartsWith("attend: /: "));
  const Ending full = predict("badge\n", {}, {.output = "/dev/full"});
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.errors, HasSubstr("standard output cannot be written: No space left on device"));
}

}  // namespace
}  // namespace attend::tests
