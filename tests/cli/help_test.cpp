#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attend/io/json.h"
#include "tests/cli/program.h"

namespace attend::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// What `attend --help` lists.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  const std::string help = run({"--help"}).output;
  const std::size_t list = help.find("Subcommands:\n");
  EXPECT_NE(list, std::string::npos) << help;
  for (const std::string& line : lines_of(std::string_view(help).substr(list + 13))) {
    if (!line.starts_with("  ") || line[2] == ' ') break;
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

// The shortest of several runs: other programs share the machine.
double shortest_seconds(const std::vector<std::string>& arguments) {
  double shortest = 1e9;
  for (int i = 0; i < 10 && shortest > 0.05; ++i) shortest = std::min(shortest, run(arguments).seconds);
  return shortest;
}

TEST(Help, ListsTheCommands) {
  const Ending ending = run({"--help"});
  EXPECT_EQ(ending.status, 0);
  EXPECT_THAT(ending.errors, IsEmpty());
  EXPECT_THAT(ending.output, AllOf(HasSubstr("--threads"), HasSubstr("--version"), HasSubstr("attend COMMAND --help")));
  for (const char* name : {"quickstart", "data", "train", "eval", "predict", "check", "show", "view", "systems", "bench"}) EXPECT_THAT(commands(), Contains(name));
}

TEST(Help, OfEachCommandHasAnExampleThatCanBePasted) {
  for (const std::string& command : commands()) {
    const Ending ending = run({command, "--help"});
    EXPECT_EQ(ending.status, 0) << command;
    EXPECT_THAT(ending.output, ContainsRegex("\nExample:\n  (echo [a-z]+ \\| )?attend " + command)) << command;
  }
}

TEST(Help, FeelsInstant) {
  for (const std::string& command : commands()) EXPECT_LT(shortest_seconds({command, "--help"}), 0.3) << command;
  EXPECT_LT(shortest_seconds({"--help"}), 0.3);
  EXPECT_LT(shortest_seconds({"--version"}), 0.3);
}

TEST(Help, LoadsNoLibtorch) {
  for (const std::string what : {"--help", "--version"}) {
    const Ending ending = run({what}, {}, {.environment = {{"LD_DEBUG", "libs"}}});
    EXPECT_THAT(ending.errors, HasSubstr("libc.so")) << "the dynamic linker should have told which libraries it loads";
    EXPECT_THAT(ending.errors, Not(HasSubstr("libtorch"))) << what;
    EXPECT_THAT(ending.errors, Not(HasSubstr("libc10"))) << what;
  }
}

TEST(Version, SaysWhatAttendStandsOn) {
  const Ending ending = run({"--version"});
  EXPECT_EQ(ending.status, 0);
  const std::vector<std::string> lines = lines_of(ending.output);
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_THAT(lines[0], testing::MatchesRegex("attend [0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(lines[1], testing::MatchesRegex("libtorch [0-9]+\\..*"));
  EXPECT_THAT(lines[2], StartsWith("BLAS /"));
  EXPECT_THAT(lines[3], testing::MatchesRegex("SIMD .+"));
  EXPECT_THAT(lines[4], testing::MatchesRegex("threads [1-9][0-9]*"));
}

// An OpenBLAS older than the processor takes SSE kernels, a quarter as fast; attend asks it for better ones, but never against the user.
TEST(Version, BlasUsesTheProcessorsVectors) {
  const std::vector<std::string> lines = lines_of(run({"--version"}).output);
  ASSERT_THAT(lines, SizeIs(5));
  if (lines[3].find("AVX") == std::string::npos) GTEST_SKIP() << lines[3] << ": every OpenBLAS knows this processor";
  EXPECT_THAT(lines[2], Not(testing::ContainsRegex("Prescott|Core2|Penryn|Nehalem|Atom|Opteron|Barcelona"))) << lines[3];
  const std::vector<std::string> asked = lines_of(run({"--version"}, {}, {.environment = {{"OPENBLAS_CORETYPE", "Nehalem"}}}).output);
  ASSERT_THAT(asked, SizeIs(5));
  EXPECT_THAT(asked[2], HasSubstr("(Nehalem)"));
}

TEST(Systems, AreListedForPeopleAndPrograms) {
  const Ending text = run({"systems"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.output, AllOf(StartsWith("B1 "), HasSubstr("\nB3 "), HasSubstr("attend train B3-cmudict-quickstart")));
  const Ending json = run({"systems", "luong", "--json"});
  EXPECT_EQ(json.status, 0);
  const io::Value list = io::parse_json(json.output, "systems --json");
  ASSERT_THAT(list.as_list(), SizeIs(1));
  EXPECT_EQ(list.as_list()[0].at("id").as_text(), "B3");
  EXPECT_THAT(list.as_list()[0].at("recipes").as_list(), SizeIs(Gt(0u)));
}

TEST(Settings, OfARecipeAreListed) {
  const Ending ending = run({"train", "--settings"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("train.learning_rate"), HasSubstr("model.attention.score"), HasSubstr("data.train")));
}

TEST(WrongCalls, ExitWithTwoAndSayWhatIsWrong) {
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& what) {
    const Ending ending = run(arguments);
    EXPECT_EQ(ending.status, 2) << testing::PrintToString(arguments) << ending.errors;
    EXPECT_THAT(ending.output, IsEmpty());
    EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: "), HasSubstr(what)));
  };
  expect({}, "attend --help");
  expect({"trian"}, "attend --help");
  expect({"train"}, "RECIPE");
  expect({"train", "x", "--nonsense"}, "--nonsense");
  expect({"train", "x", "--set", "train.steps"}, "expected KEY=VALUE");
  expect({"predict", "x", "--beam", "0"}, "--beam");
  expect({"predict", "x", "--beam", "many"}, "--beam");
  expect({"show", "x", "--width", "3"}, "--width");
  expect({"--threads", "0", "systems"}, "--threads");
  expect({"view"}, "FILE");
  expect({"data", "cmudct"}, "did you mean \"cmudict\"?");
  expect({"data", "libreofice-help"}, "did you mean \"libreoffice-help\"?");
  expect({"data", "libreoffice-help", "--languages", "en"}, "languages: expected two that differ, as en,fr or en,zh-CN, got \"en\"");
  expect({"data", "package-descriptions-en-en"}, "got \"en-en\"");
  expect({"data", "libreoffice-help-en-fr", "--languages", "en,de"}, "names languages already");
  expect({"data", "cmudict", "--languages", "en,de"}, "in English alone");
  expect({"systems", "luon"}, "did you mean \"luong\"?");
}

}  // namespace
}  // namespace attend::tests
