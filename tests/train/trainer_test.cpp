#include "attend/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "attend/core/tensor_file.h"
#include "attend/io/json.h"
#include "attend/train/checkpoint.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::train {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using fixtures::TemporaryFolder;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

// A small network with dropout, so that every step draws random numbers.
struct Network : torch::nn::Module {
  Network() {
    hidden = register_module("hidden", torch::nn::Linear(4, 8));
    output = register_module("output", torch::nn::Linear(8, 1));
  }
  Tensor forward(const Tensor& input) { return output(at::dropout(at::tanh(hidden(input)), 0.3, is_training())); }
  torch::nn::Linear hidden{nullptr}, output{nullptr};
};

Tensor inputs(std::int64_t count) { return at::arange(count * 4, at::kFloat).view({count, 4}).mul(1.7).sin(); }
Tensor wanted(const Tensor& input) { return input.sum(1, /*keepdim=*/true).sin(); }

// One session of training: a model of its own, drawn from the same seed each time, on data that are always the same.
class Session {
 public:
  explicit Session(fs::path folder) : folder_(std::move(folder)) {
    torch::manual_seed(11);
    network = std::make_shared<Network>();
    training.model = network.get();
    training.begin_epoch = [this](std::int64_t epoch) {
      order_.resize(pairs);
      for (std::int64_t i = 0; i < pairs; ++i) order_[static_cast<std::size_t>(i)] = i;
      std::mt19937 generator(static_cast<unsigned>(epoch));
      std::shuffle(order_.begin(), order_.end(), generator);
      return pairs / batch;
    };
    training.batch = [this](std::int64_t number) {
      const std::vector<std::int64_t> rows(order_.begin() + number * batch, order_.begin() + (number + 1) * batch);
      const Tensor input = inputs(pairs).index_select(0, at::tensor(rows, at::kLong));
      const Tensor loss = (network->forward(input) - wanted(input)).pow(2).mean();
      return Training::BatchLosses{{{"error", loss, 1.0}, {"size", network->hidden->weight.pow(2).mean(), 0.01}}, batch};
    };
    training.validate = [this](const std::function<bool()>& stop) -> std::map<std::string, double> {
      EXPECT_FALSE(network->is_training());
      for (int i = 0; i < 4; ++i)
        if (stop()) return {};
      const Tensor input = inputs(60).slice(0, 48);
      return {{"loss", (network->forward(input) - wanted(input)).pow(2).mean().item<double>()}};
    };
    training.save_best = [this] { save_tensors(folder_ / "model.safetensors", module_tensors(*network), {}); };
    options.steps = 33;
    options.learning_rate = 0.05;
    options.schedule = Schedule::plateau;
    options.plateau_patience = 1;
    options.averaging = 0.8;
    options.valid_every = 7;
    options.checkpoint_every = 5;
    options.log_every = 4;
  }

  Outcome run(bool resume = false) { return train(training, options, folder_, resume, callbacks); }

  // Ends the session after `step` as Ctrl-C would.
  void stop_after(std::int64_t step) {
    callbacks.progress = [this](const Progress& progress) { seen_ = progress.step; };
    callbacks.stop = [this, step] { return seen_ >= step; };
  }

  const fs::path& folder() const { return folder_; }

  static constexpr std::int64_t pairs = 48, batch = 8;
  std::shared_ptr<Network> network;
  Training training;
  TrainOptions options;
  Callbacks callbacks;

 private:
  fs::path folder_;
  std::vector<std::int64_t> order_;
  std::int64_t seen_ = 0;
};

std::vector<io::Value> metrics(const fs::path& folder) {
  std::vector<io::Value> lines;
  std::istringstream text(bytes_of(folder / "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(io::parse_json(line, "metrics.jsonl"));
  return lines;
}

// The same without what a clock says.
std::vector<std::string> timeless_metrics(const fs::path& folder) {
  std::vector<std::string> lines;
  for (io::Value& line : metrics(folder)) {
    for (const char* key : {"seconds", "items_per_second"})
      if (line.find(key) != nullptr) line.set(key, 0);
    lines.push_back(io::to_json(line));
  }
  return lines;
}

std::vector<std::string> checkpoint_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Checkpoint newest_checkpoint(const fs::path& folder) {
  std::vector<std::string> problems;
  std::optional<Checkpoint> found = load_newest_checkpoint(folder / "checkpoints", problems);
  EXPECT_THAT(problems, IsEmpty());
  return found.value_or(Checkpoint());
}

class Trainer : public testing::Test {
 protected:
  fs::path place(const std::string& name) const { return temporary.path() / name; }

  // Trains without a disturbance; → the folder.
  fs::path undisturbed(const std::function<void(TrainOptions&)>& change = {}) const {
    Session session(place("undisturbed"));
    if (change) change(session.options);
    EXPECT_TRUE(session.run().finished);
    return session.folder();
  }

  static void expect_same_run(const fs::path& folder, const fs::path& reference) {
    EXPECT_FALSE(bytes_of(reference / "model.safetensors").empty());
    EXPECT_EQ(bytes_of(folder / "model.safetensors"), bytes_of(reference / "model.safetensors"));
    EXPECT_EQ(timeless_metrics(folder), timeless_metrics(reference));
    const Checkpoint last = newest_checkpoint(folder), expected = newest_checkpoint(reference);
    EXPECT_TRUE(last.state.finished);
    EXPECT_EQ(last.state.step, expected.state.step);
    EXPECT_TRUE(last.generator.equal(expected.generator));
    for (const auto& [name, tensor] : expected.model) EXPECT_TRUE(last.model.at(name).equal(tensor)) << name;
    for (const auto& [name, tensor] : expected.optimizer) EXPECT_TRUE(last.optimizer.at(name).equal(tensor)) << name;
  }

  const TemporaryFolder temporary;
};

// --- an undisturbed run ----------------------------------------------------------------------------------------------------------------

TEST_F(Trainer, Learns) {
  Session session(place("run"));
  session.options.steps = 300;
  session.options.valid_every = 100;
  const Outcome outcome = session.run();
  EXPECT_TRUE(outcome.finished);
  EXPECT_FALSE(outcome.stopped_early);
  EXPECT_EQ(outcome.steps, 300);
  const std::vector<io::Value> lines = metrics(session.folder());
  EXPECT_LT(lines[lines.size() - 2].at("loss").as_number(), 0.5 * lines.front().at("loss").as_number());
  EXPECT_EQ(outcome.best.at("loss"), newest_checkpoint(session.folder()).state.best_score);
}

TEST_F(Trainer, TheSameSeedGivesTheSameRun) {
  const fs::path reference = undisturbed();
  Session again(place("again"));
  again.run();
  expect_same_run(again.folder(), reference);
}

TEST_F(Trainer, LogsStepsAndValidations) {
  const fs::path folder = undisturbed();
  std::vector<std::int64_t> logged, validated;
  for (const io::Value& line : metrics(folder)) (line.find("valid") ? validated : logged).push_back(line.at("step").as_integer());
  EXPECT_THAT(logged, ElementsAre(4, 8, 12, 16, 20, 24, 28, 32, 33));
  EXPECT_THAT(validated, ElementsAre(7, 14, 21, 28, 33));
  const io::Value first = metrics(folder).front();
  for (const char* key : {"step", "epoch", "loss", "learning_rate", "items_per_second", "seconds"}) EXPECT_NE(first.find(key), nullptr) << key;
  // the epoch that comes next: there are six steps in each
  for (const io::Value& line : metrics(folder)) EXPECT_EQ(line.at("epoch").as_integer(), line.at("step").as_integer() / 6);
}

TEST_F(Trainer, KeepsTheLastTwoCheckpoints) {
  EXPECT_THAT(checkpoint_names(undisturbed()), ElementsAre("step-00000030.safetensors", "step-00000033.safetensors"));
}

TEST_F(Trainer, TellsHowFarItIs) {
  Session session(place("run"));
  std::vector<Progress> seen;
  session.callbacks.progress = [&](const Progress& progress) { seen.push_back(progress); };
  session.run();
  EXPECT_TRUE(std::ranges::is_sorted(seen, {}, &Progress::step));
  EXPECT_THAT(seen, Each(testing::Field(&Progress::steps, 33)));
  EXPECT_EQ(std::ranges::count(seen, Progress::Phase::validating, &Progress::phase), 5);
  EXPECT_TRUE(seen.front().valid.empty());
  EXPECT_EQ(seen.back().valid.count("loss"), 1u);
}

TEST_F(Trainer, ValidatesAndKeepsTheAverageOfTheParameters) {
  Session session(place("run"));
  session.options.valid_every = session.options.checkpoint_every = session.options.steps = 10;
  session.run();
  const Checkpoint last = newest_checkpoint(session.folder());
  const io::SafetensorsFile best = io::SafetensorsFile::read(session.folder() / "model.safetensors");
  for (const auto& [name, tensor] : last.model) {
    EXPECT_TRUE(tensor_of(best.tensor(name)).equal(last.optimizer.at("optimizer." + name + ".average"))) << name;
    EXPECT_FALSE(tensor_of(best.tensor(name)).equal(tensor)) << name;
  }
}

TEST_F(Trainer, KeepsTheBestModelNotTheLast) {
  Session session(place("run"));
  session.options.averaging = 0;
  std::vector<double> scores = {3, 1, 2, 1, 5};
  std::vector<std::string> saved;
  session.training.validate = [&, n = 0u](const std::function<bool()>&) mutable { return std::map<std::string, double>{{"loss", scores.at(n++)}}; };
  const auto save = session.training.save_best;
  session.training.save_best = [&] { save(), saved.push_back(bytes_of(session.folder() / "model.safetensors")); };
  const Outcome outcome = session.run();
  ASSERT_THAT(saved, SizeIs(2));  // 3, then 1; an equal score is no gain
  EXPECT_EQ(bytes_of(session.folder() / "model.safetensors"), saved[1]);
  EXPECT_EQ(outcome.best.at("loss"), 1);
}

TEST_F(Trainer, MoreIsBetterWhereItSaysSo) {
  Session session(place("run"));
  session.training.less_is_better = false;
  session.training.best_by = "BLEU";
  session.training.validate = [n = 0](const std::function<bool()>&) mutable {
    return std::map<std::string, double>{{"BLEU", std::vector<double>{3, 1, 7, 5, 6}.at(static_cast<std::size_t>(n++))}, {"loss", 1.0}};
  };
  EXPECT_EQ(session.run().best.at("BLEU"), 7);
}

TEST_F(Trainer, RefusesToChooseByAScoreThatThereIsNot) {
  Session session(place("run"));
  session.training.best_by = "PER";
  EXPECT_THAT([&] { session.run(); }, ThrowsMessage<InvalidArgument>(HasSubstr("validation gives no score \"PER\"")));
}

TEST_F(Trainer, RefusesOptionsOutOfRange) {
  Session session(place("run"));
  session.options.log_every = 0;
  EXPECT_THAT([&] { session.run(); }, ThrowsMessage<InvalidArgument>(StartsWith("train.log_every: ")));
  EXPECT_FALSE(fs::exists(session.folder()));
}

// --- schedules that depend on validation ---------------------------------------------------------------------------------------------

TEST_F(Trainer, LowersTheRateOnAPlateau) {
  Session session(place("run"));
  session.options.plateau_patience = 2;
  session.options.valid_every = 4;
  session.options.log_every = 1;
  session.training.validate = [](const std::function<bool()>&) { return std::map<std::string, double>{{"loss", 1.0}}; };
  session.run();
  std::map<std::int64_t, double> rates;
  for (const io::Value& line : metrics(session.folder()))
    if (const io::Value* rate = line.find("learning_rate")) rates[line.at("step").as_integer()] = rate->as_number();
  // the first validation is a gain; after that every second one lowers the rate
  for (const auto& [step, rate] : rates) EXPECT_DOUBLE_EQ(rate, 0.05 * std::pow(0.5, (step - 1) / 4 < 3 ? 0 : ((step - 1) / 4 - 1) / 2)) << step;
  EXPECT_LT(rates.at(33), 0.05);
}

TEST_F(Trainer, StopsEarlyWhenPatienceRunsOut) {
  Session session(place("run"));
  session.options.patience = 2;
  session.training.validate = [n = 0.0](const std::function<bool()>&) mutable { return std::map<std::string, double>{{"loss", n++}}; };
  const Outcome outcome = session.run();
  EXPECT_TRUE(outcome.finished);
  EXPECT_TRUE(outcome.stopped_early);
  EXPECT_EQ(outcome.steps, 21);
  EXPECT_EQ(outcome.best.at("loss"), 0);
  EXPECT_TRUE(newest_checkpoint(session.folder()).state.stopped_early);
  Session again(place("run"));
  again.options.patience = 2;
  EXPECT_EQ(again.run(/*resume=*/true).steps, 21);  // it stays finished
}

TEST_F(Trainer, AScoreThatIsNoNumberIsNoGain) {
  Session session(place("run"));
  session.training.validate = [n = 0](const std::function<bool()>&) mutable {
    return std::map<std::string, double>{{"loss", n++ == 1 ? 2.0 : std::numeric_limits<double>::quiet_NaN()}};
  };
  const Outcome outcome = session.run();
  EXPECT_EQ(outcome.best.at("loss"), 2);
  Session again(place("run"));
  EXPECT_TRUE(again.run(/*resume=*/true).finished);  // its checkpoints can be read
}

// --- interrupted and resumed -----------------------------------------------------------------------------------------------------------

TEST_F(Trainer, StoppedAnywhereItGoesOnToTheBit) {
  const fs::path reference = undisturbed();
  for (std::int64_t step = 0; step < 33; ++step) {
    Session first(place("stopped"));
    first.stop_after(step);
    const Outcome outcome = first.run();
    EXPECT_FALSE(outcome.finished);
    EXPECT_EQ(outcome.steps, step);
    Session second(place("stopped"));
    EXPECT_TRUE(second.run(/*resume=*/true).finished);
    expect_same_run(second.folder(), reference);
    fs::remove_all(place("stopped"));
  }
}

TEST_F(Trainer, StoppedAtEveryStepItGoesOnToTheBit) {
  const fs::path reference = undisturbed();
  bool finished = false;
  for (std::int64_t step = 1; !finished; ++step) {
    ASSERT_LE(step, 34);
    Session session(place("stopped"));
    session.stop_after(step);
    finished = session.run(/*resume=*/true).finished;
  }
  expect_same_run(place("stopped"), reference);
}

// What kill -9 leaves behind is what the folder holds at that moment.
TEST_F(Trainer, KilledAnywhereItGoesOnToTheBit) {
  Session watched(place("watched"));
  std::int64_t moments = 0;
  watched.callbacks.progress = [&](const Progress&) {
    fs::copy(place("watched"), place("killed-" + std::to_string(moments++)), fs::copy_options::recursive);
  };
  watched.run();
  ASSERT_GT(moments, 33);
  for (std::int64_t moment = 0; moment < moments; ++moment) {
    Session resumed(place("killed-" + std::to_string(moment)));
    EXPECT_TRUE(resumed.run(/*resume=*/true).finished);
    expect_same_run(resumed.folder(), place("watched"));
  }
}

TEST_F(Trainer, StoppedInsideAValidationItValidatesAgain) {
  const fs::path reference = undisturbed();
  for (int question = 0; question < 4; ++question) {
    Session first(place("stopped"));
    bool validating = false;
    int asked = 0;
    first.callbacks.progress = [&](const Progress& progress) {
      validating = progress.phase == Progress::Phase::validating && progress.step == 14;
    };
    first.callbacks.stop = [&] { return validating && asked++ >= question; };
    EXPECT_FALSE(first.run().finished);
    const RunState state = newest_checkpoint(first.folder()).state;
    EXPECT_EQ(state.step, 14);
    EXPECT_TRUE(state.validation_due);
    EXPECT_THAT(bytes_of(first.folder() / "metrics.jsonl"), testing::Not(HasSubstr("\"step\":14")));
    Session second(place("stopped"));
    EXPECT_TRUE(second.run(/*resume=*/true).finished);
    expect_same_run(second.folder(), reference);
    fs::remove_all(place("stopped"));
  }
}

TEST_F(Trainer, ResumesBeforeItsFirstCheckpointFromTheBeginning) {
  const fs::path reference = undisturbed();
  Session session(place("new"));
  fs::create_directories(place("new"));
  temporary.write("new/metrics.jsonl", "{\"step\":4}\n");
  EXPECT_TRUE(session.run(/*resume=*/true).finished);
  expect_same_run(session.folder(), reference);
}

TEST_F(Trainer, AFinishedRunStaysAsItIs) {
  const fs::path folder = undisturbed();
  const std::string model = bytes_of(folder / "model.safetensors"), lines = bytes_of(folder / "metrics.jsonl");
  Session session(folder);
  session.training.batch = [](std::int64_t) -> Training::BatchLosses { throw std::logic_error("no step is to be made"); };
  EXPECT_TRUE(session.run(/*resume=*/true).finished);
  EXPECT_EQ(bytes_of(folder / "model.safetensors"), model);
  EXPECT_EQ(bytes_of(folder / "metrics.jsonl"), lines);
}

TEST_F(Trainer, RemovesWhatAKilledProcessLeft) {
  temporary.write("run/checkpoints/step-00000005.safetensors.partial-999999999", "half");
  Session session(place("run"));
  session.run();
  EXPECT_THAT(checkpoint_names(session.folder()), SizeIs(2));
}

TEST_F(Trainer, DamagedCheckpointsAreNamedAndTheOneBeforeIsTaken) {
  const fs::path reference = undisturbed();
  for (const bool truncated : {true, false}) {
    Session first(place("damaged"));
    first.stop_after(22);
    first.run();
    const fs::path newest = first.folder() / "checkpoints" / checkpoint_names(first.folder()).back();
    std::string bytes = bytes_of(newest);
    if (truncated)
      bytes.resize(bytes.size() / 2);
    else
      bytes[bytes.size() - 9] ^= 1;
    temporary.write("damaged/checkpoints/" + newest.filename().string(), bytes);
    Session second(place("damaged"));
    std::vector<std::string> problems;
    second.callbacks.problem = [&](const std::string& problem) { problems.push_back(problem); };
    EXPECT_TRUE(second.run(/*resume=*/true).finished);
    EXPECT_THAT(problems, ElementsAre(AllOf(StartsWith(newest.string() + ": "), HasSubstr("going back to the checkpoint of step 20"))));
    expect_same_run(second.folder(), reference);
    fs::remove_all(place("damaged"));
  }
}

TEST_F(Trainer, WhereNoCheckpointCanBeReadNothingIsOverwritten) {
  const fs::path folder = undisturbed();
  for (const std::string& name : checkpoint_names(folder)) fs::resize_file(folder / "checkpoints" / name, 30);
  const std::string model = bytes_of(folder / "model.safetensors"), lines = bytes_of(folder / "metrics.jsonl");
  Session session(folder);
  EXPECT_THAT([&] { session.run(/*resume=*/true); },
              ThrowsMessage<InvalidData>(AllOf(HasSubstr("no checkpoint can be read"), HasSubstr("step-00000033.safetensors"))));
  EXPECT_EQ(bytes_of(folder / "model.safetensors"), model);
  EXPECT_EQ(bytes_of(folder / "metrics.jsonl"), lines);
}

TEST_F(Trainer, ACheckpointOfAnotherModelIsRefused) {
  const fs::path folder = undisturbed();
  Session session(folder);
  torch::nn::Linear other(4, 2);
  session.training.model = other.ptr().get();
  EXPECT_THAT([&] { session.run(/*resume=*/true); }, ThrowsMessage<InvalidData>(StartsWith((folder / "checkpoints").string())));
}

TEST_F(Trainer, LinesThatTheDiskLostDoNotStopIt) {
  const fs::path reference = undisturbed();
  Session first(place("run"));
  first.stop_after(20);
  first.run();
  const std::string lines = bytes_of(first.folder() / "metrics.jsonl");
  temporary.write("run/metrics.jsonl", lines.substr(0, lines.size() - 7));  // half of the last one is lost
  Session second(place("run"));
  EXPECT_TRUE(second.run(/*resume=*/true).finished);
  EXPECT_EQ(bytes_of(second.folder() / "model.safetensors"), bytes_of(reference / "model.safetensors"));
  EXPECT_EQ(timeless_metrics(second.folder()).size() + 1, timeless_metrics(reference).size());
  fs::remove(place("run") / "metrics.jsonl");
  Session third(place("run"));
  EXPECT_TRUE(third.run(/*resume=*/true).finished);
}

// --- numbers that are none -------------------------------------------------------------------------------------------------------------

TEST_F(Trainer, ALossThatIsNoNumberStopsWithAnExplanation) {
  const fs::path reference = undisturbed();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Session session(place("run"));
    const auto batch = session.training.batch;
    int calls = 0;
    session.training.batch = [&](std::int64_t number) {
      Training::BatchLosses losses = batch(number);
      if (++calls == 13) losses.losses[0].value = losses.losses[0].value * bad;
      return losses;
    };
    EXPECT_THAT([&] { session.run(); },
                ThrowsMessage<Diverged>(AllOf(StartsWith("step 13: the loss is "), HasSubstr("train.learning_rate (now 0.05)"),
                                              HasSubstr("train.warmup"), HasSubstr("train.clip (now 5)"))));
    EXPECT_THAT(checkpoint_names(session.folder()), ElementsAre("step-00000005.safetensors", "step-00000010.safetensors"));
    Session mended(place("run"));
    EXPECT_TRUE(mended.run(/*resume=*/true).finished);
    expect_same_run(mended.folder(), reference);
    fs::remove_all(place("run"));
  }
}

TEST_F(Trainer, AGradientThatIsNoNumberStopsBeforeItIsUsed) {
  Session session(place("run"));
  const auto batch = session.training.batch;
  int calls = 0;
  session.training.batch = [&](std::int64_t number) {
    Training::BatchLosses losses = batch(number);
    // √0 has no finite slope
    if (++calls == 7) losses.losses.push_back({"slope", (session.network->output->weight * 0).abs().sum().sqrt(), 1.0});
    return losses;
  };
  EXPECT_THAT([&] { session.run(); }, ThrowsMessage<Diverged>(StartsWith("step 7: the gradient's norm is ")));
  for (const Tensor& parameter : session.network->parameters()) EXPECT_TRUE(parameter.isfinite().all().item<bool>());
  EXPECT_THAT(checkpoint_names(session.folder()), ElementsAre("step-00000005.safetensors"));
}

}  // namespace
}  // namespace attend::train
