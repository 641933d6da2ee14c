// Runs the cases of a suite: results checked, then timed, against the composed form and against the machine. Private.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/io/value.h"
#include "bench/benchmark_case.h"
#include "bench/timing.h"

namespace attend::bench {

struct CaseResult {
  std::string name;
  std::string no_fused_path;  // why there is none; empty where there is one
  std::optional<double> fused_ms, fused_spread, composed_ms, composed_spread, speedup;  // medians
  std::optional<double> fused_fastest_ms, composed_fastest_ms;                          // what a noisy machine changes least
  std::optional<double> gflops, peak_share;            // of the fused form
  std::optional<double> extra_mib, composed_extra_mib;  // memory beyond inputs and outputs
  std::optional<double> bandwidth_share;               // of cases that stream
  std::optional<double> items_per_second, composed_items_per_second;
  std::string against;
  std::optional<double> against_ratio;  // its time divided by this case's
};

struct SuiteResult {
  std::string suite, machine, simd_target, libtorch;
  std::int64_t threads = 0;
  double peak_gflops = 0;
  double lost_turns_per_second = 0;
  bool quiet = true;  // whether the peak was reached as a rule, before and after, and few turns were lost: else something else ran, and times say little
  std::optional<double> bandwidth_gb_per_second;
  std::vector<CaseResult> cases;
};

struct SuiteOptions {
  TimingOptions timing;
  bool fused_only = false;  // the composed forms are compared with, but not timed
  // Before each case: how many are done, how many there are, the name of the next.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress = {};
};

// Runs `chosen` of `cases` (all where it is empty). The peak is the best of what is measured before and after. InvalidArgument for a name that there isn't;
// InvalidData where a fused result differs from what it is compared with.
ATTEND_API SuiteResult run_suite(const std::string& suite, const std::vector<BenchmarkCase>& cases, const std::vector<std::string>& chosen,
                                 const SuiteOptions& options = {});

// What can't be: a share of the peak or of the bandwidth above 1, by the names of the cases. Empty: nothing.
ATTEND_API std::string impossible_shares(const SuiteResult& result);

// The line that measures one case again.
ATTEND_API std::string command_of(const SuiteResult& result, const std::string& name);

// {"machine", "peak_gflops", …, "cases": [{"name", "fused_ms", "composed_ms", "speedup", "gflops", "peak_share", "extra_mib", …}]}: what wasn't measured is null in
// these, and left out in further fields. Numbers to four digits.
ATTEND_API io::Value value_of(const SuiteResult& result);

}  // namespace attend::bench
