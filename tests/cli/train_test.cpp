#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

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
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// A number of steps, far more than a test waits for.
const std::vector<std::string> endless = {"--set", "train.steps=1000000", "--set", "train.log_every=1"};

class Training : public testing::Test {
 protected:
  fs::path place(const std::string& name) const { return folder.path() / name; }
  const fixtures::TemporaryFolder folder;
  const fs::path recipe = fixtures::write_letters(folder);
};

// How many lines of the log say that a step was done.
std::int64_t logged_steps(const fs::path& run) {
  std::int64_t count = 0;
  for (const std::string& line : lines_of(bytes_of(run / "metrics.jsonl"))) count += line.find("\"learning_rate\"") != std::string::npos && line.ends_with('}');
  return count;
}

TEST_F(Training, SaysWhatItReadAndWhatCameOfIt) {
  const Ending ending = run(train_arguments(recipe, place("run")));
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(4)) << ending.output;
  EXPECT_EQ(lines[0], "data      200 pairs to train on, 40 for validation");
  EXPECT_THAT(lines[1], MatchesRegex("model     [0-9]+ parameters, 12 source and 20 target tokens"));
  EXPECT_THAT(lines[2], MatchesRegex("trained   40 steps in .*; best on validation: PER .*WER .*loss .*"));
  EXPECT_EQ(lines[3], "run       " + place("run").string());
}

TEST_F(Training, DrawsNoProgressIntoAPipe) {
  const Ending ending = run(train_arguments(recipe, place("run")));
  for (const std::string& text : {ending.output, ending.errors}) EXPECT_THAT(text, AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\x1b")), Not(HasSubstr("left"))));
}

TEST_F(Training, ARunIsNamedByItsRecipeWhereNoFolderIsGiven) {
  const Ending ending = run({"--threads", "1", "train", "letters.toml", "--set", "train.steps=1"}, {}, {.folder = folder.path()});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_TRUE(fs::exists(place("runs/letters/model.safetensors")));
}

TEST_F(Training, ARecipeIsFoundByNameInTheFolderOfRecipes) {
  fs::create_directories(place("recipes"));
  fs::copy_file(recipe, place("recipes/mine.toml"));
  EXPECT_EQ(run({"--threads", "1", "train", "mine", "--set", "train.steps=1"}, {}, {.folder = folder.path()}).status, 0);
  EXPECT_TRUE(fs::exists(place("runs/mine/model.safetensors")));
}

TEST_F(Training, StopsWithAnExplanationWhereTheLossIsNoNumber) {
  const Ending ending = run(train_arguments(recipe, place("run"), {"--set", "train.learning_rate=1e36", "--set", "train.clip=0"}));
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.errors, AllOf(ContainsRegex("attend: step [0-9]+: the (loss|gradient's norm) is -?(nan|inf), not a number"),
                                   HasSubstr("Try a smaller train.learning_rate (now ")));
}

class Interrupted : public Training, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, Interrupted, testing::Values(SIGINT, SIGTERM));

TEST_P(Interrupted, SavesFirstEndsByTheSignalAndGoesOnToTheBit) {
  const std::vector<std::string> settings = {"--set", "train.steps=250", "--set", "train.log_every=1", "--set", "train.checkpoint_every=150"};
  ASSERT_EQ(run(train_arguments(recipe, place("undisturbed"), settings)).status, 0);
  Program program(train_arguments(recipe, place("stopped"), settings));
  ASSERT_TRUE(program.wait_until([&] { return logged_steps(place("stopped")) >= 7; }));
  program.send(GetParam());
  const Ending ending = program.wait();
  EXPECT_EQ(ending.signal, GetParam()) << "it ended by itself, with " << ending.status;
  EXPECT_THAT(ending.errors, ContainsRegex("attend: stopped at step [0-9]+; all is saved: go on with --resume --out " + place("stopped").string()));
  const std::int64_t steps = std::stoll(ending.errors.substr(ending.errors.find("at step ") + 8));
  EXPECT_EQ(logged_steps(place("stopped")), steps);
  const std::string digits = std::to_string(steps);
  EXPECT_TRUE(fs::exists(place("stopped/checkpoints") / ("step-" + std::string(8 - digits.size(), '0') + digits + ".safetensors")));

  std::vector<std::string> resumed = settings;
  resumed.push_back("--resume");
  EXPECT_EQ(run(train_arguments(recipe, place("stopped"), resumed)).status, 0);
  for (const char* name : {"model.safetensors", "samples.attn", "recipe.toml"})
    EXPECT_EQ(bytes_of(place("stopped") / name), bytes_of(place("undisturbed") / name)) << name;
  EXPECT_EQ(logged_steps(place("stopped")), 250);
}

TEST_F(Training, AFolderHasOneWriterAndTheOtherIsToldWho) {
  Program first(train_arguments(recipe, place("run"), endless));
  ASSERT_TRUE(first.wait_until([&] { return logged_steps(place("run")) >= 1; }));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--resume"}}) {
    const Ending second = run(train_arguments(recipe, place("run"), more));
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.errors, StartsWith("attend: " + place("run").string() + ": another process (" + std::to_string(first.process()) +
                                          ") is writing here; wait until it ends, or choose another folder"));
  }
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().signal, SIGTERM);
}

// --- what a run is for -------------------------------------------------------------------------------------------------------------------

TEST(TrainedRunOfTheTool, IsScored) {
  const fixtures::TemporaryFolder folder;
  const fs::path test = trained_run().parent_path() / "test.tsv";
  fixtures::TemporaryFolder words;
  fs::copy_file(words.write("test.tsv", fixtures::tsv(fixtures::words(40, 3))), test, fs::copy_options::overwrite_existing);
  const Ending text = run({"eval", trained_run().string()});
  EXPECT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.output, MatchesRegex("PER [0-9.]+ % WER [0-9.]+ % perplexity [0-9.]+ on 40 held-out words\nfigure: at most 60 PER: (reached|missed)\n"));
  const Ending json = run({"eval", trained_run().string(), "--split", "valid", "--json", "--log"}, {}, {.folder = folder.path()});
  EXPECT_EQ(json.status, 0) << json.errors;
  const io::Value value = io::parse_json(json.output, "eval --json");
  EXPECT_EQ(value.at("recipe").as_text(), "letters");
  EXPECT_EQ(value.at("split").as_text(), "valid");
  EXPECT_EQ(value.at("items").as_integer(), 40);
  EXPECT_LT(value.at("metrics").at("PER").as_number(), 60);
  const io::Value logged = io::parse_json(bytes_of(folder.path() / "results/letters.jsonl"), "letters.jsonl");
  EXPECT_TRUE(logged.at("metrics") == value.at("metrics"));
  for (const char* rate : {"seconds", "items_per_second", "tokens_per_second"}) EXPECT_GT(value.at("decoding").at(rate).as_number(), 0) << rate;
  EXPECT_TRUE(logged.at("decoding") == value.at("decoding"));
  EXPECT_EQ(logged.at("steps").as_integer(), 250);
  EXPECT_THAT(text.errors + json.errors, Not(HasSubstr("\r")));
}

TEST(TrainedRunOfTheTool, ShowsWhereItLooked) {
  const fixtures::TemporaryFolder folder;
  const std::string record = (folder.path() / "words.attn").string();
  const Ending predicted = run({"predict", trained_run().string(), "--record", record}, "badge\n\nhead\n");
  EXPECT_EQ(predicted.status, 0) << predicted.errors;
  EXPECT_THAT(lines_of(predicted.output), SizeIs(3));
  for (const std::string& file : {record, (trained_run() / "samples.attn").string()}) {
    const Ending shown = run({"show", file, "--width", "80"});
    EXPECT_EQ(shown.status, 0) << shown.errors;
    EXPECT_THAT(shown.output, AllOf(HasSubstr("</s>"), Not(HasSubstr("\x1b"))));
    for (const std::string& line : lines_of(shown.output)) EXPECT_LT(line.size(), 80u * 4);
  }
  const Ending third = run({"show", record, "--example", "3", "--ascii"});
  EXPECT_THAT(third.output, ContainsRegex("h +e +a +d +</s>"));
  EXPECT_EQ(third.output.find("</s>"), third.output.rfind("</s>"));  // one example alone
  for (const char letter : third.output) EXPECT_TRUE(static_cast<unsigned char>(letter) < 128) << third.output;
  const Ending missing = run({"show", record, "--example", "9"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.errors, StartsWith("attend: " + record + ": has no example with the id \"9\""));
}

TEST(TrainedRunOfTheTool, IsDrawnAsPictures) {
  const fixtures::TemporaryFolder folder;
  const std::string samples = (trained_run() / "samples.attn").string();
  const fs::path svg = folder.path() / "a.svg", png = folder.path() / "a.png";
  EXPECT_EQ(run({"view", samples, "--export", svg.string()}).status, 0);
  const std::string whole = bytes_of(svg);
  EXPECT_EQ(run({"view", trained_run().string(), "--export", svg.string()}).status, 0);
  EXPECT_EQ(bytes_of(svg), whole);
  EXPECT_EQ(run({"show", trained_run().string()}).output, run({"show", samples}).output);
  const Ending empty = run({"show", folder.path().string()});
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.errors, StartsWith("attend: " + folder.path().string() + ": holds no samples.attn"));
  EXPECT_THAT(bytes_of(svg), AllOf(HasSubstr("<svg"), HasSubstr("</svg>")));
  EXPECT_EQ(run({"view", samples, "--export", png.string(), "--dark", "--example", "2"}).status, 0);
  EXPECT_THAT(bytes_of(png), StartsWith("\x89PNG\r\n\x1a\n"));
  const Ending other = run({"view", samples, "--export", (folder.path() / "a.pdf").string()});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.errors, HasSubstr("expected a name that ends in .html, .svg or .png"));
}

}  // namespace
}  // namespace attend::tests
