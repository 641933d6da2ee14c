#include "attend/tasks/metrics/error_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"

namespace attend::tasks {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ErrorRate, OfNothingIsNothing) {
  const ErrorRate rate;
  EXPECT_EQ(rate.items(), 0);
  EXPECT_EQ(rate.token_errors(), 0);
  EXPECT_EQ(rate.sequence_errors(), 0);
}

TEST(ErrorRate, CountsEditsOverTheLengthOfTheReferences) {
  ErrorRate rate;
  rate.add({"K", "AE", "T"}, {{"K", "AE", "T"}});            // right
  rate.add({"D", "AO", "G", "Z"}, {{"D", "AA", "G"}});       // one substituted, one too many
  rate.add({}, {{"AH"}});                                    // one missing
  EXPECT_EQ(rate.items(), 3);
  EXPECT_DOUBLE_EQ(rate.token_errors(), 100.0 * 3 / 7);
  EXPECT_DOUBLE_EQ(rate.sequence_errors(), 100.0 * 2 / 3);
}

TEST(ErrorRate, ComparesWithTheNearestReferenceAndItsLength) {
  ErrorRate rate;
  rate.add({"R", "EH", "D"}, {{"R", "IY", "D", "ER", "Z"}, {"R", "EH", "D"}});
  EXPECT_EQ(rate.token_errors(), 0);
  rate.add({"A"}, {{"B", "C", "D"}, {"A", "B"}, {"B"}});  // "A B" and "B" are as near: the first counts
  EXPECT_DOUBLE_EQ(rate.token_errors(), 100.0 * 1 / (3 + 2));
  EXPECT_DOUBLE_EQ(rate.sequence_errors(), 50);
}

TEST(ErrorRate, MayExceedAHundredPercent) {
  ErrorRate rate;
  rate.add({"A", "B", "C"}, {{"D"}});
  EXPECT_DOUBLE_EQ(rate.token_errors(), 300);
  EXPECT_DOUBLE_EQ(rate.sequence_errors(), 100);
}

TEST(ErrorRate, NeedsAReference) {
  ErrorRate rate;
  EXPECT_THAT([&] { rate.add({"A"}, {}); }, ThrowsMessage<InvalidArgument>(HasSubstr("at least one reference")));
  EXPECT_EQ(rate.items(), 0);
}

}  // namespace
}  // namespace attend::tasks
