#include "bench/machine.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <vector>

#include "attend/base/format.h"
#include "attend/core/libtorch.h"
#include "bench/timing.h"
#include "core/fused_operation.h"
#include "kernels/machine_limits.h"

namespace attend::bench {
namespace {

constexpr int limit_runs = 10;

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// `run` gives the operations, or the bytes, that it did.
Limit limit_of(const std::function<double()>& run) {
  std::vector<double> rates;
  for (int i = 0; i < limit_runs; ++i) {
    const double started = seconds_now(), amount = run();
    rates.push_back(amount / (seconds_now() - started) * 1e-9);
  }
  std::sort(rates.begin(), rates.end());
  return {rates.back(), rates[rates.size() / 2]};
}

}  // namespace

std::string processor_name(std::istream& cpuinfo) {
  std::string name, family, model;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {  // a paragraph for each core
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) name = value;
    else if (line.starts_with("cpu family")) family = value;
    else if (line.starts_with("model")) model = value;
  }
  if (name.empty()) return "unknown";
  return family.empty() || model.empty() ? name : format("{} (family {}, model {})", name, family, model);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  return processor_name(file);
}

std::int64_t last_cache_size() {
  std::int64_t largest = 0;
  for (const char* index : {"2", "3", "4"}) {
    const std::string size = first_line(std::string("/sys/devices/system/cpu/cpu0/cache/index") + index + "/size");  // "32768K"
    if (!size.empty() && size.back() == 'K') largest = std::max<std::int64_t>(largest, std::stoll(size) << 10);
    if (!size.empty() && size.back() == 'M') largest = std::max<std::int64_t>(largest, std::stoll(size) << 20);
  }
  return largest > 0 ? largest : std::int64_t{64} << 20;
}

std::int64_t lost_turns() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

Limit measured_peak() {
  constexpr std::int64_t rounds = 1 << 21;  // some milliseconds: short, so that little comes in between
  const std::int64_t threads = at::get_num_threads();
  return limit_of([&] {
    std::vector<kernels::MultiplyAdds> done(static_cast<std::size_t>(threads));
    in_parallel(threads, [&](std::int64_t thread) { done[static_cast<std::size_t>(thread)] = kernels::multiply_add_chains(rounds); });
    double operations = 0;
    for (const kernels::MultiplyAdds& one : done) operations += one.operations;
    return operations;
  });
}

Limit measured_bandwidth() {
  const std::int64_t size = std::max<std::int64_t>(std::int64_t{256} << 20, 4 * last_cache_size()), threads = at::get_num_threads();
  const std::int64_t parts = 16 * threads, part = size / static_cast<std::int64_t>(sizeof(float)) / parts;
  const Tensor buffer = at::ones({parts, part}, at::kFloat);
  return limit_of([&] {
    std::vector<double> sums(static_cast<std::size_t>(parts));
    in_parallel(parts, [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] = kernels::read_sweep(part, buffer.data_ptr<float>() + i * part); });
    return static_cast<double>(parts * part) * static_cast<double>(sizeof(float));
  });
}

}  // namespace attend::bench
