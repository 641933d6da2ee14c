#include "attend/io/crc32c.h"

#include <array>

namespace attend::io {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // Castagnoli's, bits reversed
constexpr std::size_t slices = 8;                 // bytes taken at once (slicing-by-8, Kounavis and Berry 2005)

using Tables = std::array<std::array<std::uint32_t, 256>, slices>;

// tables[s][b]: what byte b does to the sum when s further bytes follow it.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? polynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t slice = 1; slice < slices; ++slice)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[slice][byte] = (tables[slice - 1][byte] >> 8) ^ tables[0][tables[slice - 1][byte] & 0xff];
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous) {
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::uint32_t sum = ~previous;
  std::size_t i = 0;
  for (; i + slices <= bytes.size(); i += slices) {
    sum ^= at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24;
    sum = tables[7][sum & 0xff] ^ tables[6][sum >> 8 & 0xff] ^ tables[5][sum >> 16 & 0xff] ^ tables[4][sum >> 24] ^ tables[3][at(i + 4)] ^
          tables[2][at(i + 5)] ^ tables[1][at(i + 6)] ^ tables[0][at(i + 7)];
  }
  for (; i < bytes.size(); ++i) sum = (sum >> 8) ^ tables[0][(sum ^ at(i)) & 0xff];
  return ~sum;
}

}  // namespace attend::io
