#include "attend/tasks/metrics/bleu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "attend/base/error.h"
#include "tests/reference/text_scores.h"
#include "tests/reference/tolerance.h"

namespace attend::tasks {
namespace {

using reference::Type;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr auto cat = "the cat sat on the mat";

double score_of(const Bleu& bleu) { return bleu.score(); }

double bleu_of(const std::string& hypothesis, const std::vector<std::string>& references, const BleuOptions& options = {}) {
  Bleu bleu(options);
  bleu.add(hypothesis, references);
  return bleu.score();
}

bool near(double got, double wanted) { return reference::is_near(got, wanted, reference::tolerance(Type::float64, 64)); }

TEST(BleuTokens, OfMteval13aPartAsciiMarks) {
  const auto cut = [](std::string_view text) { return bleu_tokens(text, BleuTokenizer::v13a); };
  EXPECT_THAT(cut("Hello, world!"), ElementsAre("Hello", ",", "world", "!"));
  EXPECT_THAT(cut("It cost $3.50 (or 1,000)."), ElementsAre("It", "cost", "$", "3.50", "(", "or", "1,000", ")", "."));
  EXPECT_THAT(cut("don't well-known 10-12"), ElementsAre("don't", "well-known", "10", "-", "12"));
  EXPECT_THAT(cut("&quot;a&quot; &lt;b&gt; &amp;lt;"), ElementsAre("\"", "a", "\"", "<", "b", ">", "<"));
  EXPECT_THAT(cut("<skipped>in 2009."), ElementsAre("in", "2009", "."));
  EXPECT_THAT(cut("over-\nlap\nnext"), ElementsAre("overlap", "next"));
  EXPECT_THAT(cut("\u201Cyes\u201D\u2026 \u00E9t\u00E9,"), ElementsAre("\u201Cyes\u201D\u2026", "\u00E9t\u00E9", ","));
  EXPECT_THAT(cut("a,.b"), ElementsAre("a", ",", ".", "b"));
  EXPECT_THAT(cut(" \t\u3000\u00A0"), IsEmpty());
  EXPECT_THAT(cut(""), IsEmpty());
}

TEST(BleuTokens, OfTheOtherKinds) {
  EXPECT_THAT(bleu_tokens(" a,b  c. ", BleuTokenizer::none), ElementsAre("a,b", "c."));
  EXPECT_THAT(bleu_tokens("\u201Cyes\u201D 3,5 5\u20AC 2009.", BleuTokenizer::international),
              ElementsAre("\u201C", "yes", "\u201D", "3,5", "5", "\u20AC", "2009."));
  EXPECT_THAT(bleu_tokens("a \u00E9\u4E2D", BleuTokenizer::character), ElementsAre("a", "\u00E9", "\u4E2D"));
  EXPECT_THAT(bleu_tokens("\u4E2D\u56FD\u3002abc, 3.5", BleuTokenizer::chinese),
              ElementsAre("\u4E2D", "\u56FD", "\u3002", "abc", ",", "3.5"));
  EXPECT_THAT(bleu_tokens("\u201Cx\u201D\U0002000Ay", BleuTokenizer::chinese),
              ElementsAre("\u201C", "x", "\u201D", "\U0002000Ay"));  // as sacreBLEU has it
}

TEST(BleuTokens, BadBytesAreReplaced) {
  for (const BleuTokenizer tokenizer : {BleuTokenizer::none, BleuTokenizer::v13a, BleuTokenizer::chinese})
    EXPECT_THAT(bleu_tokens("a\xFF\xC3 b", tokenizer), ElementsAre("a\uFFFD\uFFFD", "b"));
  for (const BleuTokenizer tokenizer : {BleuTokenizer::international, BleuTokenizer::character})  // it is a symbol
    EXPECT_THAT(bleu_tokens("a\xFF\xC3 b", tokenizer), ElementsAre("a", "\uFFFD", "\uFFFD", "b"));
}

TEST(Bleu, IsAHundredForTheSameAndZeroForNothing) {
  EXPECT_EQ(bleu_of(cat, {cat}), 100);
  EXPECT_EQ(bleu_of("entirely different words here", {cat}), 0);
  EXPECT_EQ(bleu_of("", {cat}), 0);
  EXPECT_EQ(bleu_of(cat, {""}), 0);
  EXPECT_EQ(bleu_of("", {""}), 0);
  EXPECT_EQ(score_of(Bleu()), 0);
  EXPECT_EQ(Bleu().brevity_penalty(), 1);
}

TEST(Bleu, OfThePapersExampleClipsItsCounts) {
  // Papineni 2002, section 2.1: seven times "the" has the unigram precision 2/7
  BleuOptions options;
  options.order = 1;
  EXPECT_TRUE(near(bleu_of("the the the the the the the", {"The cat is on the mat", "There is a cat on the mat"}, options), 100.0 / 7));
  options.lower_case = true;
  EXPECT_TRUE(near(bleu_of("the the the the the the the", {"The cat is on the mat", "There is a cat on the mat"}, options), 200.0 / 7));
}

TEST(Bleu, EqualsALoopOverRandomCorpora) {
  std::mt19937 generator(5);
  int above = 0;
  for (int corpus = 0; corpus < 60; ++corpus) {
    const std::size_t items = 1 + generator() % 6;
    const auto random_words = [&] {
      Tokens words(generator() % 12);
      for (std::string& word : words) word = std::string(1, static_cast<char>('a' + generator() % 3));
      return words;
    };
    BleuOptions options;
    options.smoothing = BleuSmoothing::none;
    options.order = 1 + static_cast<std::int64_t>(generator() % 4);
    Bleu bleu(options);
    std::vector<Tokens> hypotheses;
    std::vector<std::vector<Tokens>> references;
    for (std::size_t i = 0; i < items; ++i) {
      hypotheses.push_back(random_words());
      references.emplace_back();
      for (std::size_t k = 0; k <= generator() % 3; ++k) references.back().push_back(random_words());
      bleu.add_tokens(hypotheses.back(), references.back());
    }
    const double expected = reference::bleu(hypotheses, references, static_cast<int>(options.order));
    EXPECT_TRUE(near(bleu.score(), expected)) << bleu.score() << " " << expected;
    above += expected > 0;
  }
  EXPECT_GT(above, 30);
}

TEST(Bleu, PunishesWhatIsTooShortByTheNearestReference) {
  Bleu bleu;
  bleu.add("the cat sat on", {"the cat sat on the mat", "the cat"});  // 6 and 2 are as near: 2
  EXPECT_EQ(bleu.brevity_penalty(), 1);
  bleu.add("a b", {"a b c d e", "a b c d e f"});
  EXPECT_TRUE(near(bleu.brevity_penalty(), std::exp(1 - 7.0 / 6)));
}

// Of "the cat" against "the dog": one of two words is right, none of one pair, and there is nothing longer.
TEST(Bleu, SmoothingsAreThoseOfChenAndCherry) {
  const auto smoothed = [](BleuSmoothing smoothing, std::optional<double> value) {
    BleuOptions options;
    options.smoothing = smoothing;
    options.smoothing_value = value;
    options.effective_order = true;
    return bleu_of("the cat", {"the dog"}, options);
  };
  EXPECT_TRUE(near(smoothed(BleuSmoothing::exp, {}), 100 * std::sqrt(0.5 * 0.5)));
  EXPECT_TRUE(near(smoothed(BleuSmoothing::floor, {}), 100 * std::sqrt(0.5 * 0.1)));
  EXPECT_TRUE(near(smoothed(BleuSmoothing::floor, 0.25), 100 * std::sqrt(0.5 * 0.25)));
  EXPECT_EQ(smoothed(BleuSmoothing::floor, 0.0), 0);
  EXPECT_EQ(smoothed(BleuSmoothing::none, {}), 0);
  // add-k: 1/2 · (0 + 1)/(1 + 1) · (0 + 1)/(0 + 1) · (0 + 1)/(0 + 1)
  EXPECT_TRUE(near(smoothed(BleuSmoothing::add_k, {}), 100 * std::pow(0.25, 0.25)));
}

TEST(Bleu, WithoutEffectiveOrderShortTextsAreWorthNothing) {
  EXPECT_EQ(bleu_of("the cat", {"the cat"}), 0);
  BleuOptions options;
  options.effective_order = true;
  EXPECT_EQ(bleu_of("the cat", {"the cat"}, options), 100);
}

TEST(Bleu, TheSecondMissCountsAQuarterAndSoOn) {
  // 1-grams 2/4, then 2-, 3-, 4-grams without a match: 1/2 of 3, 1/4 of 2, 1/8 of 1
  EXPECT_TRUE(near(bleu_of("a x b y", {"a b c d"}), 100 * std::pow(0.5 * (0.5 / 3) * (0.25 / 2) * 0.125, 0.25)));
}

TEST(Bleu, SaysWhatWasMeasured) {
  Bleu bleu;
  bleu.add(cat, {cat, cat});
  EXPECT_EQ(bleu.signature(), "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp");
  bleu.add(cat, {cat});
  EXPECT_EQ(bleu.signature(), "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp");
  BleuOptions options;
  options.tokenizer = BleuTokenizer::chinese;
  options.smoothing = BleuSmoothing::floor;
  options.lower_case = options.effective_order = true;
  Bleu other(options);
  other.add(cat, {cat});
  EXPECT_EQ(other.signature(), "nrefs:1|case:lc|eff:yes|tok:zh|smooth:floor[0.10]");
}

TEST(Bleu, RefusesWhatDoesNotFit) {
  Bleu bleu;
  EXPECT_THAT([&] { bleu.add(cat, {}); }, ThrowsMessage<InvalidArgument>(HasSubstr("at least one reference, got none")));
  EXPECT_EQ(bleu.items(), 0);
  BleuOptions options;
  options.order = 0;
  EXPECT_THAT([&] { Bleu refused(options); }, ThrowsMessage<InvalidArgument>(StartsWith("order: expected 1 to 16, got 0")));
  options = {};
  for (const double bad : {-0.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    options.smoothing_value = bad;
    EXPECT_THAT([&] { Bleu refused(options); },
                ThrowsMessage<InvalidArgument>(StartsWith("smoothing_value: expected a number of at least 0")));
  }
}

}  // namespace
}  // namespace attend::tasks
