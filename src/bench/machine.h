// The machine that is measured on, and its limits. Private.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "attend/base/api.h"

namespace attend::bench {

// The processor's name, with the numbers that tell apart those of one name: "AMD EPYC (family 25, model 1)"; "unknown" where the system doesn't say.
ATTEND_API std::string processor_name();
ATTEND_API std::string processor_name(std::istream& cpuinfo);  // from the text of /proc/cpuinfo

// Bytes of the last-level cache that one core reaches; 64 MiB where the system doesn't say.
ATTEND_API std::int64_t last_cache_size();

// How often the system took a core from a thread of this process since it began, for another one that wanted it.
ATTEND_API std::int64_t lost_turns();

// Of ten runs. Where the usual one is far behind the best, something else ran.
struct Limit {
  double best = 0, median = 0;
};

// What the threads of libtorch's pool reach together: multiply-adds of float32 in registers, two operations each, in GFLOP/s; and reading a buffer of at least four
// times the last-level cache, in GB/s.
ATTEND_API Limit measured_peak();
ATTEND_API Limit measured_bandwidth();

}  // namespace attend::bench
