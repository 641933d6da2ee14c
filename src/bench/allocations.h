// How much memory tensors took while something ran. Private.
#pragma once

#include <cstdint>

#include "attend/base/api.h"

namespace attend::bench {

// While one lives, libtorch's memory on the CPU comes from an allocator that counts, on all threads. One at a time, and only where nothing else runs.
class ATTEND_API AllocationScope {
 public:
  AllocationScope();
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  // Bytes that were taken since it began and are held now, and the most that were held at any time.
  std::int64_t held() const;
  std::int64_t most_held() const;
};

}  // namespace attend::bench
