#include "attend/tasks/metrics/chrf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "attend/base/error.h"
#include "tests/reference/text_scores.h"
#include "tests/reference/tolerance.h"

namespace attend::tasks {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

double chrf_of(const std::string& hypothesis, const std::vector<std::string>& references, const ChrfOptions& options = {}) {
  Chrf chrf(options);
  chrf.add(hypothesis, references);
  return chrf.score();
}

bool is_close(double got, double wanted) { return reference::is_near(got, wanted, reference::tolerance(reference::Type::float64, 64)); }

TEST(Chrf, IsAHundredForTheSameAndZeroForNothing) {
  EXPECT_EQ(chrf_of("the cat", {"the cat"}), 100);
  EXPECT_EQ(chrf_of("a", {"a"}), 100);
  EXPECT_EQ(chrf_of("abc", {"xyz"}), 0);
  EXPECT_EQ(chrf_of("", {"xyz"}), 0);
  EXPECT_EQ(chrf_of("abc", {""}), 0);
  EXPECT_EQ(chrf_of("", {""}), 0);
  EXPECT_EQ(Chrf().score(), 0);
}

TEST(Chrf, EqualsALoopOverRandomCorpora) {
  std::mt19937 generator(7);
  for (int corpus = 0; corpus < 60; ++corpus) {
    ChrfOptions options;
    options.order = 1 + static_cast<std::int64_t>(generator() % 6);
    options.beta = 1 + static_cast<double>(generator() % 3);
    Chrf chrf(options);
    std::vector<std::string> hypotheses, references;
    const auto text = [&] {
      std::string letters(generator() % 15, ' ');
      for (char& letter : letters) letter = static_cast<char>('a' + generator() % 3);
      return letters;
    };
    for (std::size_t i = 0; i <= generator() % 5; ++i) {
      hypotheses.push_back(text());
      references.push_back(text());
      chrf.add(hypotheses.back(), {references.back()});
    }
    const double expected = reference::chrf(hypotheses, references, static_cast<int>(options.order), options.beta);
    EXPECT_TRUE(is_close(chrf.score(), expected)) << chrf.score() << " " << expected;
  }
}

TEST(Chrf, CountsByHand) {
  // "ab" against "abc": unigrams P 2/2 R 2/3, bigrams P 1/1 R 1/2; there are no trigrams of "ab"
  const double R = (2.0 / 3 + 0.5) / 2;
  EXPECT_TRUE(is_close(chrf_of("ab", {"abc"}), 100 * 5 * R / (4 + R)));
}

TEST(Chrf, TakesTheBestReferenceOfAnItem) {
  Chrf chrf;
  chrf.add("abcdef", {"uvwxyz", "abcdef", "abcxyz"});
  EXPECT_EQ(chrf.score(), 100);
}

TEST(Chrf, SpacesAndCaseCountWhereWanted) {
  EXPECT_EQ(chrf_of("th e\u3000cat\t", {"the cat"}), 100);
  EXPECT_LT(chrf_of("The cat", {"the cat"}), 100);
  ChrfOptions options;
  options.lower_case = true;
  EXPECT_EQ(chrf_of("\u00C9T\u00C9", {"\u00E9t\u00E9"}, options), 100);
  options.spaces = true;
  EXPECT_LT(chrf_of("th e cat", {"the cat"}, options), 100);
}

TEST(Chrf, ACharacterIsACodePoint) {
  ChrfOptions options;
  options.order = 1;
  EXPECT_TRUE(is_close(chrf_of("\u4E2D\u56FD", {"\u4E2D\u6587"}, options), 50));
  EXPECT_TRUE(is_close(chrf_of("\xFF", {"\uFFFD"}, options), 100));
}

TEST(Chrf, SaysWhatWasMeasured) {
  Chrf chrf;
  chrf.add("a", {"a"});
  EXPECT_EQ(chrf.signature(), "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no");
  chrf.add("a", {"a", "b"});
  EXPECT_THAT(chrf.signature(), StartsWith("nrefs:var|"));
}

TEST(Chrf, RefusesWhatDoesNotFit) {
  Chrf chrf;
  EXPECT_THAT([&] { chrf.add("a", {}); }, ThrowsMessage<InvalidArgument>(HasSubstr("at least one reference, got none")));
  ChrfOptions options;
  options.order = 17;
  EXPECT_THAT([&] { Chrf refused(options); }, ThrowsMessage<InvalidArgument>(StartsWith("order: expected 1 to 16, got 17")));
  options = {};
  options.beta = 0;
  EXPECT_THAT([&] { Chrf refused(options); }, ThrowsMessage<InvalidArgument>(StartsWith("beta: expected a number above 0")));
}

}  // namespace
}  // namespace attend::tasks
