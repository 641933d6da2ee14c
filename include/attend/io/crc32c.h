// CRC-32C (Castagnoli; RFC 3720 appendix B.4): the sum over the data of each file of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attend/base/api.h"

namespace attend::io {

// The sum of `bytes` appended to what gave `previous`: crc32c(b, crc32c(a)) == crc32c(a + b).
ATTEND_API std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);

}  // namespace attend::io
