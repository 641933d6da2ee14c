#include "bench/allocations.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

namespace attend::bench {
namespace {

std::atomic<std::int64_t> held_bytes{0}, most_bytes{0};
c10::Allocator* allocator_before = nullptr;

void release(void* memory) {
  held_bytes -= static_cast<std::int64_t>(malloc_usable_size(memory));
  c10::free_cpu(memory);
}

// Takes memory from where libtorch's own allocator does. What is freed after the scope comes back through release() all the same.
class CountingAllocator : public c10::Allocator {
 public:
  // libtorch 1.13 has it const, later ones don't: whichever is there is overridden
  virtual c10::DataPtr allocate(std::size_t size) const { return taken(size); }
  virtual c10::DataPtr allocate(std::size_t size) { return taken(size); }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  // of later ones
  virtual void copy_data(void* to, const void* from, std::size_t size) const { std::memcpy(to, from, size); }

 private:
  static c10::DataPtr taken(std::size_t size) {
    void* const memory = c10::alloc_cpu(size);
    const std::int64_t now = held_bytes += static_cast<std::int64_t>(malloc_usable_size(memory));
    std::int64_t most = most_bytes;
    while (now > most && !most_bytes.compare_exchange_weak(most, now)) {
    }
    return {memory, memory, &release, c10::Device(c10::DeviceType::CPU)};
  }
};

}  // namespace

AllocationScope::AllocationScope() {
  static CountingAllocator counting;
  if (allocator_before != nullptr) throw std::logic_error("attend::bench::AllocationScope: one lives already");
  held_bytes = 0, most_bytes = 0;
  allocator_before = c10::GetCPUAllocator();
  c10::SetCPUAllocator(&counting);
}

AllocationScope::~AllocationScope() {
  c10::SetCPUAllocator(allocator_before);
  allocator_before = nullptr;
}

std::int64_t AllocationScope::held() const { return held_bytes; }

std::int64_t AllocationScope::most_held() const { return most_bytes; }

}  // namespace attend::bench
