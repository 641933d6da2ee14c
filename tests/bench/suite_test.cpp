#include "bench/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/io/json.h"

namespace attend::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

const SuiteOptions quick = {.timing = {.seconds = 0, .fewest = 2}};

std::vector<BenchmarkCase> small_cases() {
  return {{.name = "forward", .heads = 2, .queries = 64, .keys = 64},
          {.name = "backward", .pass = Pass::forward_backward, .heads = 2, .queries = 64, .keys = 64},
          {.name = "causal", .heads = 2, .queries = 64, .keys = 64, .visible = Visible::causal, .composed = false, .against = "forward"},
          {.name = "gru", .mechanism = Mechanism::attentive_gru, .batch = 2, .queries = 2, .keys = 3, .hidden = 8, .memory = 8, .state = 8}};
}

TEST(Suite, MeasuresItsCasesInTheirOrder) {
  std::vector<std::string> seen;
  SuiteOptions options = quick;
  options.progress = [&](std::size_t done, std::size_t count, const std::string& name) {
    EXPECT_EQ(done, seen.size());
    EXPECT_EQ(count, 4u);
    seen.push_back(name);
  };
  const SuiteResult result = run_suite("small", small_cases(), {}, options);
  EXPECT_THAT(seen, ElementsAre("forward", "backward", "causal", "gru"));
  EXPECT_GT(result.peak_gflops, 0);
  EXPECT_FALSE(result.bandwidth_gb_per_second);
  ASSERT_EQ(result.cases.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const CaseResult& one = result.cases[i];
    EXPECT_EQ(one.name, seen[i]);
    ASSERT_TRUE(one.fused_ms) << one.name << one.no_fused_path;
    EXPECT_EQ(one.speedup.has_value(), one.composed_ms.has_value());
    if (one.speedup) { EXPECT_DOUBLE_EQ(*one.speedup, *one.composed_ms / *one.fused_ms); }
    EXPECT_DOUBLE_EQ(*one.peak_share, *one.gflops / result.peak_gflops);
    EXPECT_GE(*one.extra_mib, 0);
  }
  EXPECT_NEAR(*result.cases[0].gflops, 4.0 * 2 * 64 * 64 * 64 / *result.cases[0].fused_ms * 1e-6, 1e-9);
  EXPECT_GE(*result.cases[0].composed_extra_mib, 2 * 64 * 64 * 4 / 1048576.0);  // the scores
  EXPECT_FALSE(result.cases[2].composed_ms);
  EXPECT_EQ(result.cases[2].against, "forward");
  EXPECT_GT(*result.cases[2].against_ratio, 0);
  EXPECT_GT(*result.cases[3].items_per_second, 0);
}

TEST(Suite, TakesThoseThatAreChosen) {
  const SuiteResult result = run_suite("small", small_cases(), {"gru", "forward"}, quick);
  ASSERT_EQ(result.cases.size(), 2u);
  EXPECT_EQ(result.cases[0].name, "gru");
  EXPECT_EQ(result.cases[1].name, "forward");
  EXPECT_THAT([] { run_suite("small", small_cases(), {"forwrd"}, quick); }, ThrowsMessage<InvalidArgument>(HasSubstr("did you mean \"forward\"?")));
}

TEST(Suite, WithoutAFusedPathTellsWhyAndTimesTheComposedForm) {
  const BenchmarkCase one{.name = "additive", .mechanism = Mechanism::additive, .queries = 2, .keys = 3, .hidden = 8, .memory = 8};
  const SuiteResult result = run_suite("small", {one}, {}, quick);
  ASSERT_TRUE(result.cases[0].composed_ms);
  EXPECT_EQ(result.cases[0].fused_ms.has_value(), result.cases[0].no_fused_path.empty());
  if (!result.cases[0].fused_ms) { EXPECT_THAT(result.cases[0].no_fused_path, HasSubstr("path \"fused\"")); }
}

SuiteResult made_up() {
  SuiteResult result{.suite = "small", .machine = "a machine", .simd_target = "AVX2", .libtorch = "1.13.0", .threads = 2, .peak_gflops = 178.26, .lost_turns_per_second = 0, .quiet = true, .bandwidth_gb_per_second = {}, .cases = {}};
  CaseResult a, b;
  a.name = "a", a.fused_ms = 1.23456, a.composed_ms = 12345.6, a.speedup = 10000, a.gflops = 139.04, a.peak_share = 0.78, a.extra_mib = 0.0;
  b.name = "b", b.no_fused_path = "none yet", b.composed_ms = 0.00123456;
  result.cases = {a, b};
  return result;
}

TEST(Suite, JsonHasTheFieldsThatWereAgreedOn) {
  EXPECT_EQ(io::to_json(value_of(made_up())),
            R"({"machine":"a machine","peak_gflops":178.3,"quiet":true,"lost_turns_per_second":0.0,"suite":"small","threads":2,"simd_target":"AVX2","libtorch":"1.13.0","cases":[)"
            R"({"name":"a","fused_ms":1.235,"composed_ms":12350.0,"speedup":10000.0,"gflops":139.0,"peak_share":0.78,"extra_mib":0.0,)"
            R"("command":"attend bench small --case a --threads 2"},)"
            R"({"name":"b","fused_ms":null,"composed_ms":0.001235,"speedup":null,"gflops":null,"peak_share":null,"extra_mib":null,)"
            R"("no_fused_path":"none yet","command":"attend bench small --case b --threads 2"}]})");
}

TEST(Suite, SharesAboveOneAreImpossible) {
  SuiteResult result = made_up();
  EXPECT_THAT(impossible_shares(result), IsEmpty());
  result.cases[0].peak_share = 1.001;
  EXPECT_EQ(impossible_shares(result), "a");
  result.cases[1].bandwidth_share = 1.2;
  EXPECT_EQ(impossible_shares(result), "a, b");
}

}  // namespace
}  // namespace attend::bench
