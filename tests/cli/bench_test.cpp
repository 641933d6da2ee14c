#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/io/json.h"
#include "tests/cli/program.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr auto small_suite =
    "format = 1\ncases = [\n"
    "{ name = \"small\", heads = 2, queries = 64, keys = 64 },\n"
    "{ name = \"smaller\", heads = 1, queries = 48, keys = 48 } ]\n";

TEST(Bench, PrintsOneJsonObject) {
  const fixtures::TemporaryFolder folder;
  const std::string file = folder.write("suite.toml", small_suite).string();
  const Ending ending = run({"bench", file, "--json", "--seconds", "0", "--threads", "1"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const io::Value result = io::parse_json(ending.output, "bench --json");
  EXPECT_FALSE(result.at("machine").as_text().empty());
  EXPECT_FALSE(result.at("blas").as_text().empty());
  EXPECT_EQ(result.at("threads").as_integer(), 1);
  EXPECT_GT(result.at("peak_gflops").as_number(), 0);
  ASSERT_THAT(result.at("cases").as_list(), SizeIs(2));
  const io::Value& first = result.at("cases").as_list()[0];
  EXPECT_EQ(first.at("name").as_text(), "small");
  for (const char* key : {"fused_ms", "composed_ms", "speedup", "gflops"}) EXPECT_GT(first.at(key).as_number(), 0) << key;
  EXPECT_GE(first.at("extra_mib").as_number(), 0);
  EXPECT_GT(first.at("peak_share").as_number(), 0);
  EXPECT_LE(first.at("peak_share").as_number(), 1);
}

TEST(Bench, SaysHowEachLineIsRepeated) {
  const fixtures::TemporaryFolder folder;
  const std::string file = folder.write("suite.toml", small_suite).string();
  const Ending ending = run({"bench", file, "--case", "smaller", "--seconds", "0", "--threads", "1"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_THAT(ending.output, AllOf(HasSubstr("GFLOP/s"), HasSubstr("BLAS /"), HasSubstr("attend bench " + file + " --case smaller --threads 1\n"),
                                   testing::Not(HasSubstr("small "))));
}

TEST(Bench, TimesTheFusedFormAloneIfAsked) {
  const fixtures::TemporaryFolder folder;
  const std::string file = folder.write("suite.toml", small_suite).string();
  const Ending ending = run({"bench", file, "--case", "smaller", "--fused-only", "--json", "--seconds", "0", "--threads", "1"});
  EXPECT_EQ(ending.status, 0) << ending.errors;
  const io::Value one = io::parse_json(ending.output, "bench --json").at("cases").as_list()[0];
  EXPECT_GT(one.at("fused_ms").as_number(), 0);
  EXPECT_TRUE(one.at("composed_ms").is_null());
}

TEST(Bench, RefusesWhatItHasNot) {
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& what) {
    const Ending ending = run(arguments);
    EXPECT_EQ(ending.status, 2) << ending.errors;
    EXPECT_THAT(ending.errors, HasSubstr(what));
  };
  expect({"bench"}, "SUITE");
  expect({"bench", "atention"}, "expected attention, additive, decoder");
  expect({"bench", "attention", "--case", "dot-forward-12x1024x46"}, "did you mean \"dot-forward-12x1024x64\"?");
  expect({"bench", "attention", "--seconds", "-1"}, "--seconds");
}

}  // namespace
}  // namespace attend::tests
