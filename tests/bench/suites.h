// The cases that are shipped, and what times of them depend on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/core/libtorch.h"
#include "bench/benchmark_case.h"

namespace attend::bench {

inline std::vector<BenchmarkCase> shipped_suite(const std::string& name) {
  return read_cases(std::filesystem::path(ATTEND_SOURCE_DIR) / "bench/cases" / (name + ".toml"));
}

inline std::vector<BenchmarkCase> shipped_cases() {
  std::vector<BenchmarkCase> all;
  for (const char* name : {"attention", "additive", "decoder"})
    for (const BenchmarkCase& one : shipped_suite(name)) all.push_back(one);
  return all;
}

// libtorch computes on one thread while this lives.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Whether times say something: not of a build that checks each access, or that isn't optimised.
inline bool times_count() {
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
  return false;
#else
  return true;
#endif
}

}  // namespace attend::bench
