#include "attend/base/format.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace attend {
namespace {

TEST(Format, ReplacesEachPlaceByItsArgument) {
  EXPECT_EQ(format("expected {}, got {}", 3, std::string("four")), "expected 3, got four");
  EXPECT_EQ(format("{:.1f} %", 9.06), "9.1 %");
  EXPECT_EQ(format("{{}}"), "{}");
  EXPECT_EQ(format("{:08x}", 255u), "000000ff");
}

TEST(Format, RefusesAPatternThatDoesNotFit) {
  EXPECT_THROW(format("{} {}", 1), std::logic_error);
  EXPECT_THROW(format("{:d}", "text"), std::logic_error);
}

}  // namespace
}  // namespace attend
