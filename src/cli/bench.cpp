#include "bench/suite.h"

#include "attend/io/json.h"
#include "attend/tasks/recipe.h"
#include "cli/blas.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace attend::cli {
namespace {

// A file of cases, or a suite's name, searched in ./bench/cases, then among the installed ones.
std::filesystem::path find_suite(const std::string& name_or_file) {
  namespace fs = std::filesystem;
  if (fs::is_regular_file(name_or_file)) return name_or_file;
  std::vector<fs::path> folders = {"bench/cases"};
  if (!tasks::share_folder().empty()) folders.push_back(tasks::share_folder() / "bench/cases");
  std::string looked;
  for (const fs::path& folder : folders) {
    const fs::path file = folder / (name_or_file + ".toml");
    if (fs::is_regular_file(file)) return file;
    looked += (looked.empty() ? "" : ", ") + file.string();
  }
  throw WrongCall(format("bench: expected attention, additive, decoder, or a .toml file of cases, got \"{}\" (looked for {})", name_or_file, looked));
}

std::string milliseconds_text(const std::optional<double>& median, const std::optional<double>& spread) {
  return median ? format("{:.4g} ms ±{:.0f} %", *median, 50 * spread.value_or(0)) : "-";
}

// "name  fused 1.23 ms ±1 %  composed 4.56 ms ±2 %  3.71x  181 GFLOP/s  78 % of the peak  extra 3.1 MiB", and below it the line that repeats it.
std::string case_text(const bench::SuiteResult& suite, const bench::CaseResult& one) {
  std::string text = format("{:<42}", one.name);
  if (one.no_fused_path.empty())
    text += format("  fused {}", milliseconds_text(one.fused_ms, one.fused_spread));
  else
    text += "  no fused path";
  if (one.composed_ms) text += format("  composed {}", milliseconds_text(one.composed_ms, one.composed_spread));
  if (one.speedup) text += format("  {:.3g}x", *one.speedup);
  if (one.gflops) text += format("  {:.4g} GFLOP/s  {:.1f} % of the peak", *one.gflops, 100 * one.peak_share.value_or(0));
  if (one.extra_mib) text += format("  extra {:.3g} MiB", *one.extra_mib);
  if (one.bandwidth_share) text += format("  {:.1f} % of the bandwidth", 100 * *one.bandwidth_share);
  if (one.items_per_second) text += format("  {:.0f} pairs/s", *one.items_per_second);
  if (one.composed_items_per_second) text += format(" (composed {:.0f})", *one.composed_items_per_second);
  if (one.against_ratio) text += format("  {:.3g}x as fast as {}", *one.against_ratio, one.against);
  if (!one.no_fused_path.empty()) text += format("\n    {}", one.no_fused_path);
  return text + format("\n    {}\n", bench::command_of(suite, one.name));
}

std::string blas_text() {
  const Blas blas = find_blas();
  return blas.kernels.empty() ? blas.file : format("{} ({})", blas.file, blas.kernels);
}

void print_text(const bench::SuiteResult& result) {
  print(format("{}, {} threads, {}, libtorch {}\nBLAS {}\npeak {:.1f} GFLOP/s", result.machine, result.threads, result.simd_target, result.libtorch, blas_text(),
               result.peak_gflops));
  if (result.bandwidth_gb_per_second) print(format(", reading {:.1f} GB/s", *result.bandwidth_gb_per_second));
  print("\n\n");
  for (const bench::CaseResult& one : result.cases) print(case_text(result, one));
}

}  // namespace

void run(const BenchArguments& arguments) {
  const std::filesystem::path file = find_suite(arguments.suite);
  const std::vector<bench::BenchmarkCase> cases = bench::read_cases(file);
  try {
    for (const std::string& name : arguments.cases) bench::find_case(cases, name);
  } catch (const InvalidArgument& error) {
    throw WrongCall(error.what());
  }
  ProgressLine progress;
  bench::SuiteOptions options;
  options.timing.seconds = arguments.seconds;
  options.fused_only = arguments.fused_only;
  options.progress = [&](std::size_t done, std::size_t count, const std::string& name) {
    progress.show(static_cast<double>(done) / static_cast<double>(count), format("{} of {}: {}", done + 1, count, name));
  };
  const bench::SuiteResult result = bench::run_suite(arguments.suite, cases, arguments.cases, options);
  progress.clear();
  if (arguments.json) {
    io::Value value = bench::value_of(result);
    value.set("blas", blas_text());
    print(io::to_json(value) + "\n");
  } else {
    print_text(result);
  }
  if (!result.quiet) warn("something else ran on this machine: these times say little");
  const std::string impossible = bench::impossible_shares(result);
  if (!impossible.empty()) throw InvalidData(format("bench: more than the machine can do, so the peak was measured wrong; run again on a quiet machine: {}", impossible));
}

}  // namespace attend::cli
