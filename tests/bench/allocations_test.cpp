#include "bench/allocations.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "core/fused_operation.h"

namespace attend::bench {
namespace {

constexpr std::int64_t page = 4096;  // memory comes in whole pages

TEST(AllocationScope, CountsWhatIsHeldAndTheMostThatWas) {
  const Tensor before = at::ones({1 << 18});
  Tensor kept;
  {
    const AllocationScope scope;
    EXPECT_EQ(scope.held(), 0);
    kept = at::ones({1 << 18});  // 1 MiB
    { const Tensor three = at::ones({3 << 18}); }
    EXPECT_NEAR(scope.held(), 1 << 20, page);
    EXPECT_NEAR(scope.most_held(), 4 << 20, 2 * page);
  }
  EXPECT_TRUE(kept.equal(before));  // and is freed later as it was made
}

TEST(AllocationScope, CountsOnAllThreads) {
  const AllocationScope scope;
  std::vector<Tensor> tensors(4);
  in_parallel(4, [&](std::int64_t i) { tensors[static_cast<std::size_t>(i)] = at::ones({1 << 18}); });
  EXPECT_NEAR(scope.held(), 4 << 20, 4 * page);
  tensors.clear();
  EXPECT_EQ(scope.held(), 0);
}

TEST(AllocationScope, OneAtATime) {
  const AllocationScope scope;
  EXPECT_THROW(AllocationScope(), std::logic_error);
}

TEST(AllocationScope, LeavesTheAllocatorAsItWas) {
  c10::Allocator* const before = c10::GetCPUAllocator();
  {
    const AllocationScope scope;
    EXPECT_NE(c10::GetCPUAllocator(), before);
  }
  EXPECT_EQ(c10::GetCPUAllocator(), before);
}

}  // namespace
}  // namespace attend::bench
