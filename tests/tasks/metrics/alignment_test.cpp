#include "attend/tasks/metrics/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "attend/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tasks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr bool possible = true;

TEST(Alignment, IsReadAndWritten) {
  const Alignment alignment = parse_alignment("0-0 1p2\t10-3\r", "x");
  EXPECT_THAT(alignment, ElementsAre(Link{0, 0}, Link{1, 2, possible}, Link{10, 3}));
  EXPECT_EQ(alignment_text(alignment), "0-0 1p2 10-3");
  EXPECT_THAT(parse_alignment("  ", "x"), IsEmpty());
  EXPECT_EQ(alignment_text({}), "");
}

TEST(Alignment, MayBeginAtOneAndHaveTheTargetFirst) {
  PharaohOptions options;
  options.first = 1;
  EXPECT_THAT(parse_alignment("1-3 2p1", "x", options), ElementsAre(Link{0, 2}, Link{1, 0, possible}));
  options.target_first = true;
  EXPECT_THAT(parse_alignment("1-3", "x", options), ElementsAre(Link{2, 0}));
}

TEST(Alignment, WhatIsNoPairIsRefusedWithItsPlace) {
  for (const char* bad : {"1", "1-", "-1", "1-2-3", "a-b", "1--2", "1-99999999999999999999", "1:2", "1-2x", "\x1b[2J-1", "1- 2"})
    EXPECT_THAT([&] { parse_alignment(bad, "gold:7"); },
                ThrowsMessage<InvalidData>(
                    AllOf(StartsWith("gold:7: expected pairs of numbers from 0 on, such as 0-0 (sure) or 0p0 (possible), got \""),
                          testing::Not(HasSubstr("\x1b")))))
        << bad;
  PharaohOptions options;
  options.first = 1;
  EXPECT_THAT([&] { parse_alignment("1-1 0-1", "gold:7", options); },
              ThrowsMessage<InvalidData>(HasSubstr("from 1 on, such as 1-1 (sure)")));
}

TEST(Alignment, AFileHasOneLineForEachItem) {
  const fixtures::TemporaryFolder folder;
  const auto file = folder.write("gold", "0-0\n\n1-1 2-2");
  const std::vector<Alignment> alignments = read_alignments(file);
  ASSERT_THAT(alignments, SizeIs(3));
  EXPECT_THAT(alignments[1], IsEmpty());
  EXPECT_THAT(alignments[2], SizeIs(2));
  EXPECT_THAT(read_alignments(folder.write("empty", "")), IsEmpty());
  const auto bad = folder.write("bad", "0-0\n0-0 x\n");
  EXPECT_THAT([&] { read_alignments(bad); }, ThrowsMessage<InvalidData>(StartsWith(bad.string() + ":2: ")));
  EXPECT_THAT([&] { read_alignments(folder.path() / "none"); }, ThrowsMessage<SystemError>(HasSubstr("cannot be opened")));
}

TEST(HardAlignment, TakesTheHeaviestSourceOfEachTarget) {
  const Tensor weights = at::tensor({0.1, 0.7, 0.2, 0.5, 0.5, 0.0, 0.1, 0.1, 0.8}, at::kDouble).view({3, 3});
  EXPECT_THAT(hard_alignment(weights, 3), ElementsAre(Link{1, 0}, Link{0, 1}, Link{2, 2}));
  EXPECT_THAT(hard_alignment(weights, 2), ElementsAre(Link{1, 0}, Link{0, 1}));            // the last column is the end of the text
  EXPECT_EQ(hard_alignment(weights.t().contiguous().t(), 3), hard_alignment(weights, 3));  // columns of memory
  EXPECT_THAT(hard_alignment(at::zeros({0, 3}), 3), IsEmpty());
  EXPECT_THAT(hard_alignment(at::zeros({2, 0}), 0), IsEmpty());
  Tensor bad = weights.clone();
  bad[1][2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(hard_alignment(bad, 3), ElementsAre(Link{1, 0}, Link{2, 2}));
  EXPECT_THAT([&] { hard_alignment(weights, 4); }, ThrowsMessage<InvalidArgument>(HasSubstr("expected 0 to 3 source tokens")));
  EXPECT_THAT([&] { hard_alignment(weights.unsqueeze(0), 3); }, ThrowsMessage<InvalidArgument>(HasSubstr("weights")));
}

TEST(AlignmentErrorRate, CountsByHand) {
  AlignmentErrorRate rate;
  rate.add({{0, 0}, {1, 1}, {2, 2}}, {{0, 0}, {1, 1, possible}, {3, 3}});  // A 3, S 2, A∩S 1, A∩P 2
  EXPECT_DOUBLE_EQ(rate.error_rate(), 100.0 * (1 - 3.0 / 5));
  EXPECT_DOUBLE_EQ(rate.precision(), 100.0 * 2 / 3);
  EXPECT_DOUBLE_EQ(rate.recall(), 50);
  rate.add({}, {{0, 0}});  // nothing found: A 3, S 3
  EXPECT_DOUBLE_EQ(rate.error_rate(), 50);
  EXPECT_EQ(rate.items(), 2);
  EXPECT_EQ(rate.links(), 3);
}

TEST(AlignmentErrorRate, CountsALinkOnce) {
  AlignmentErrorRate rate;
  rate.add({{0, 0}, {0, 0, possible}}, {{0, 0, possible}, {0, 0}, {0, 0}});
  EXPECT_EQ(rate.links(), 1);
  EXPECT_EQ(rate.error_rate(), 0);
  EXPECT_EQ(rate.recall(), 100);
}

TEST(AlignmentErrorRate, OfNothingIsNothing) {
  const AlignmentErrorRate rate;
  EXPECT_EQ(rate.error_rate(), 0);
  EXPECT_EQ(rate.precision(), 0);
  EXPECT_EQ(rate.recall(), 0);
}

}  // namespace
}  // namespace attend::tasks
