#include "attend/tasks/result_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "attend/base/error.h"
#include "attend/io/file.h"
#include "attend/io/json.h"
#include "attend/io/process.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;

// A run that was never trained, with the log of one that was.
class ResultLog : public testing::Test {
 protected:
  ResultLog() {
    recipe = read_recipe(temporary.write("tiny.toml", "format = 1\n[data]\ntrain = \"x\"\n[train]\nseed = 7\n[model]\nembedding = 4\nhidden = 4\ndecoder_hidden = 4\n"));
    temporary.write("run/recipe.toml", to_toml(recipe));
    temporary.write("run/metrics.jsonl", "{\"step\":5,\"seconds\":1.5}\n{\"step\":10,\"seconds\":2.25,\"valid\":{\"PER\":9.0}}\n");
    evaluation.file = temporary.write("test.tsv", "a\tA\n").string();
  }

  tasks::Run run() const {
    const data::Vocabulary vocabulary = data::Vocabulary::from_counts({{"a", 1}});
    return {RunFiles{temporary.path() / "run"}, recipe, vocabulary, vocabulary, make_model(recipe.model, 5, 5)};
  }

  static std::string sha256(const std::string& file) { return io::run_process({"sha256sum", file}, ".").output.substr(0, 64); }

  const fixtures::TemporaryFolder temporary;
  Recipe recipe;
  Evaluation evaluation{"test", "", 3, {{"PER", 9.125}, {"WER", 37.5}}};
};

TEST_F(ResultLog, AnEvaluationIsOneObject) {
  EXPECT_EQ(io::to_json(evaluation_value(run(), evaluation)),
            "{\"recipe\":\"tiny\",\"split\":\"test\",\"items\":3,\"metrics\":{\"PER\":9.125,\"WER\":37.5}}");
}

TEST_F(ResultLog, AnEvaluationSaysWhatElseWasMeasured) {
  evaluation.signatures = {{"BLEU", "nrefs:1"}};
  evaluation.by_length = {{1, 10, 2, {{"PER", 5.5}}}, {21, 30, 1, {{"PER", 7.0}}}};
  evaluation.seconds = 1.5;
  evaluation.tokens = 12;
  const std::string text = io::to_json(evaluation_value(run(), evaluation));
  EXPECT_THAT(text, testing::EndsWith("\"metrics\":{\"PER\":9.125,\"WER\":37.5},\"signatures\":{\"BLEU\":\"nrefs:1\"},"
                                      "\"decoding\":{\"seconds\":1.5,\"items_per_second\":2.0,\"tokens_per_second\":8.0},"
                                      "\"by_length\":[{\"from\":1,\"to\":10,\"items\":2,\"metrics\":{\"PER\":5.5}},"
                                      "{\"from\":21,\"to\":30,\"items\":1,\"metrics\":{\"PER\":7.0}}]}"));
}

TEST_F(ResultLog, EachResultIsOneLineThatCanBeChecked) {
  const fs::path folder = temporary.path() / "results";
  EXPECT_EQ(log_result(run(), evaluation, 1, folder), folder / "tiny.jsonl");
  log_result(run(), evaluation, 4, folder);
  std::istringstream text(fixtures::bytes_of(folder / "tiny.jsonl"));
  int lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    const io::Value value = io::parse_json(line, "tiny.jsonl");
    EXPECT_EQ(value.at("recipe").as_text(), "tiny");
    EXPECT_EQ(value.at("beam").as_integer(), lines == 0 ? 1 : 4);
    EXPECT_EQ(value.at("seed").as_integer(), 7);
    EXPECT_EQ(value.at("steps").as_integer(), 10);
    EXPECT_EQ(value.at("seconds").as_number(), 2.25);
    EXPECT_EQ(value.at("metrics").at("WER").as_number(), 37.5);
    EXPECT_EQ(value.at("data_sha256").as_text(), sha256(evaluation.file));
    EXPECT_EQ(value.at("recipe_sha256").as_text(), sha256((temporary.path() / "run/recipe.toml").string()));
    EXPECT_THAT(value.at("date").as_text(), testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}"));
    EXPECT_GE(value.at("threads").as_integer(), 1);
    EXPECT_FALSE(value.at("libtorch").as_text().empty());
  }
  EXPECT_EQ(lines, 2);
}

TEST_F(ResultLog, LeavesOutWhatTheRunCannotTell) {
  fs::remove(temporary.path() / "run/metrics.jsonl");
  const io::Value value = io::parse_json(fixtures::bytes_of(log_result(run(), evaluation, 1, temporary.path())), "log");
  EXPECT_EQ(value.find("steps"), nullptr);
  EXPECT_EQ(value.find("seconds"), nullptr);
}

TEST_F(ResultLog, SaysWhereItCannotBeWritten) {
  temporary.write("results", "a file in the way");
  EXPECT_THROW(log_result(run(), evaluation, 1, temporary.path() / "results"), SystemError);
}

}  // namespace
}  // namespace attend::tasks
