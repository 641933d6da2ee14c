#include "tests/reference/philox.h"

#include <cmath>

namespace attend::reference {
namespace {

struct Product {
  std::uint32_t high, low;
};

Product multiply(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t whole = static_cast<std::uint64_t>(a) * b;
  return {static_cast<std::uint32_t>(whole >> 32), static_cast<std::uint32_t>(whole)};
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const Product first = multiply(0xD2511F53u, counter[0]), second = multiply(0xCD9E8D57u, counter[2]);
    counter = {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1], first.low};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

bool is_dropped(std::uint64_t seed, double probability, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const auto word = [](std::int64_t place) { return static_cast<std::uint32_t>(place); };
  const auto block = philox4x32_10({word(b), word(h), word(i), word(j / 4)},
                                   {static_cast<std::uint32_t>(seed & 0xFFFFFFFFu), static_cast<std::uint32_t>(seed >> 32)});
  return static_cast<double>(block[static_cast<std::size_t>(j % 4)]) < std::floor(probability * 4294967296.0);
}

}  // namespace attend::reference
