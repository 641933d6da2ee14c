#include "attend/decode/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attend/base/error.h"

namespace attend::decode {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr std::int64_t begin = 2, end = 3, a = 4, b = 5, c = 6;
constexpr std::int64_t vocabulary = 7;
constexpr double nothing = -std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Sequence = std::vector<std::int64_t>;
// Log-probabilities of the token that follows `prefix`, for each source.
using Table = std::function<std::vector<double>(std::size_t source, const Sequence& prefix)>;

// A probability for each token, as log-probabilities.
std::vector<double> chances(std::initializer_list<std::pair<std::int64_t, double>> given) {
  std::vector<double> row(vocabulary, nothing);
  for (const auto& [token, probability] : given) row[static_cast<std::size_t>(token)] = std::log(probability);
  return row;
}

// A number that depends on all of a prefix.
std::uint32_t mixed(std::uint32_t seed, const Sequence& prefix) {
  std::vector<std::uint32_t> parts = {seed};
  for (const std::int64_t token : prefix) parts.push_back(static_cast<std::uint32_t>(token));
  std::seed_seq sequence(parts.begin(), parts.end());
  std::uint32_t number[1];
  sequence.generate(number, number + 1);
  return number[0];
}

// Peaky distributions at random, another one for each prefix.
Table random_table(std::uint32_t seed) {
  return [seed](std::size_t source, const Sequence& prefix) {
    std::mt19937 generator(mixed(seed + 1000 * static_cast<std::uint32_t>(source), prefix));
    std::normal_distribution<double> normal(0, 2);
    std::vector<double> row(vocabulary);
    double sum = 0;
    for (double& value : row) value = normal(generator), sum += std::exp(value);
    for (double& value : row) value -= std::log(sum);
    return row;
  };
}

// Where the model of a table looks after `prefix`, over three source tokens.
std::vector<float> looked_at(std::size_t source, const Sequence& prefix) {
  const auto number = static_cast<float>(mixed(static_cast<std::uint32_t>(source), prefix) % 1000) / 1000;
  return {number, 1 - number, static_cast<float>(prefix.size())};
}

// A model that is a table. Its state is what each row has read so far; it checks that it is called as a stepper may be.
class TableModel {
 public:
  TableModel(Table table, std::size_t sources) : table_(std::move(table)) {
    for (std::size_t i = 0; i < sources; ++i) rows_.push_back({i, {}});
  }
  TableModel(const TableModel&) = delete;

  Stepper stepper(bool with_alignment = false) {
    Stepper stepper;
    stepper.step = [this](const Tensor& previous) { return step(previous); };
    stepper.reorder = [this](const Tensor& rows) { reorder(rows); };
    if (with_alignment) stepper.alignment = [this] { return alignment(); };
    return stepper;
  }

  std::size_t most_rows() const { return most_rows_; }
  int steps() const { return steps_; }

 private:
  struct Row {
    std::size_t source;
    Sequence prefix;
  };

  Tensor step(const Tensor& previous) {
    EXPECT_EQ(previous.scalar_type(), at::kLong);
    EXPECT_EQ(previous.sizes(), at::IntArrayRef({static_cast<std::int64_t>(rows_.size())}));
    most_rows_ = std::max(most_rows_, rows_.size());
    std::vector<double> values;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto token = previous[static_cast<std::int64_t>(i)].item<std::int64_t>();
      if (steps_ == 0)
        EXPECT_EQ(token, begin);
      else
        rows_[i].prefix.push_back(token);
      const std::vector<double> row = table_(rows_[i].source, rows_[i].prefix);
      values.insert(values.end(), row.begin(), row.end());
    }
    ++steps_;
    return at::tensor(values, at::kDouble).view({static_cast<std::int64_t>(rows_.size()), vocabulary});
  }

  void reorder(const Tensor& chosen) {
    std::vector<Row> kept;
    for (std::int64_t i = 0; i < chosen.size(0); ++i) kept.push_back(rows_.at(static_cast<std::size_t>(chosen[i].item<std::int64_t>())));
    rows_ = std::move(kept);
  }

  Tensor alignment() const {
    std::vector<Tensor> weights;
    for (const Row& row : rows_) weights.push_back(at::tensor(looked_at(row.source, row.prefix)));
    return at::stack(weights);
  }

  Table table_;
  std::vector<Row> rows_;
  std::size_t most_rows_ = 0;
  int steps_ = 0;
};

std::vector<Hypothesis> search_one(const Table& table, std::int64_t longest, const SearchOptions& options = {}) {
  TableModel model(table, 1);
  return search(model.stepper(), {longest}, options).at(0);
}

SearchOptions beam_of(std::int64_t beam, std::int64_t n_best = 1, double length_penalty = 0.6) {
  SearchOptions options;
  options.beam = beam;
  options.n_best = n_best;
  options.length_penalty = length_penalty;
  return options;
}

double penalty(std::size_t length, double alpha) { return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha); }

// Σ_i log(min(Σ_j p_ij, 1)) over the first `covered` source tokens, by the definition.
double coverage(std::size_t source, const Sequence& tokens, std::size_t covered) {
  double sum = 0;
  for (std::size_t i = 0; i < covered; ++i) {
    double weight = 0;
    for (std::size_t j = 0; j < tokens.size(); ++j)
      weight += static_cast<double>(looked_at(source, Sequence(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(j)))[i]);
    sum += std::log(std::max(std::min(weight, 1.0), 1e-10));
  }
  return sum;
}

// Everything that a table can say within `longest` tokens: what ends by itself first, then what is cut, each by its score.
std::vector<Hypothesis> enumerate(const Table& table, std::size_t longest, double alpha, double beta = 0, std::size_t covered = 0) {
  std::vector<Hypothesis> all;
  const auto extend = [&](auto& self, const Sequence& prefix, double log_probability) -> void {
    const std::vector<double> row = table(0, prefix);
    Hypothesis ended;
    ended.tokens = prefix;
    ended.log_probability = log_probability + row[end];
    ended.score = ended.log_probability / penalty(prefix.size() + 1, alpha) + beta * coverage(0, prefix, covered);
    ended.ended = true;
    all.push_back(ended);
    for (const std::int64_t token : {a, b, c}) {
      Sequence longer = prefix;
      longer.push_back(token);
      const double sum = log_probability + row[static_cast<std::size_t>(token)];
      if (longer.size() < longest) {
        self(self, longer, sum);
        continue;
      }
      Hypothesis cut;
      cut.tokens = longer;
      cut.log_probability = sum;
      cut.score = sum / penalty(longer.size(), alpha) + beta * coverage(0, longer, covered);
      all.push_back(cut);
    }
  };
  extend(extend, {}, 0);
  std::ranges::sort(all, [](const Hypothesis& x, const Hypothesis& y) { return x.ended != y.ended ? x.ended : x.score > y.score; });
  return all;
}

// log p(tokens [, end]) by the table itself.
double rescored(const Table& table, std::size_t source, const Hypothesis& hypothesis) {
  double sum = 0;
  Sequence prefix;
  for (const std::int64_t token : hypothesis.tokens) {
    sum += table(source, prefix)[static_cast<std::size_t>(token)];
    prefix.push_back(token);
  }
  return hypothesis.ended ? sum + table(source, prefix)[end] : sum;
}

// "a b" is the best answer (0.36 with its end), but c is the likelier beginning.
std::vector<double> garden_path(std::size_t, const Sequence& prefix) {
  if (prefix.empty()) return chances({{a, 0.4}, {c, 0.6}});
  if (prefix == Sequence{a}) return chances({{b, 0.9}, {end, 0.1}});
  if (prefix == Sequence{c}) return chances({{a, 0.3}, {b, 0.3}, {c, 0.2}, {end, 0.2}});
  return chances({{end, 1.0}});
}

// --- greedy search -----------------------------------------------------------------------------------------------------------------------

TEST(Greedy, TakesTheMostProbableTokenAtEachStep) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Table table = random_table(seed);
    Sequence expected;
    bool ended = false;
    while (!ended && expected.size() < 6) {
      const std::vector<double> row = table(0, expected);
      const auto best = std::max_element(row.begin() + end, row.end()) - row.begin();  // what stands before is forbidden
      ended = best == end;
      if (!ended) expected.push_back(best);
    }
    const std::vector<Hypothesis> found = search_one(table, 6);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].tokens, expected) << "table " << seed;
    EXPECT_EQ(found[0].ended, ended);
    EXPECT_DOUBLE_EQ(found[0].log_probability, rescored(table, 0, found[0]));
  }
}

TEST(Greedy, FollowsTheGardenPath) { EXPECT_THAT(search_one(garden_path, 5)[0].tokens, ElementsAre(c, a)); }

TEST(Greedy, GivesTiesToTheLowestToken) {
  const auto table = [](std::size_t, const Sequence& prefix) {
    return prefix.size() < 2 ? chances({{b, 0.3}, {c, 0.3}, {a, 0.2}, {end, 0.2}}) : chances({{c, 0.5}, {end, 0.5}});
  };
  EXPECT_THAT(search_one(table, 5)[0].tokens, ElementsAre(b, b));
}

TEST(Greedy, StopsAtTheLongestLength) {
  const auto table = [](std::size_t, const Sequence&) { return chances({{a, 0.9}, {end, 0.1}}); };
  const Hypothesis found = search_one(table, 4)[0];
  EXPECT_THAT(found.tokens, ElementsAre(a, a, a, a));
  EXPECT_FALSE(found.ended);
  EXPECT_NEAR(found.log_probability, 4 * std::log(0.9), 1e-12);
}

TEST(Greedy, MayAnswerNothing) {
  const Hypothesis found = search_one([](std::size_t, const Sequence&) { return chances({{end, 1.0}}); }, 4)[0];
  EXPECT_THAT(found.tokens, IsEmpty());
  EXPECT_TRUE(found.ended);
}

// --- what both must do -------------------------------------------------------------------------------------------------------------------

class AnyBeam : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Widths, AnyBeam, testing::Values(1, 2, 5, 50));

TEST_P(AnyBeam, NeverLetsNanWin) {
  const auto table = [](std::size_t, const Sequence& prefix) {
    std::vector<double> row = prefix.size() < 2 ? chances({{b, 1.0}}) : chances({{end, 1.0}});
    row[a] = nan;
    return row;
  };
  EXPECT_THAT(search_one(table, 5, beam_of(GetParam()))[0].tokens, ElementsAre(b, b));
}

TEST_P(AnyBeam, KeepsWhatItHasWhereEverythingIsNan) {
  const auto table = [](std::size_t, const Sequence& prefix) {
    return prefix.empty() ? chances({{a, 1.0}}) : std::vector<double>(vocabulary, nan);
  };
  const std::vector<Hypothesis> found = search_one(table, 5, beam_of(GetParam()));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].tokens, ElementsAre(a));
  EXPECT_FALSE(found[0].ended);
  EXPECT_THAT(search_one([](std::size_t, const Sequence&) { return std::vector<double>(vocabulary, nan); }, 5, beam_of(GetParam()))[0].tokens,
              IsEmpty());
}

TEST_P(AnyBeam, NeverSaysWhatIsForbidden) {
  const auto table = [](std::size_t, const Sequence& prefix) {
    return prefix.size() < 2 ? chances({{0, 0.3}, {1, 0.3}, {begin, 0.3}, {b, 0.06}, {a, 0.04}}) : chances({{0, 0.9}, {end, 0.1}});
  };
  EXPECT_THAT(search_one(table, 5, beam_of(GetParam()))[0].tokens, ElementsAre(b, b));
  SearchOptions options = beam_of(GetParam());
  options.forbidden = {0, 1, 2, b, 99};
  EXPECT_THAT(search_one(table, 5, options)[0].tokens, ElementsAre(a, a));
}

TEST_P(AnyBeam, AnswersASourceTheSameWhateverElseIsInTheBatch) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Table table = random_table(seed);
    const std::vector<std::int64_t> longest = {5, 1, 7, 3, 6};
    const SearchOptions options = beam_of(GetParam(), std::min<std::int64_t>(GetParam(), 3));
    TableModel model(table, longest.size());
    const auto together = search(model.stepper(), longest, options);
    ASSERT_THAT(together, SizeIs(longest.size()));
    EXPECT_LE(model.most_rows(), longest.size() * static_cast<std::size_t>(GetParam()));
    for (std::size_t i = 0; i < longest.size(); ++i) {
      const auto alone = search_one([&](std::size_t, const Sequence& prefix) { return table(i, prefix); }, longest[i], options);
      ASSERT_EQ(together[i].size(), alone.size());
      for (std::size_t n = 0; n < alone.size(); ++n) {
        EXPECT_EQ(together[i][n].tokens, alone[n].tokens) << "table " << seed << ", source " << i;
        EXPECT_EQ(together[i][n].score, alone[n].score);
        EXPECT_EQ(together[i][n].ended, alone[n].ended);
      }
    }
  }
}

TEST_P(AnyBeam, AlignmentsFollowTheHypothesisBackToItsBeginning) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::int64_t> longest = {6, 4, 5};
    TableModel model(random_table(seed), longest.size());
    const auto found = search(model.stepper(/*with_alignment=*/true), longest, beam_of(GetParam(), std::min<std::int64_t>(GetParam(), 3)));
    for (std::size_t source = 0; source < found.size(); ++source)
      for (const Hypothesis& hypothesis : found[source]) {
        if (hypothesis.tokens.empty()) continue;
        ASSERT_EQ(hypothesis.alignment.sizes(), at::IntArrayRef({static_cast<std::int64_t>(hypothesis.tokens.size()), 3}));
        for (std::size_t t = 0; t < hypothesis.tokens.size(); ++t) {
          const Sequence prefix(hypothesis.tokens.begin(), hypothesis.tokens.begin() + static_cast<std::ptrdiff_t>(t));
          EXPECT_TRUE(hypothesis.alignment[static_cast<std::int64_t>(t)].equal(at::tensor(looked_at(source, prefix))))
              << "table " << seed << ", source " << source << ", token " << t;
        }
      }
  }
}

TEST_P(AnyBeam, GivesNoAlignmentWhereNoneIsWanted) {
  EXPECT_FALSE(search_one(garden_path, 5, beam_of(GetParam()))[0].alignment.defined());
}

TEST_P(AnyBeam, ScoresAreThoseOfTheTable) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const Table table = random_table(seed);
    const double alpha = 0.7;
    const auto found = search_one(table, 6, beam_of(GetParam(), std::min<std::int64_t>(GetParam(), 4), alpha));
    ASSERT_THAT(found, Each(testing::Truly([](const Hypothesis& hypothesis) { return hypothesis.tokens.size() <= 6; })));
    for (const Hypothesis& hypothesis : found) {
      EXPECT_THAT(hypothesis.log_probability, DoubleNear(rescored(table, 0, hypothesis), 1e-9));
      EXPECT_THAT(hypothesis.score,
                  DoubleNear(hypothesis.log_probability / penalty(hypothesis.tokens.size() + (hypothesis.ended ? 1 : 0), alpha), 1e-9));
    }
  }
}

TEST_P(AnyBeam, AnswersNoSourcesWithoutAStep) {
  TableModel model(random_table(1), 0);
  EXPECT_THAT(search(model.stepper(), {}, beam_of(GetParam())), IsEmpty());
  EXPECT_EQ(model.steps(), 0);
}

// --- beam search -------------------------------------------------------------------------------------------------------------------------

TEST(Beam, FindsWhatGreedySearchMisses) {
  const Hypothesis found = search_one(garden_path, 5, beam_of(2))[0];
  EXPECT_THAT(found.tokens, ElementsAre(a, b));
  EXPECT_NEAR(found.log_probability, std::log(0.36), 1e-12);
}

TEST(Beam, ThatIsWideEnoughEqualsEnumeration) {
  constexpr std::size_t longest = 4;
  constexpr std::int64_t n_best = 5;
  int greedy_missed = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Table table = random_table(seed);
    for (const double alpha : {0.0, 0.6, 1.5}) {
      const std::vector<Hypothesis> all = enumerate(table, longest, alpha);
      const std::vector<Hypothesis> found = search_one(table, longest, beam_of(100, n_best, alpha));
      ASSERT_THAT(found, SizeIs(n_best));
      for (std::size_t n = 0; n < n_best; ++n) {
        EXPECT_EQ(found[n].tokens, all[n].tokens) << "table " << seed << ", alpha " << alpha << ", place " << n;
        EXPECT_EQ(found[n].ended, all[n].ended);
        EXPECT_THAT(found[n].score, DoubleNear(all[n].score, 1e-9));
      }
      greedy_missed += search_one(table, longest)[0].tokens != all[0].tokens;
    }
  }
  EXPECT_GT(greedy_missed, 20);  // else the tables would prove little
}

TEST(Beam, WithCoveragePenaltyEqualsEnumeration) {
  constexpr std::size_t longest = 4;
  constexpr std::int64_t n_best = 5;
  int changed = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Table table = random_table(seed);
    for (const std::size_t covered : {0u, 1u, 2u, 3u}) {
      const std::vector<Hypothesis> all = enumerate(table, longest, 0.6, 0.7, covered);
      SearchOptions options = beam_of(100, n_best);
      options.coverage_penalty = 0.7;
      TableModel model(table, 1);
      Stepper stepper = model.stepper(/*with_alignment=*/true);
      stepper.covered = {static_cast<std::int64_t>(covered)};
      const std::vector<Hypothesis> found = search(stepper, {longest}, options)[0];
      ASSERT_THAT(found, SizeIs(n_best));
      for (std::size_t n = 0; n < n_best; ++n) {
        EXPECT_EQ(found[n].tokens, all[n].tokens) << "table " << seed << ", covered " << covered << ", place " << n;
        EXPECT_EQ(found[n].ended, all[n].ended);
        EXPECT_THAT(found[n].score, DoubleNear(all[n].score, 1e-9));
      }
      changed += search_one(table, longest, beam_of(100))[0].tokens != all[0].tokens;
    }
  }
  EXPECT_GT(changed, 20);  // else the penalty would decide nothing
}

TEST(Beam, CoverageIsThatOfEachHypothesisWhateverElseIsInTheBatch) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::int64_t> longest = {6, 1, 5, 4}, covered = {3, 2, 0, 1};
    SearchOptions options = beam_of(4, 4);
    options.coverage_penalty = 0.4;
    TableModel model(random_table(seed), longest.size());
    Stepper stepper = model.stepper(/*with_alignment=*/true);
    stepper.covered = covered;
    const auto found = search(stepper, longest, options);
    for (std::size_t source = 0; source < longest.size(); ++source)
      for (const Hypothesis& hypothesis : found[source])
        EXPECT_THAT(hypothesis.score,
                    DoubleNear(hypothesis.log_probability / penalty(hypothesis.tokens.size() + (hypothesis.ended ? 1 : 0), 0.6) +
                                   0.4 * coverage(source, hypothesis.tokens, static_cast<std::size_t>(covered[source])),
                               1e-9))
            << "table " << seed << ", source " << source;
  }
}

TEST(Beam, WithoutLengthsAllColumnsAreToBeCovered) {
  const Table table = random_table(3);
  SearchOptions options = beam_of(4);
  options.coverage_penalty = 0.4;
  TableModel model(table, 1), limited(table, 1);
  Stepper all = model.stepper(/*with_alignment=*/true), three = limited.stepper(/*with_alignment=*/true);
  three.covered = {3};
  EXPECT_EQ(search(all, {5}, options)[0][0].score, search(three, {5}, options)[0][0].score);
}

TEST(Beam, ACoveragePenaltyOfWhatIsNoNumberStaysFinite) {
  Stepper stepper;
  stepper.step = [](const Tensor& previous) { return at::tensor(chances({{a, 0.6}, {end, 0.4}}), at::kFloat).repeat({previous.size(0), 1}); };
  stepper.reorder = [](const Tensor&) {};
  for (const double weight : {0.0, nan}) {
    stepper.alignment = [weight] { return at::full({1, 2}, weight); };
    SearchOptions options = beam_of(4);
    options.beam = 1;
    options.coverage_penalty = 0.5;
    const double score = search(stepper, {3}, options)[0][0].score;
    EXPECT_NEAR(score, 3 * std::log(0.6) / penalty(3, 0.6) + 0.5 * 2 * std::log(1e-10), 1e-6);
  }
}

// Two hypotheses of the same probability after many steps, and a vocabulary beyond what a thread takes at a time.
TEST(Beam, TiesGoToTheLowestTokenOfTheFirstHypothesis) {
  constexpr std::int64_t many = 70000;
  Stepper stepper;
  stepper.step = [](const Tensor& previous) {
    Tensor row = at::full({previous.size(0), many}, -20.0);
    row.select(1, 69000).fill_(-1.0);
    row.select(1, 9).fill_(-1.0);
    row.select(1, end).fill_(-30.0);
    return row;
  };
  stepper.reorder = [](const Tensor&) {};
  const auto found = search(stepper, {3, 3}, beam_of(3, 3, 0.0));
  for (const auto& list : found) {
    EXPECT_THAT(list[0].tokens, ElementsAre(9, 9, 9));
    EXPECT_THAT(list[1].tokens, ElementsAre(9, 9, 69000));
    EXPECT_THAT(list[2].tokens, ElementsAre(9, 69000, 9));
  }
}

TEST(Beam, NBestListsAreInOrderAndWithoutRepeats) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const auto found = search_one(random_table(seed), 6, beam_of(4, 4));
    for (std::size_t n = 1; n < found.size(); ++n) {
      EXPECT_TRUE(found[n - 1].ended != found[n].ended ? found[n - 1].ended : found[n - 1].score >= found[n].score) << "table " << seed;
      for (std::size_t m = 0; m < n; ++m) EXPECT_FALSE(found[m].tokens == found[n].tokens && found[m].ended == found[n].ended);
    }
  }
}

TEST(Beam, GivesFewerWhereThereAreNoMore) {
  const auto table = [](std::size_t, const Sequence& prefix) { return prefix.empty() ? chances({{a, 1.0}}) : chances({{end, 1.0}}); };
  const auto found = search_one(table, 5, beam_of(4, 4));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].tokens, ElementsAre(a));
}

TEST(Beam, ALengthPenaltyFavoursLongAnswers) {
  // "" has probability 0.3, "a a a" 0.7 · 0.4
  const auto table = [](std::size_t, const Sequence& prefix) {
    if (prefix.empty()) return chances({{end, 0.3}, {a, 0.7}});
    return prefix.size() == 1 ? chances({{a, 0.4}, {b, 0.3}, {c, 0.3}}) : prefix.size() == 2 ? chances({{a, 1.0}}) : chances({{end, 1.0}});
  };
  EXPECT_THAT(search_one(table, 5, beam_of(4, 1, 0.0))[0].tokens, IsEmpty());
  EXPECT_THAT(search_one(table, 5, beam_of(4, 1, 1.0))[0].tokens, ElementsAre(a, a, a));
}

TEST(Beam, WhatEndedComesBeforeWhatWasCut) {
  const auto table = [](std::size_t, const Sequence&) { return chances({{a, 0.99}, {end, 0.01}}); };
  const auto found = search_one(table, 3, beam_of(4, 4, 0.0));
  ASSERT_THAT(found, SizeIs(4));
  EXPECT_THAT(found[0].tokens, IsEmpty());
  EXPECT_TRUE(found[2].ended);
  EXPECT_THAT(found[3].tokens, ElementsAre(a, a, a));
  EXPECT_FALSE(found[3].ended);
  EXPECT_GT(found[3].score, found[0].score);
}

TEST(Beam, StopsAsSoonAsNothingBetterCanCome) {
  const auto table = [](std::size_t, const Sequence& prefix) {
    return prefix.size() < 2 ? chances({{a, 1.0}}) : chances({{end, 0.9}, {b, 0.1}});
  };
  TableModel model(table, 1);
  EXPECT_THAT(search(model.stepper(), {100}, beam_of(4, 1, 0.0))[0][0].tokens, ElementsAre(a, a));
  EXPECT_EQ(model.steps(), 3);
}

TEST(Beam, TakesFloatsAsWellAsDoubles) {
  Stepper stepper;
  int steps = 0;
  stepper.step = [&steps](const Tensor& previous) {
    const std::vector<double> row = steps++ < 2 ? chances({{b, 0.7}, {a, 0.3}}) : chances({{end, 1.0}});
    return at::tensor(row, at::kFloat).repeat({previous.size(0), 1});
  };
  stepper.reorder = [](const Tensor&) {};
  EXPECT_THAT(search(stepper, {5}, beam_of(3))[0][0].tokens, ElementsAre(b, b));
}

// --- wrong calls -------------------------------------------------------------------------------------------------------------------------

TEST(Search, RefusesOptionsOutOfRange) {
  const auto refusal = [](SearchOptions options, std::int64_t longest, const std::string& why) {
    EXPECT_THAT([&] { search_one(garden_path, longest, options); },
                ThrowsMessage<InvalidArgument>(AllOf(StartsWith("attend::decode::search: expected "), HasSubstr(why))));
  };
  refusal(beam_of(0), 5, "beam \u2265 1, got 0");
  refusal(beam_of(4, 0), 5, "n_best from 1 to the beam (4), got 0");
  refusal(beam_of(4, 5), 5, "n_best from 1 to the beam (4), got 5");
  refusal(beam_of(4, 1, -0.1), 5, "length_penalty \u2265 0, got -0.1");
  refusal(beam_of(4, 1, nan), 5, "length_penalty");
  refusal(beam_of(4, 1, std::numeric_limits<double>::infinity()), 5, "length_penalty");
  refusal(beam_of(1), 0, "longest \u2265 1 for each source, got 0");
  SearchOptions options = beam_of(4);
  options.coverage_penalty = -1;
  refusal(options, 5, "coverage_penalty \u2265 0, got -1");
  options.coverage_penalty = nan;
  refusal(options, 5, "coverage_penalty");
  options.coverage_penalty = 0.5;
  refusal(options, 5, "a stepper with alignment for a coverage_penalty of 0.5, got one without");
}

TEST(Search, RefusesLengthsThatDoNotFitTheSources) {
  TableModel model(garden_path, 1);
  Stepper stepper = model.stepper(/*with_alignment=*/true);
  const auto refusal = [&](const std::vector<std::int64_t>& covered, const std::string& why) {
    stepper.covered = covered;
    EXPECT_THAT([&] { search(stepper, {5}); }, ThrowsMessage<InvalidArgument>(AllOf(StartsWith("attend::decode::search: expected covered"), HasSubstr(why))));
  };
  refusal({1, 2}, "for each of 1 sources, got 2");
  refusal({-1}, "\u2265 0 for each source, got -1");
}

}  // namespace
}  // namespace attend::decode
