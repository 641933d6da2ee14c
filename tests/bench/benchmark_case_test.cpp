#include "bench/benchmark_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/suites.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::bench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::ThrowsMessage;

// What was measured is found by these names.
TEST(BenchmarkCase, NamesOfTheSuitesStay) {
  const auto names = [](const std::string& suite) {
    std::vector<std::string> all;
    for (const BenchmarkCase& one : shipped_suite(suite)) all.push_back(one.name);
    return all;
  };
  for (const char* name : {"dot-forward-12x128x64", "dot-forward-12x512x64", "dot-forward-12x1024x64", "dot-forward-4x4096x64", "dot-forward-4x16384x64",
                           "dot-forward-backward-12x1024x64", "dot-causal-forward-4x4096x64", "dot-band256-forward-4x16384x64", "dot-decode-12x1x4096x64",
                           "dot-forward-8x16x64", "dot-forward-64x64x64"})
    EXPECT_THAT(names("attention"), Contains(name));
  for (const char* name : {"additive-forward-32x32x40x256", "additive-forward-backward-32x32x40x256", "additive-forward-64x50x50x512"})
    EXPECT_THAT(names("additive"), Contains(name));
  for (const char* name : {"attentive-gru-forward-backward-128x8x8", "input-feeding-forward-backward-128x8x8", "rnnsearch-training-128x8x8", "rnnsearch-training-large-128x8x8",
                           "rnnsearch-training-64x40x40"})
    EXPECT_THAT(names("decoder"), Contains(name));
}

TEST(BenchmarkCase, CountsWhatIsVisible) {
  EXPECT_EQ(visible_pairs({.queries = 5, .keys = 7}), 35);
  for (const BenchmarkCase& one : {BenchmarkCase{.queries = 6, .keys = 6, .visible = Visible::causal}, BenchmarkCase{.queries = 4, .keys = 9, .visible = Visible::causal},
                                   BenchmarkCase{.queries = 9, .keys = 4, .visible = Visible::causal},
                                   BenchmarkCase{.queries = 10, .keys = 10, .visible = Visible::band, .left = 3},
                                   BenchmarkCase{.queries = 5, .keys = 10, .visible = Visible::band, .left = 2, .right = 1}}) {
    double pairs = 0;
    for (std::int64_t i = 0; i < one.queries; ++i)
      for (std::int64_t j = 0; j < one.keys; ++j) {
        const std::int64_t behind = j - (i + one.keys - one.queries);
        pairs += one.visible == Visible::causal ? behind <= 0 : behind >= -one.left && behind <= one.right;
      }
    EXPECT_EQ(visible_pairs(one), pairs);
  }
}

TEST(BenchmarkCase, RefusesWhatCannotBeMeant) {
  const fixtures::TemporaryFolder folder;
  const auto expect = [&](const std::string& text, const std::string& what) {
    EXPECT_THAT([&] { read_cases(folder.write("x.toml", text)); }, ThrowsMessage<Error>(HasSubstr(what))) << text;
  };
  expect("cases = []", "expected format = 1 and a list of cases");
  expect("format = 2\ncases = []", "expected format = 1");
  expect("format = 1\ncases = [\n{ name = \"a\", key = 3 }]", "did you mean \"keys\"?");
  expect("format = 1\ncases = [{ keys = 3 }]", "expected a name");
  expect("format = 1\ncases = [{ name = \"a\", heads = 0 }]", "heads: expected at least 1, got 0");
  expect("format = 1\ncases = [{ name = \"a\", maxout = 0 }]", "maxout: expected at least 1, got 0");
  expect("format = 1\ncases = [{ name = \"a\", left = -1 }]", "left ≥ 0");
  expect("format = 1\ncases = [{ name = \"a\", mechanism = \"dot\" }]", "dot-product");
  expect("format = 1\ncases = [{ name = \"a\" }, { name = \"a\" }]", "each name once, got \"a\" again");
  expect("format = 1\ncases = [{ name = \"a\", against = \"b\" }]", "there is no case \"b\"");
  expect("format = 1\ncases = [{ name = \"a\", pass = \"forward-backward\", composed = false }]", "remove composed = false");
  expect("format = 1\ncases = [{ name = \"a\", mechanism = \"additive\", streams = true }]", "only dot products");
  EXPECT_THAT([] { find_case(shipped_suite("attention"), "dot-forward-12x1024x46"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("did you mean \"dot-forward-12x1024x64\"?")));
}

}  // namespace
}  // namespace attend::bench
