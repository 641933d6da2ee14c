// Times of calls that are made in turns. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attend/base/api.h"

namespace attend::bench {

// A clock that only goes forward.
ATTEND_API double seconds_now();

// Milliseconds of one call, sorted.
struct ATTEND_API Times {
  std::vector<double> milliseconds;

  double fastest() const { return milliseconds.front(); }
  double median() const;
  // From the lower to the upper quartile, as a share of the median.
  double spread() const;
};

struct TimingOptions {
  double seconds = 2.0;         // for all forms of a case together
  std::int64_t fewest = 5, most = 200;  // samples of each form, whatever the seconds
};

// Each form is called once to warm up, then all in turns, so that what else the machine does meets them alike. A sample is as many calls as take a
// millisecond, after one that isn't timed unless calls are long: the caches hold what the form itself left there, not the others. Times of the forms in their order.
ATTEND_API std::vector<Times> time_in_turns(const std::vector<std::function<void()>>& forms, const TimingOptions& options = {});

}  // namespace attend::bench
