#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "attend/io/json.h"
#include "attend/io/safetensors.h"
#include "tests/cli/program.h"
#include "tests/cli/trained_run.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

const std::vector<std::string> properties = {"causality", "padding", "batch", "steps", "gradients", "rows"};

Ending check(const fs::path& folder, const std::vector<std::string>& more = {}, const std::string& input = {}) {
  std::vector<std::string> arguments = {"--threads", "1", "check", folder.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments, input);
}

// A copy of the trained run, one number of whose embeddings is none.
fs::path spoilt_run(const fixtures::TemporaryFolder& folder) {
  const fs::path copy = copy_of_trained_run(folder), file = copy / "model.safetensors";
  const io::SafetensorsFile model = io::SafetensorsFile::read(file);
  std::map<std::string, io::TensorView> tensors = model.tensors();
  const io::TensorView& weights = tensors.at("output.bias");
  std::vector<std::byte> bytes(weights.bytes.begin(), weights.bytes.end());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data(), &nan, sizeof nan);
  tensors["output.bias"].bytes = bytes;
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : model.metadata())
    if (key.starts_with("attend.model") || key.starts_with("attend.vocabulary")) metadata[key] = value;
  io::write_safetensors(file, tensors, metadata);
  return copy;
}

TEST(CheckCommand, PrintsALineForEachProperty) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--items", "3"}, {"-"}}) {
    const Ending ending = check(trained_run(), more, "badge\n\nhead\n");
    EXPECT_EQ(ending.status, 0) << ending.errors;
    const std::vector<std::string> lines = lines_of(ending.output);
    ASSERT_THAT(lines, SizeIs(properties.size()));
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_THAT(lines[i], MatchesRegex(properties[i] + " +ok +largest [-+.e0-9]+, tolerance [-+.e0-9]+, [1-9][0-9]* compared: [a-z].+"));
  }
}

TEST(CheckCommand, WritesOneObject) {
  const Ending ending = check(trained_run(), {"--json", "--items", "5"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const io::Value value = io::parse_json(ending.output, "check --json");
  EXPECT_EQ(value.at("recipe").as_text(), "letters");
  EXPECT_EQ(value.at("items").as_integer(), 5);
  const auto& findings = value.at("findings").as_list();
  ASSERT_THAT(findings, SizeIs(properties.size()));
  for (std::size_t i = 0; i < findings.size(); ++i) {
    EXPECT_EQ(findings[i].at("property").as_text(), properties[i]);
    EXPECT_TRUE(findings[i].at("passed").as_bool());
    EXPECT_LE(findings[i].at("largest").as_number(), findings[i].at("tolerance").as_number());
  }
}

TEST(CheckCommand, FailsWhereAPropertyDoes) {
  const fixtures::TemporaryFolder folder;
  const fs::path spoilt = spoilt_run(folder);
  const Ending ending = check(spoilt);
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.errors, StartsWith("attend: " + spoilt.string() + ": does not hold of this model: causality, padding, batch, steps, gradients\n"));
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(properties.size()));
  EXPECT_THAT(lines[0], StartsWith("causality  FAILS  largest nan"));
  EXPECT_THAT(lines[5], StartsWith("rows       ok"));
  const Ending json = check(spoilt, {"--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_FALSE(io::parse_json(json.output, "check --json").at("findings").as_list().at(0).at("passed").as_bool());
}

TEST(CheckCommand, SaysWhatItCannotCheckWith) {
  const auto expect = [](const std::vector<std::string>& more, int status, const std::string& why, const std::string& input = {}) {
    const Ending ending = check(trained_run(), more, input);
    EXPECT_EQ(ending.status, status);
    EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: "), HasSubstr(why)));
    EXPECT_THAT(ending.output, IsEmpty());
  };
  expect({"missing.txt"}, 1, "missing.txt: cannot be opened");
  expect({"-"}, 1, "standard input:2: byte 1 (0xff) is not UTF-8", "badge\n\xFF\n");
  expect({"-"}, 1, "expected a line that is not empty", "\n");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "badge\n";
  expect({"-"}, 1, "standard input:1001: expected at most 1000 lines", many);
  expect({"--split", "missing.tsv"}, 1, "missing.tsv: cannot be opened");
  expect({"-", "--split", "valid"}, 2, "can't be given with a FILE of lines");
  expect({"--items", "0"}, 2, "--items");
}

}  // namespace
}  // namespace attend::tests
