#include "tests/metric_vectors/metric_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>

#include "tests/fixtures/temporary_folder.h"

namespace attend::vectors {
namespace {

using testing::HasSubstr;

void expect_all(const std::string& set, const std::string& folder, std::optional<Tally> (*run)(const std::filesystem::path&)) {
  const std::optional<Tally> tally = run(vectors_folder() / "metrics" / folder);
  if (!tally) GTEST_SKIP() << set << ": no such vectors in " << vectors_folder();
  EXPECT_TRUE(report(set, *tally, std::cout));
}

TEST(MetricVectors, Bleu) { expect_all("vectors.bleu", "bleu", run_bleu); }
TEST(MetricVectors, Alignment) { expect_all("vectors.alignment", "alignment", run_alignment); }

std::string report_of(const std::optional<Tally>& tally, bool expected) {
  std::ostringstream text;
  EXPECT_EQ(tally.has_value() && report("set", *tally, text), expected) << text.str();
  return text.str();
}

TEST(MetricVectorSet, AnAbsentFolderHasNoTally) {
  EXPECT_FALSE(run_bleu("/nowhere").has_value());
  EXPECT_FALSE(run_alignment("/nowhere").has_value());
}

TEST(MetricVectorSet, WrongScoresAndWhatIsNotUnderstoodFail) {
  const fixtures::TemporaryFolder folder;
  folder.write("wmt17-reference.de", "the cat sat on the mat\n");
  folder.write("right.txt", "the cat sat on the mat\n");
  folder.write("wrong.txt", "the dog sat on the mat\n");
  folder.write("expected.json", R"({"wmt17_en_de_bleu_13a": {"right": 100, "wrong": 99}, "meteor": 3})");
  folder.write("notes.txt", "what?");
  const std::string text = report_of(run_bleu(folder.path()), false);
  EXPECT_THAT(text, HasSubstr("wrong: BLEU: got 53.73, wanted 99.00"));
  EXPECT_THAT(text, HasSubstr("expected.meteor: not understood"));
  EXPECT_THAT(text, HasSubstr("notes.txt: not understood"));
  EXPECT_THAT(text, HasSubstr("set: 1 of 4 cases"));
  folder.write("expected.json", "{");
  EXPECT_THAT(report_of(run_bleu(folder.path()), false), HasSubstr("expected.json: not understood: "));
}

TEST(MetricVectorSet, AlignmentsAreComparedAndRefusedAsWell) {
  const fixtures::TemporaryFolder folder;
  folder.write("gold", "1-1 2p2\n");
  folder.write("found", "0-0 1-2\n");
  folder.write("expected.json",
               R"({"cases": [{"hyp": "found", "gold": "gold", "swap_hyp": false, "aer": 33.3, "precision": 50, "recall": 100, "links": 2},
    {"hyp": "found", "gold": "gold", "swap_hyp": true, "aer": 34.3, "precision": 50, "recall": 100, "links": 12}]})");
  folder.write("more", "");
  const std::string text = report_of(run_alignment(folder.path()), false);
  EXPECT_THAT(text, HasSubstr("set: 1 of 3 cases"));
  EXPECT_THAT(text, HasSubstr("found: links: got 2, wanted 12"));
  EXPECT_THAT(text, HasSubstr("found: aer[0]: got 33.33333333, wanted 34.3"));
  EXPECT_THAT(text, HasSubstr("more: not understood"));
}

}  // namespace
}  // namespace attend::vectors
