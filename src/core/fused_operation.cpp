#include "core/fused_operation.h"

#include <atomic>

namespace attend {
namespace {

std::atomic<std::int64_t> all_scratch_bytes{0};

}  // namespace

std::int64_t scratch_bytes() { return all_scratch_bytes; }

void count_scratch(std::int64_t bytes) { all_scratch_bytes += bytes; }

}  // namespace attend
