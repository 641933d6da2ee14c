#include "bench/suite.h"

#include <algorithm>
#include <cmath>

#include "attend/addressing/simd_target.h"
#include "attend/core/libtorch.h"
#include "bench/allocations.h"
#include "bench/machine.h"
#include "bench/operation.h"
#include "core/fused_operation.h"

namespace attend::bench {
namespace {

constexpr double mib = 1 << 20;
// Of a machine that does nothing else: its runs differ by less, and its threads lose fewer turns, where one that shares a core loses some hundred in a second.
constexpr double quiet_share = 0.9, quiet_lost_turns = 20;

// The reason why the library has no fused path for it; empty where it has.
std::string refusal(const Operation& operation) {
  try {
    operation.fused(0);
    return "";
  } catch (const NotSupported& error) {
    return error.what();
  }
}

void check_results(const BenchmarkCase& one, const Operation& operation) {
  const std::vector<Tensor> got = operation.fused(0);
  std::string difference;
  if (one.composed) {
    difference = disagreement(got, operation.composed(0), one.keys);
  } else {
    const Tensor wanted = operation.last_queries();
    difference = disagreement({got.front().slice(2, one.queries - wanted.size(2))}, {wanted.to(at::kFloat)}, one.keys);
  }
  if (!difference.empty()) throw InvalidData(format("bench: {}: the fused form is wrong: {}", one.name, difference));
}

// Beyond inputs, which are there before, and outputs, which are there at the end; scratch memory of kernels stays, and counts.
double extra_mib(const std::function<std::vector<Tensor>(std::int64_t)>& form) {
  const AllocationScope scope;
  const std::vector<Tensor> results = form(0);
  return static_cast<double>(scope.most_held() - scope.held() + scratch_bytes()) / mib;
}

// A form that takes another copy of the inputs each time.
std::function<void()> rotating(const Operation& operation, const std::function<std::vector<Tensor>(std::int64_t)>& form) {
  return [&operation, &form, next = std::int64_t{0}]() mutable {
    form(next);
    next = (next + 1) % operation.copies;
  };
}

struct Forms {
  std::vector<std::function<void()>> all;
  std::optional<std::size_t> fused, composed, against;

  void add(std::optional<std::size_t>& place, std::function<void()> form) {
    place = all.size();
    all.push_back(std::move(form));
  }
};

std::optional<double> rate(double items, const std::optional<double>& milliseconds) {
  return items > 0 && milliseconds ? std::optional(items / *milliseconds * 1e3) : std::nullopt;
}

CaseResult run_case(const BenchmarkCase& one, const BenchmarkCase* against, const SuiteOptions& options) {
  CaseResult result;
  result.name = one.name;
  const Operation operation = make_operation(one);
  result.no_fused_path = refusal(operation);
  const bool fused = result.no_fused_path.empty();
  if (fused) check_results(one, operation);
  const std::optional<Operation> other = against != nullptr && fused ? std::optional(make_operation(*against)) : std::nullopt;
  Forms forms;
  if (fused) forms.add(forms.fused, rotating(operation, operation.fused));
  if (one.composed && !options.fused_only) forms.add(forms.composed, rotating(operation, operation.composed));
  if (other && refusal(*other).empty()) forms.add(forms.against, rotating(*other, other->fused));
  const std::vector<Times> times = time_in_turns(forms.all, options.timing);
  if (forms.composed) {
    result.composed_ms = times[*forms.composed].median(), result.composed_fastest_ms = times[*forms.composed].fastest();
    result.composed_spread = times[*forms.composed].spread();
    result.composed_extra_mib = extra_mib(operation.composed);
    result.composed_items_per_second = rate(operation.items, result.composed_ms);
  }
  if (!forms.fused) return result;
  result.fused_ms = times[*forms.fused].median(), result.fused_fastest_ms = times[*forms.fused].fastest(), result.fused_spread = times[*forms.fused].spread();
  result.extra_mib = extra_mib(operation.fused);
  result.gflops = operation.operations / *result.fused_ms * 1e-6;
  result.items_per_second = rate(operation.items, result.fused_ms);
  if (result.composed_ms) result.speedup = *result.composed_ms / *result.fused_ms;
  if (operation.bytes > 0) result.bandwidth_share = operation.bytes / *result.fused_ms * 1e-6;  // GB/s, divided by the machine's when that is known
  if (forms.against) result.against = against->name, result.against_ratio = times[*forms.against].median() / *result.fused_ms;
  return result;
}

// Four digits: more would only be noise.
io::Value number(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (*value == 0) return 0.0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(*value))) - 3);
  return unit >= 1 ? std::round(*value / unit) * unit : std::round(*value / unit) / std::round(1 / unit);
}

io::Value value_of(const CaseResult& one, const std::string& command) {
  io::Value value = io::Value::table();
  value.set("name", one.name);
  for (const auto& [key, measured] : {std::pair("fused_ms", one.fused_ms), std::pair("composed_ms", one.composed_ms), std::pair("speedup", one.speedup),
                                      std::pair("gflops", one.gflops), std::pair("peak_share", one.peak_share), std::pair("extra_mib", one.extra_mib)})
    value.set(key, number(measured));
  for (const auto& [key, measured] :
       {std::pair("fused_fastest_ms", one.fused_fastest_ms), std::pair("composed_fastest_ms", one.composed_fastest_ms), std::pair("fused_spread", one.fused_spread),
        std::pair("composed_spread", one.composed_spread), std::pair("composed_extra_mib", one.composed_extra_mib),
        std::pair("bandwidth_share", one.bandwidth_share), std::pair("items_per_second", one.items_per_second),
        std::pair("composed_items_per_second", one.composed_items_per_second), std::pair("against_ratio", one.against_ratio)})
    if (measured) value.set(key, number(measured));
  if (!one.against.empty()) value.set("against", one.against);
  if (!one.no_fused_path.empty()) value.set("no_fused_path", one.no_fused_path);
  value.set("command", command);
  return value;
}

}  // namespace

SuiteResult run_suite(const std::string& suite, const std::vector<BenchmarkCase>& cases, const std::vector<std::string>& chosen, const SuiteOptions& options) {
  std::vector<const BenchmarkCase*> wanted;
  for (const std::string& name : chosen) wanted.push_back(&find_case(cases, name));
  if (chosen.empty())
    for (const BenchmarkCase& one : cases) wanted.push_back(&one);
  SuiteResult result;
  result.suite = suite, result.machine = processor_name(), result.simd_target = addressing::simd_target(), result.libtorch = TORCH_VERSION;
  result.threads = at::get_num_threads();
  const bool streams = std::any_of(wanted.begin(), wanted.end(), [](const BenchmarkCase* one) { return one->streams; });
  const double started = seconds_now(), turns_before = static_cast<double>(lost_turns());
  const Limit peak_before = measured_peak(), bandwidth_before = streams ? measured_bandwidth() : Limit();
  for (const BenchmarkCase* one : wanted) {
    if (options.progress) options.progress(result.cases.size(), wanted.size(), one->name);
    result.cases.push_back(run_case(*one, one->against ? &find_case(cases, *one->against) : nullptr, options));
  }
  const Limit peak_after = measured_peak();
  const double peak = std::max(peak_before.best, peak_after.best);
  result.peak_gflops = peak, result.lost_turns_per_second = (static_cast<double>(lost_turns()) - turns_before) / (seconds_now() - started);
  result.quiet = std::min(peak_before.median, peak_after.median) >= quiet_share * peak && result.lost_turns_per_second < quiet_lost_turns;
  if (streams) result.bandwidth_gb_per_second = std::max(bandwidth_before.best, measured_bandwidth().best);
  for (CaseResult& one : result.cases) {
    if (one.gflops) one.peak_share = *one.gflops / peak;
    if (one.bandwidth_share) one.bandwidth_share = *one.bandwidth_share / *result.bandwidth_gb_per_second;
  }
  return result;
}

std::string impossible_shares(const SuiteResult& result) {
  std::string names;
  for (const CaseResult& one : result.cases)
    if (one.peak_share.value_or(0) > 1 || one.bandwidth_share.value_or(0) > 1) names += (names.empty() ? "" : ", ") + one.name;
  return names;
}

std::string command_of(const SuiteResult& result, const std::string& name) {
  return format("attend bench {} --case {} --threads {}", result.suite, name, result.threads);
}

io::Value value_of(const SuiteResult& result) {
  io::Value value = io::Value::table(), cases = io::Value::list();
  for (const CaseResult& one : result.cases) cases.append(value_of(one, command_of(result, one.name)));
  value.set("machine", result.machine);
  value.set("peak_gflops", number(result.peak_gflops));
  if (result.bandwidth_gb_per_second) value.set("bandwidth_gb_per_second", number(result.bandwidth_gb_per_second));
  value.set("quiet", result.quiet);
  value.set("lost_turns_per_second", number(result.lost_turns_per_second));
  value.set("suite", result.suite);
  value.set("threads", result.threads);
  value.set("simd_target", result.simd_target);
  value.set("libtorch", result.libtorch);
  value.set("cases", cases);
  return value;
}

}  // namespace attend::bench
