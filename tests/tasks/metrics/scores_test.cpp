#include "attend/tasks/metrics/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "attend/base/error.h"

namespace attend::tasks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;
using testing::ThrowsMessage;

const ScoredAnswer answer = {{"a", "x"}, "the cat sat on a mat", {{"a", "b"}}, {"the cat sat on the mat"}};

TEST(Metrics, SayWhatTheyAre) {
  std::set<std::string_view> names;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.meaning.empty()) << metric.name;
    EXPECT_EQ(find_metric(metric.name).name, metric.name);
  }
  for (const char* more : {"BLEU", "chrF"}) EXPECT_FALSE(find_metric(more).less_is_better) << more;
  for (const char* less : {"PER", "WER", "perplexity", "AER", "loss"}) EXPECT_TRUE(find_metric(less).less_is_better) << less;
  EXPECT_THAT([] { find_metric("BLUE"); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("there is no score \"BLUE\"; did you mean \"BLEU\"?"), HasSubstr("there are PER, WER, "))));
}

TEST(Metrics, AreShownWithTheirUnit) {
  EXPECT_EQ(metric_text("PER", 9.125), "PER 9.1 %");
  EXPECT_EQ(metric_text("BLEU", 27.306), "BLEU 27.31");
  EXPECT_EQ(metric_text("of a later version", 1), "of a later version 1.00");
}

TEST(Scores, GatherWhatIsWanted) {
  Scores scores({"PER", "BLEU", "chrF", "WER", "perplexity"});
  EXPECT_TRUE(scores.needs_likelihoods());
  scores.add(answer);
  scores.add_likelihood(2 * std::log(3.0), 2);
  Bleu bleu;
  bleu.add(answer.text, answer.references);
  Chrf chrf;
  chrf.add(answer.text, answer.references);
  EXPECT_THAT(scores.values(), ElementsAre(Pair("BLEU", bleu.score()), Pair("PER", 50), Pair("WER", 100), Pair("chrF", chrf.score()),
                                           Pair("perplexity", testing::DoubleEq(3))));
  EXPECT_THAT(scores.signatures(), ElementsAre(Pair("BLEU", bleu.signature()), Pair("chrF", chrf.signature())));
  EXPECT_GT(bleu.score(), 0);
  EXPECT_EQ(scores.items(), 1);
}

TEST(Scores, GatherNothingElse) {
  Scores scores({"WER", "loss"});
  EXPECT_FALSE(scores.needs_likelihoods());
  scores.add(answer);
  scores.add_likelihood(1, 1);
  EXPECT_THAT(scores.values(), ElementsAre(Key("WER")));
  EXPECT_THAT(scores.signatures(), IsEmpty());
}

TEST(Scores, TakeTheirOptions) {
  BleuOptions bleu;
  bleu.tokenizer = BleuTokenizer::chinese;
  ChrfOptions chrf;
  chrf.order = 2;
  const Scores scores({"BLEU", "chrF"}, bleu, chrf);
  EXPECT_THAT(scores.signatures().at("BLEU"), HasSubstr("tok:zh"));
  EXPECT_THAT(scores.signatures().at("chrF"), HasSubstr("nc:2"));
  chrf.order = 0;
  EXPECT_THROW(Scores({"chrF"}, bleu, chrf), InvalidArgument);
  EXPECT_THROW(Scores({"PERR"}), InvalidArgument);
}

TEST(Scores, NeedAReference) {
  for (const char* name : {"PER", "BLEU", "chrF"}) {
    Scores scores({name});
    EXPECT_THAT([&] { scores.add({{"a"}, "a", {}, {}}); }, ThrowsMessage<InvalidArgument>(HasSubstr("at least one reference"))) << name;
    EXPECT_EQ(scores.items(), 0);
  }
}

}  // namespace
}  // namespace attend::tasks
