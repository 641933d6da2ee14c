#include "attend/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::train {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Checkpoint checkpoint_of(std::int64_t step) {
  Checkpoint checkpoint;
  checkpoint.state.step = step;
  const auto value = static_cast<double>(step);
  checkpoint.model["weight"] = at::tensor({value, 0.1 * value}, at::kFloat);
  checkpoint.optimizer["optimizer.step"] = at::scalar_tensor(step, at::kLong);
  checkpoint.optimizer["optimizer.weight.mean"] = at::tensor({value, 1 / 3.0}, at::kDouble);
  checkpoint.generator = at::full({16}, step % 256, at::kByte);
  return checkpoint;
}

class Checkpoints : public testing::Test {
 protected:
  fs::path file(std::int64_t step) const {
    const std::string digits = std::to_string(step);
    return folder / ("step-" + std::string(8 - digits.size(), '0') + digits + ".safetensors");
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().filename().string());
    std::ranges::sort(found);
    return found;
  }

  // The step of the newest checkpoint that can be read, -1 where there is none.
  std::int64_t newest() {
    problems.clear();
    const std::optional<Checkpoint> found = load_newest_checkpoint(folder, problems);
    return found ? found->state.step : -1;
  }

  const fixtures::TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "checkpoints";
  std::vector<std::string> problems;
};

TEST_F(Checkpoints, GiveBackEverythingToTheBit) {
  Checkpoint saved = checkpoint_of(7);
  saved.state = {7, 2, 3, 1, 4, 5, 0.1 + 0.2, 6, 1e-300, 12345678901, true, true, true, 1.0 / 3, {{"PER", 2.0 / 3}}, {{"PER", 1e300}, {"loss", -0.0}}};
  save_checkpoint(folder, saved);
  const std::optional<Checkpoint> loaded = load_newest_checkpoint(folder, problems);
  ASSERT_TRUE(loaded);
  EXPECT_THAT(problems, IsEmpty());
  const RunState &a = saved.state, &b = loaded->state;
  EXPECT_EQ(std::tie(a.step, a.epoch, a.batch, a.reductions, a.since_gain, a.since_reduction, a.loss_sum, a.loss_count, a.seconds, a.metrics_bytes),
            std::tie(b.step, b.epoch, b.batch, b.reductions, b.since_gain, b.since_reduction, b.loss_sum, b.loss_count, b.seconds, b.metrics_bytes));
  EXPECT_EQ(std::tie(a.validation_due, a.finished, a.stopped_early, a.best_score, a.best, a.valid),
            std::tie(b.validation_due, b.finished, b.stopped_early, b.best_score, b.best, b.valid));
  EXPECT_TRUE(loaded->model.at("weight").equal(saved.model.at("weight")));
  EXPECT_TRUE(loaded->optimizer.at("optimizer.weight.mean").equal(saved.optimizer.at("optimizer.weight.mean")));
  EXPECT_TRUE(loaded->optimizer.at("optimizer.step").equal(saved.optimizer.at("optimizer.step")));
  EXPECT_EQ(loaded->model.size(), 1u);
  EXPECT_EQ(loaded->optimizer.size(), 2u);
  EXPECT_TRUE(loaded->generator.equal(saved.generator));
}

TEST_F(Checkpoints, RememberThatNothingWasBestYet) {
  save_checkpoint(folder, checkpoint_of(0));
  const std::optional<Checkpoint> loaded = load_newest_checkpoint(folder, problems);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->state.best_score, std::nullopt);
  EXPECT_THAT(loaded->state.valid, IsEmpty());
}

TEST_F(Checkpoints, AreReadWhereAScoreIsNoNumber) {
  Checkpoint saved = checkpoint_of(3);
  saved.state.valid = {{"loss", no_number}, {"PER", 50.0}};
  save_checkpoint(folder, saved);
  ASSERT_EQ(newest(), 3) << testing::PrintToString(problems);
  const auto valid = load_newest_checkpoint(folder, problems)->state.valid;
  EXPECT_TRUE(std::isnan(valid.at("loss")));
  EXPECT_EQ(valid.at("PER"), 50.0);
}

TEST_F(Checkpoints, KeepTheNewestTwo) {
  for (const std::int64_t step : {5, 10, 15, 100}) save_checkpoint(folder, checkpoint_of(step));
  EXPECT_THAT(names(), ElementsAre(file(15).filename(), file(100).filename()));
  EXPECT_EQ(newest(), 100);
}

TEST_F(Checkpoints, OfOneStepReplaceEachOther) {
  save_checkpoint(folder, checkpoint_of(5));
  save_checkpoint(folder, checkpoint_of(10));
  save_checkpoint(folder, checkpoint_of(10));
  EXPECT_THAT(names(), ElementsAre(file(5).filename(), file(10).filename()));
}

TEST_F(Checkpoints, ARunThatWentBackRemovesThoseThatItPassedOver) {
  for (const std::int64_t step : {5, 10}) save_checkpoint(folder, checkpoint_of(step));
  fs::resize_file(file(10), 100);
  ASSERT_EQ(newest(), 5);
  save_checkpoint(folder, checkpoint_of(7));
  EXPECT_THAT(names(), ElementsAre(file(5).filename(), file(7).filename()));
  EXPECT_EQ(newest(), 7);
}

TEST_F(Checkpoints, ThatAreTruncatedGiveWayToTheOneBefore) {
  save_checkpoint(folder, checkpoint_of(5));
  save_checkpoint(folder, checkpoint_of(10));
  const std::string whole = fixtures::bytes_of(file(10));
  for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{60}, whole.size() / 2, whole.size() - 1}) {
    temporary.write("checkpoints/" + file(10).filename().string(), whole.substr(0, size));
    EXPECT_EQ(newest(), 5) << size << " bytes";
    EXPECT_THAT(problems, ElementsAre(StartsWith(file(10).string() + ": "))) << size << " bytes";
  }
}

TEST_F(Checkpoints, ThatAreAlteredGiveWayToTheOneBefore) {
  save_checkpoint(folder, checkpoint_of(5));
  save_checkpoint(folder, checkpoint_of(10));
  const std::string whole = fixtures::bytes_of(file(10));
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string altered = whole;
    altered[place] ^= 0x10;
    temporary.write("checkpoints/" + file(10).filename().string(), altered);
    EXPECT_EQ(newest(), 5) << "byte " << place;
    EXPECT_THAT(problems, ElementsAre(StartsWith(file(10).string() + ": "))) << "byte " << place;
  }
}

TEST_F(Checkpoints, ThatCannotBeReadAreAllNamed) {
  save_checkpoint(folder, checkpoint_of(5));
  save_checkpoint(folder, checkpoint_of(10));
  fs::resize_file(file(5), 20);
  fs::resize_file(file(10), 20);
  EXPECT_EQ(newest(), -1);
  EXPECT_THAT(problems, ElementsAre(StartsWith(file(10).string()), StartsWith(file(5).string())));
}

TEST_F(Checkpoints, FilesThatAreNoneAreRefusedOrLeftAlone) {
  EXPECT_EQ(newest(), -1);  // no folder
  EXPECT_THAT(problems, IsEmpty());
  save_checkpoint(folder, checkpoint_of(1));
  for (const std::string name : {"step-.safetensors", "step-x.safetensors", "step-00000009.safetensors.partial-1", "notes.txt"})
    temporary.write("checkpoints/" + name, "x");
  EXPECT_EQ(newest(), 1);
  EXPECT_THAT(problems, IsEmpty());
  save_tensors(file(8), {{"model.weight", at::zeros({2})}, {"generator", at::zeros({2})}}, {});
  save_tensors(file(9), {{"model.weight", at::zeros({2})}, {"generator", at::zeros({2})}}, {{"attend.run", "{\"state\":{\"step\":9}}"}});
  EXPECT_EQ(newest(), 1);
  EXPECT_THAT(problems, ElementsAre(AllOf(StartsWith(file(9).string()), HasSubstr("not the state of a run"), HasSubstr("epoch")),
                                    AllOf(StartsWith(file(8).string()), HasSubstr("attend.run"))));
}

TEST_F(Checkpoints, CannotBeWrittenIntoAFile) {
  temporary.write("checkpoints", "a file");
  EXPECT_THROW(save_checkpoint(folder, checkpoint_of(1)), SystemError);
}

}  // namespace
}  // namespace attend::train
