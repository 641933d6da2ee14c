#include "attend/decode/back_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "attend/base/error.h"

namespace attend::decode {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

std::vector<std::int64_t> tokens_to(const BackTrace& trace, std::int64_t last) {
  std::vector<std::int64_t> tokens;
  for (const BackTrace::Node& node : trace.path(last)) tokens.push_back(node.token);
  return tokens;
}

TEST(BackTrace, HypothesesShareTheirBeginning) {
  BackTrace trace;
  const std::int64_t first = trace.add({4}), left = trace.add({5, first, 0}), right = trace.add({6, first, 1}), longest = trace.add({7, right, 9});
  EXPECT_THAT(tokens_to(trace, left), ElementsAre(4, 5));
  EXPECT_THAT(tokens_to(trace, longest), ElementsAre(4, 6, 7));
  EXPECT_EQ(trace.path(longest)[1].row, 1);
  EXPECT_EQ(trace.path(longest)[2].row, 9);
}

TEST(BackTrace, BeforeTheFirstTokenIsNothing) {
  BackTrace trace;
  EXPECT_THAT(trace.path(BackTrace::root), IsEmpty());
  EXPECT_THAT(tokens_to(trace, trace.add({4})), ElementsAre(4));
}

TEST(BackTrace, RefusesNodesThatAreNone) {
  BackTrace trace;
  const auto refusal = [](const auto& call, const char* why) {
    EXPECT_THAT(call, ThrowsMessage<InvalidArgument>(AllOf(StartsWith("attend::decode::BackTrace: expected "), HasSubstr(why))));
  };
  refusal([&] { trace.add({4, 0, 0}); }, "the node before from -1 (the root) to -1, got 0");
  trace.add({4});
  refusal([&] { trace.add({4, -2, 0}); }, "the node before from -1 (the root) to 0, got -2");
  refusal([&] { trace.path(1); }, "the last node from -1 (the root) to 0, got 1");
}

}  // namespace
}  // namespace attend::decode
