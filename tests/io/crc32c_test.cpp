#include "attend/io/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace attend::io {
namespace {

std::uint32_t sum(std::string_view text, std::uint32_t previous = 0) {
  return crc32c(std::as_bytes(std::span(text.data(), text.size())), previous);
}

// The polynomial division, bit by bit.
std::uint32_t sum_bit_by_bit(std::string_view text) {
  std::uint32_t sum = 0xffffffff;
  for (const unsigned char c : text) {
    sum ^= c;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? 0x82f63b78 : 0);
  }
  return ~sum;
}

TEST(Crc32c, GivesTheKnownAnswers) {
  EXPECT_EQ(sum(""), 0u);
  EXPECT_EQ(sum("123456789"), 0xe3069283u);
  // RFC 3720, appendix B.4
  EXPECT_EQ(sum(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(sum(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(sum(rising), 0x46dd794eu);
  EXPECT_EQ(sum(std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
}

TEST(Crc32c, EveryLengthEqualsTheDefinition) {
  std::string text;
  for (int length = 0; length < 70; ++length) {
    EXPECT_EQ(sum(text), sum_bit_by_bit(text)) << length;
    text += static_cast<char>(length * 37 + 11);
  }
}

TEST(Crc32c, ContinuesFromAnEarlierSum) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) EXPECT_EQ(sum(text.substr(cut), sum(text.substr(0, cut))), sum(text)) << cut;
}

}  // namespace
}  // namespace attend::io
