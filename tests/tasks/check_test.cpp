#include "attend/tasks/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/tasks/sequence_to_sequence.h"
#include "tests/fixtures/letters.h"
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

// What a model can do wrong.
enum class Fault {
  none,
  looks_ahead,           // an output sees the next target token
  looks_at_the_end,      // only the first output sees the last token
  reads_source_padding,  // the mean over the source is one over all columns
  mixes_rows,            // an output sees the mean of its batch
  steps_differently,     // step() is not what forward() does
  forgets_in_steps,      // step() is right at first only
  infinite_gradient,     // right numbers, a gradient of 0 / 0
  heavy_rows,            // weights sum to 1.01
  negative_weights,      // weights sum to 1, but one is below 0
  light_rows,            // weights sum to 0.9
  empty_rows,            // weights sum to 0, which is allowed
  nan_outputs,           // one output is not a number
};

constexpr std::int64_t vocabulary = 12, width = 6;

// logits_t = O tanh(T[y_t] + Σ_s w_s S[x_s]), w equal over the real source tokens; with a fault.
class PlantedModel : public models::SequenceToSequence {
 public:
  explicit PlantedModel(Fault fault, at::ScalarType type = at::kFloat) : fault_(fault) {
    const auto parameter = [&](const char* name, at::IntArrayRef sizes) { return register_parameter(name, 2 * at::randn(sizes, type)); };
    source_ = parameter("source", {vocabulary, width});
    target_ = parameter("target", {vocabulary, width});
    output_ = parameter("output", {vocabulary, width});
  }

  models::ModelOutput forward(const models::TokenBatch& source, const models::TokenBatch& target) override {
    const std::int64_t steps = target.tokens.size(1) - 1;
    const Tensor given = target.tokens.slice(1, 0, steps), wanted = target.tokens.slice(1, 1);
    Tensor logits = logits_of(at::embedding(target_, given), read(source).unsqueeze(1));          // [B, L, V]
    const Tensor ahead = at::one_hot(wanted, vocabulary).to(logits.scalar_type());
    const Tensor first = (at::arange(steps) == 0).unsqueeze(0).unsqueeze(2);
    if (fault_ == Fault::looks_ahead && steps > 1) logits = logits + 0.01 * at::constant_pad_nd(ahead.slice(1, 0, steps - 1), {0, 0, 0, 1});
    if (fault_ == Fault::looks_at_the_end && steps > 1) logits = logits + 0.01 * first * ahead.slice(1, steps - 2, steps - 1);
    if (fault_ == Fault::mixes_rows) logits = logits + 0.001 * logits.mean(0, /*keepdim=*/true);
    if (fault_ == Fault::infinite_gradient) logits = logits + 0 * (output_ - output_).sqrt().sum();
    if (fault_ == Fault::nan_outputs) logits = at::where(first, at::full_like(logits, std::numeric_limits<double>::quiet_NaN()), logits);
    return {logits, {{"cross_entropy", models::cross_entropy(logits, wanted, 0.0)}}};
  }
  models::DecoderState encode(const models::TokenBatch& source) override { return {{read(source), at::zeros({source.tokens.size(0)})}}; }
  Tensor step(const Tensor& previous, models::DecoderState& state) override {
    Tensor logits = logits_of(at::embedding(target_, previous), state.tensors[0]);                // [B, V]
    const bool wrong = fault_ == Fault::steps_differently || (fault_ == Fault::forgets_in_steps && state.tensors[1][0].item<float>() > 1);
    if (wrong) logits = logits * 1.001;
    if (fault_ == Fault::nan_outputs && state.tensors[1][0].item<float>() == 0) logits = logits * std::numeric_limits<double>::quiet_NaN();
    state.tensors[1] = state.tensors[1] + 1;
    return logits.log_softmax(-1);
  }

 private:
  Tensor logits_of(const Tensor& embedded, const Tensor& read) const { return at::matmul((embedded + read).tanh(), output_.t()); }

  Tensor read(const models::TokenBatch& source) {
    const std::int64_t length = source.tokens.size(1);
    const Tensor real = at::arange(length).unsqueeze(0) < source.lengths.unsqueeze(1);            // [B, Ls]
    Tensor weights = (fault_ == Fault::reads_source_padding ? at::ones_like(real) : real).to(source_.scalar_type());
    weights = weights / weights.sum(1, /*keepdim=*/true);
    Tensor reported = weights;
    if (fault_ == Fault::heavy_rows) reported = weights * 1.01;
    if (fault_ == Fault::light_rows) reported = weights * 0.9;
    if (fault_ == Fault::empty_rows) reported = weights * 0;
    if (fault_ == Fault::negative_weights) reported = weights * 2 - at::one_hot(at::zeros({weights.size(0)}, at::kLong), length);
    Recording::report(*this, "alignment", reported.unsqueeze(1).unsqueeze(1), {"batch", "head", "query", "key"});
    return at::matmul(weights.unsqueeze(1), at::embedding(source_, source.tokens)).squeeze(1);    // [B, width]
  }

  Fault fault_;
  Tensor source_, target_, output_;
};

models::TokenBatch batch(const std::vector<std::vector<std::int64_t>>& rows) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  std::vector<Tensor> tokens;
  std::vector<std::int64_t> lengths;
  for (std::vector<std::int64_t> row : rows) {
    lengths.push_back(static_cast<std::int64_t>(row.size()));
    row.resize(longest, padding_token);
    tokens.push_back(at::tensor(row, at::kLong));
  }
  return {at::stack(tokens), at::tensor(lengths, at::kLong)};
}

const std::vector<std::vector<std::int64_t>> sources = {{4, 5, 6, 3}, {7, 3}, {8, 9, 4, 5, 10, 3}};
const std::vector<std::vector<std::int64_t>> targets = {{2, 4, 5, 11, 7, 3}, {2, 8, 3}, {2, 9, 4, 3}};

std::vector<std::string> failures_of(const std::vector<Finding>& findings) {
  std::vector<std::string> failed;
  for (const Finding& finding : findings)
    if (!finding.passed()) failed.push_back(finding.property);
  return failed;
}

std::vector<std::string> failures_of(Fault fault, const CheckOptions& options = {}, at::ScalarType type = at::kFloat) {
  torch::manual_seed(3);
  const auto model = std::make_shared<PlantedModel>(fault, type);  // a recording asks its root for a shared pointer
  return failures_of(check_model(*model, batch(sources), batch(targets), options));
}

TEST(Check, ASoundModelPasses) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) EXPECT_THAT(failures_of(Fault::none, {}, type), IsEmpty());
}

TEST(Check, EachPlantedFaultFailsItsProperty) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    EXPECT_THAT(failures_of(Fault::reads_source_padding, {}, type), ElementsAre("padding", "batch"));
    EXPECT_THAT(failures_of(Fault::mixes_rows, {}, type), testing::Contains("batch"));
    EXPECT_THAT(failures_of(Fault::steps_differently, {}, type), ElementsAre("steps"));
    EXPECT_THAT(failures_of(Fault::forgets_in_steps, {}, type), ElementsAre("steps"));
    EXPECT_THAT(failures_of(Fault::infinite_gradient, {}, type), ElementsAre("gradients"));
    EXPECT_THAT(failures_of(Fault::heavy_rows, {}, type), ElementsAre("rows"));
    EXPECT_THAT(failures_of(Fault::light_rows, {}, type), ElementsAre("rows"));
    EXPECT_THAT(failures_of(Fault::negative_weights, {}, type), ElementsAre("rows"));
    EXPECT_THAT(failures_of(Fault::empty_rows, {}, type), IsEmpty());
  }
}

// A model that looks ahead cannot decode as it was trained: step() has nothing to look at.
TEST(Check, AModelThatLooksAheadFails) {
  for (const Fault fault : {Fault::looks_ahead, Fault::looks_at_the_end}) {
    const std::vector<std::string> failed = failures_of(fault);
    EXPECT_THAT(failed, testing::Contains("causality"));
    EXPECT_THAT(failed, testing::Contains("steps"));
    CheckOptions one_cut;
    one_cut.cuts = 1;
    EXPECT_THAT(failures_of(fault, one_cut), testing::Contains("causality"));
  }
}

TEST(Check, WhatIsNoNumberFails) {
  EXPECT_THAT(failures_of(Fault::nan_outputs), ElementsAre("causality", "padding", "batch", "steps", "gradients"));
}

TEST(Check, RowsOfAGaussianWindowMayFallShortButNotExceed) {
  CheckOptions options;
  options.rows_may_fall_short = true;
  EXPECT_THAT(failures_of(Fault::light_rows, options), IsEmpty());
  EXPECT_THAT(failures_of(Fault::heavy_rows, options), ElementsAre("rows"));
  EXPECT_THAT(failures_of(Fault::negative_weights, options), ElementsAre("rows"));
}

TEST(Check, SaysWhatItComparedAndHowFarItWas) {
  const auto model = std::make_shared<PlantedModel>(Fault::none);
  const std::vector<Finding> findings = check_model(*model, batch(sources), batch(targets));
  ASSERT_THAT(findings, SizeIs(6));
  const double row_tolerance = std::ldexp(1.0, -24) * (64 + 8 * std::sqrt(6.0));
  for (const Finding& finding : findings) {
    EXPECT_GT(finding.compared, 0) << finding.property;
    EXPECT_FALSE(finding.meaning.empty());
  }
  EXPECT_EQ(findings[1].compared, (5 + 2 + 3) * vocabulary);
  EXPECT_EQ(findings[2].compared, (5 + 2 + 3) * vocabulary);
  EXPECT_DOUBLE_EQ(findings[0].tolerance, 16 * row_tolerance);
  EXPECT_DOUBLE_EQ(findings[5].tolerance, row_tolerance);
  EXPECT_EQ(findings[4].tolerance, 0);
}

TEST(Check, LeavesTheModelAsItWas) {
  const auto model = std::make_shared<PlantedModel>(Fault::none);
  for (const bool training : {true, false}) {
    model->train(training);
    const Tensor before = model->parameters()[0].detach().clone();
    check_model(*model, batch(sources), batch(targets));
    EXPECT_EQ(model->is_training(), training);
    EXPECT_TRUE(model->parameters()[0].equal(before));
    for (const Tensor& parameter : model->parameters()) EXPECT_FALSE(parameter.grad().defined());
  }
}

TEST(Check, OneRowOfTwoTokensHasNothingToCompareForCausality) {
  const auto model = std::make_shared<PlantedModel>(Fault::none);
  const std::vector<Finding> findings = check_model(*model, batch({{3}}), batch({{2, 3}}));
  EXPECT_EQ(findings[0].compared, 0);
  EXPECT_THAT(failures_of(findings), IsEmpty());
}

TEST(Check, RefusesBatchesThatDoNotFit) {
  const auto model = std::make_shared<PlantedModel>(Fault::none);
  const auto refusal = [&](const models::TokenBatch& source, const models::TokenBatch& target, const std::string& why, const CheckOptions& options = {}) {
    EXPECT_THAT([&] { check_model(*model, source, target, options); },
                ThrowsMessage<InvalidArgument>(AllOf(StartsWith("attend::tasks::check_model: expected "), HasSubstr(why))));
  };
  const models::TokenBatch none{at::zeros({0, 4}, at::kLong), at::zeros({0}, at::kLong)};
  refusal(none, none, "at least one source of 1 and target of 2 tokens, got [0, 4] and [0, 4]");
  refusal(batch({{4, 3}}), batch({{2}}), "got [1, 2] and [1, 1]");
  refusal(batch({{4, 3}}), batch(targets), "target tokens [B, Lt] with B = 1, got [3, 6]");
  CheckOptions no_cuts;
  no_cuts.cuts = 0;
  refusal(batch(sources), batch(targets), "cuts \u2265 1, got 0", no_cuts);
}

TEST(CheckRun, ATrainedModelPassesOnHeldOutPairsAndOnLines) {
  const fixtures::TemporaryFolder folder;
  for (const std::string feeding : {"false", "true"}) {
    const std::string name = "run-" + feeding;
    train_run(read_recipe(fixtures::write_letters(folder), {"train.steps=20", "model.cell=lstm", "model.layers=2", "model.input_feeding=" + feeding}),
              folder.path() / name, false);
    tasks::Run run = open_run(folder.path() / name);
    const PairBatch pairs = read_pairs(run, "valid", 7);
    EXPECT_EQ(pairs.source.tokens.size(0), 7);
    EXPECT_THAT(failures_of(check_run(run, pairs)), IsEmpty());
    const PairBatch answers = answer_lines(run, {"badge", "", "he"});
    EXPECT_EQ(answers.source.tokens.size(0), 2);
    EXPECT_THAT(failures_of(check_run(run, answers)), IsEmpty());
  }
}

TEST(CheckRun, PairsAreThoseOfTheFirstLines) {
  const fixtures::TemporaryFolder folder;
  train_run(read_recipe(fixtures::write_letters(folder), {"train.steps=1"}), folder.path() / "run", false);
  tasks::Run run = open_run(folder.path() / "run");
  const std::filesystem::path file = folder.write("pairs.tsv", "ab\tA B\nhz\tH\n");
  const PairBatch pairs = read_pairs(run, file.string(), 16);
  EXPECT_TRUE(pairs.source.tokens.equal(
      batch({{run.source.id("a"), run.source.id("b"), end_token}, {run.source.id("h"), unknown_token, end_token}}).tokens));
  EXPECT_TRUE(pairs.target.tokens.equal(
      batch({{begin_token, run.target.id("A"), run.target.id("B"), end_token}, {begin_token, run.target.id("H"), end_token}}).tokens));
  EXPECT_TRUE(pairs.target.lengths.equal(at::tensor({4, 3}, at::kLong)));
  EXPECT_THAT([&] { read_pairs(run, "test", 3); }, ThrowsMessage<SystemError>(HasSubstr("test.tsv: cannot be opened")));
  run.recipe.data.test.clear();
  EXPECT_THAT([&] { read_pairs(run, "test", 3); }, ThrowsMessage<InvalidArgument>(HasSubstr("names no test data")));
  EXPECT_THAT([&] { read_pairs(run, folder.write("empty.tsv", "\n").string(), 3); }, ThrowsMessage<InvalidData>(HasSubstr("holds no pair to score")));
  EXPECT_THAT([&] { answer_lines(run, {"", " "}); }, ThrowsMessage<InvalidData>(HasSubstr("a line that is not empty")));
}

TEST(CheckRun, WithoutValidationDataWhatTrainingSetAsideIsChecked) {
  const fixtures::TemporaryFolder folder;
  const std::filesystem::path recipe = fixtures::write_letters(folder);
  folder.write("train.tsv", fixtures::tsv(fixtures::words(500)));
  train_run(read_recipe(recipe, {"train.steps=1", "data.valid=[]"}), folder.path() / "run", false);
  const PairBatch pairs = read_pairs(open_run(folder.path() / "run"), "valid", 1000);
  EXPECT_NEAR(static_cast<double>(pairs.source.tokens.size(0)), 10, 9);
  // a corpus that has no validation part
  folder.write("corpus/train.tsv", fixtures::tsv(fixtures::words(500)));
  setenv("ATTEND_DATA", folder.path().c_str(), 1);
  train_run(read_recipe(recipe, {"train.steps=1", "data.valid=[]", "data.train=[]", "data.corpus=corpus"}), folder.path() / "of-corpus", false);
  EXPECT_TRUE(read_pairs(open_run(folder.path() / "of-corpus"), "valid", 1000).source.tokens.equal(pairs.source.tokens));
  unsetenv("ATTEND_DATA");
}

}  // namespace
}  // namespace attend::tasks
