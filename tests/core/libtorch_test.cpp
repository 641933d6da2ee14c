#include "attend/core/libtorch.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>

namespace attend {
namespace {

// parallel_for is a header template: compiled without OpenMP it runs on one thread and says nothing.
TEST(Libtorch, ParallelForRunsOnAsManyThreadsAsAreSet) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::mutex guard;
  std::set<std::thread::id> threads;
  at::parallel_for(0, 2, /*grain_size=*/1, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(guard);
    threads.insert(std::this_thread::get_id());
  });
  at::set_num_threads(before);
  EXPECT_EQ(threads.size(), 2u);
}

}  // namespace
}  // namespace attend
