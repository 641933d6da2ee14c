#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace attend::bench {
namespace {

// In milliseconds: what a longer call finds in the caches is soon no more.
constexpr double longest_warm_up = 20;

// Between two neighbours where the place is no whole number.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double seconds_of(const std::function<void()>& form, std::int64_t calls) {
  const double started = seconds_now();
  for (std::int64_t i = 0; i < calls; ++i) form();
  return seconds_now() - started;
}

// So many that reading the clock, and what else is short, doesn't matter.
std::int64_t calls_of_sample(const std::function<void()>& form) {
  constexpr double enough = 1e-3;
  form();  // warm-up
  std::int64_t calls = 1;
  while (calls < 1 << 20 && seconds_of(form, calls) < enough) calls *= 2;
  return calls;
}

}  // namespace

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Times::median() const { return quantile(milliseconds, 0.5); }

double Times::spread() const { return (quantile(milliseconds, 0.75) - quantile(milliseconds, 0.25)) / median(); }

std::vector<Times> time_in_turns(const std::vector<std::function<void()>>& forms, const TimingOptions& options) {
  std::vector<std::int64_t> calls;
  for (const auto& form : forms) calls.push_back(calls_of_sample(form));
  std::vector<Times> times(forms.size());
  const double started = seconds_now();
  for (std::int64_t sample = 0; sample < options.most && (sample < options.fewest || seconds_now() - started < options.seconds); ++sample)
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (times[i].milliseconds.empty() || times[i].milliseconds.back() < longest_warm_up) forms[i]();
      times[i].milliseconds.push_back(seconds_of(forms[i], calls[i]) * 1e3 / static_cast<double>(calls[i]));
    }
  for (Times& one : times) std::sort(one.milliseconds.begin(), one.milliseconds.end());
  return times;
}

}  // namespace attend::bench
