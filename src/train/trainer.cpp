#include "attend/train/trainer.h"

#include <chrono>
#include <cmath>

#include "attend/io/file.h"
#include "attend/io/json.h"
#include "attend/train/checkpoint.h"
#include "attend/train/optimizer.h"
#include "attend/train/schedule.h"

namespace attend::train {

Diverged::~Diverged() = default;

namespace {

at::Generator default_generator() { return at::globalContext().defaultGenerator(at::kCPU); }

class Clock {
 public:
  explicit Clock(double before) : before_(before) {}
  double seconds() const { return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  double before_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// One run: its state, and what the loop does with it.
class Run {
 public:
  Run(const Training& training, const TrainOptions& options, const std::filesystem::path& folder, const Callbacks& callbacks)
      : training_(training), options_(options), folder_(folder), callbacks_(callbacks), optimizer_(*training.model, options) {}

  void begin() {
    io::write_file(metrics_file(), "");
    clock_ = Clock(0);
  }

  bool resume() {
    std::vector<std::string> problems;
    const std::optional<Checkpoint> checkpoint = load_newest_checkpoint(folder_ / "checkpoints", problems);
    if (!checkpoint) {
      if (!problems.empty()) throw InvalidData("no checkpoint can be read: " + problems.front() + "; train anew in another folder");
      return false;
    }
    for (const std::string& problem : problems)
      if (callbacks_.problem) callbacks_.problem(format("{}; going back to the checkpoint of step {}", problem, checkpoint->state.step));
    state_ = checkpoint->state;
    const std::string name = (folder_ / "checkpoints").string();
    load_module_tensors(*training_.model, checkpoint->model, name);
    optimizer_.load_state(checkpoint->optimizer, name);
    default_generator().set_state(checkpoint->generator);
    shorten_metrics();
    clock_ = Clock(state_.seconds);
    return true;
  }

  Outcome loop() {
    while (!state_.finished) {
      if (wants_stop()) {
        save();
        break;
      }
      if (state_.validation_due)
        validate();
      else
        one_step();
      // a validation that is due, or was interrupted, comes before the checkpoint of its step
      if (!state_.validation_due && (state_.finished || state_.step % options_.checkpoint_every == 0)) save();
    }
    return {state_.finished, state_.stopped_early, state_.step, state_.seconds, state_.best};
  }

 private:
  std::filesystem::path metrics_file() const { return folder_ / "metrics.jsonl"; }
  bool wants_stop() const { return callbacks_.stop && callbacks_.stop(); }

  // What was logged after the checkpoint will be logged again.
  void shorten_metrics() {
    std::error_code error;
    if (!std::filesystem::exists(metrics_file())) io::write_file(metrics_file(), "");
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(metrics_file()));
    // lines that the disk lost don't come back; half a line must not be gone on with
    if (size < state_.metrics_bytes) state_.metrics_bytes = static_cast<std::int64_t>(io::read_file(metrics_file()).rfind('\n') + 1);
    std::filesystem::resize_file(metrics_file(), static_cast<std::uintmax_t>(state_.metrics_bytes), error);
    if (error) throw SystemError(format("{}: cannot be shortened: {}", metrics_file().string(), error.message()));
  }

  void log(const io::Value& line) {
    const std::string text = io::to_json(line);
    io::append_line(metrics_file(), text);
    state_.metrics_bytes += static_cast<std::int64_t>(text.size()) + 1;
  }

  void save() {
    state_.seconds = clock_.seconds();
    save_checkpoint(folder_ / "checkpoints", {state_, module_tensors(*training_.model), optimizer_.state(),
                                              default_generator().get_state()});
  }

  void report(Progress::Phase phase) {
    if (!callbacks_.progress) return;
    Progress progress;
    progress.phase = phase;
    progress.step = state_.step;
    progress.steps = options_.steps;
    progress.epoch = state_.epoch;
    progress.loss = last_loss_;
    progress.learning_rate = rate_;
    progress.seconds = clock_.seconds();
    progress.items_per_second = items_per_second_;
    progress.seconds_left = state_.step > 0 ? progress.seconds / static_cast<double>(state_.step) * static_cast<double>(options_.steps - state_.step) : 0;
    progress.valid = state_.valid;
    callbacks_.progress(progress);
  }

  [[noreturn]] void diverged(const char* what, double value) const {
    throw Diverged(
        format("step {}: the {} is {}, not a number; training stopped and the last checkpoint stays. Try a smaller train.learning_rate "
               "(now {:g}), a train.warmup, or a smaller train.clip (now {:g}), and look for values in the data that are not finite.",
               state_.step + 1, what, value, rate_, options_.clip));
  }

  void one_step() {
    if (state_.batch == 0 || batches_ == 0) batches_ = training_.begin_epoch(state_.epoch);
    rate_ = learning_rate(options_, state_.step + 1, state_.reductions);
    training_.model->train();
    optimizer_.zero_gradients();
    const Training::BatchLosses batch = training_.batch(state_.batch);
    Tensor total;
    for (const models::LossTerm& term : batch.losses) {
      const Tensor weighted = term.weight == 1.0 ? term.value : term.value * term.weight;
      total = total.defined() ? total + weighted : weighted;
    }
    const double loss = total.item<double>();
    if (!std::isfinite(loss)) diverged("loss", loss);
    total.backward();
    const double norm = optimizer_.step(rate_);
    if (!std::isfinite(norm)) diverged("gradient's norm", norm);

    state_.loss_sum += loss;
    ++state_.loss_count;
    last_loss_ = state_.loss_sum / static_cast<double>(state_.loss_count);
    items_ += batch.items;
    ++state_.step;
    if (++state_.batch == batches_) state_.batch = 0, ++state_.epoch;
    if (state_.step % options_.log_every == 0 || state_.step == options_.steps) log_step();
    report(Progress::Phase::training);
    state_.validation_due = state_.step >= options_.steps || state_.step % options_.valid_every == 0;
  }

  void log_step() {
    const double now = clock_.seconds();
    items_per_second_ = now > logged_at_ ? static_cast<double>(items_) / (now - logged_at_) : 0;
    io::Value line = io::Value::table();
    line.set("step", state_.step);
    line.set("epoch", state_.epoch);
    line.set("loss", last_loss_);
    line.set("learning_rate", rate_);
    line.set("items_per_second", std::round(items_per_second_));
    line.set("seconds", std::round(now * 1000) / 1000);
    log(line);
    state_.loss_sum = 0;
    state_.loss_count = 0;
    items_ = 0;
    logged_at_ = now;
  }

  // Stays due where it was interrupted.
  void validate() {
    report(Progress::Phase::validating);
    optimizer_.swap_average();
    training_.model->eval();
    std::map<std::string, double> scores;
    {
      torch::NoGradGuard no_gradient;
      scores = training_.validate([this] { return wants_stop(); });
    }
    const bool interrupted = wants_stop();
    if (!interrupted) take_scores(scores);
    optimizer_.swap_average();
    logged_at_ = clock_.seconds();  // the rate is that of training alone
    if (interrupted) return;
    state_.validation_due = false;
    if (state_.step >= options_.steps) state_.finished = true;
    report(Progress::Phase::training);
  }

  // Called with the averaged parameters in place.
  void take_scores(const std::map<std::string, double>& scores) {
    state_.valid = scores;
    io::Value line = io::Value::table();
    line.set("step", state_.step);
    line.set("epoch", state_.epoch);
    io::Value valid = io::Value::table();
    for (const auto& [name, score] : scores) valid.set(name, score);
    line.set("seconds", std::round(clock_.seconds() * 1000) / 1000);
    line.set("valid", valid);
    log(line);
    const auto found = scores.find(training_.best_by);
    if (found == scores.end()) throw InvalidArgument(format("attend::train: validation gives no score \"{}\"", training_.best_by));
    const double score = found->second;
    const bool gain = std::isfinite(score) &&
                      (!state_.best_score || (training_.less_is_better ? score < *state_.best_score : score > *state_.best_score));
    if (gain) {
      state_.best_score = score;
      state_.best = scores;
      state_.since_gain = state_.since_reduction = 0;
      training_.save_best();
      return;
    }
    ++state_.since_gain;
    if (options_.schedule == Schedule::plateau && ++state_.since_reduction >= options_.plateau_patience) {
      ++state_.reductions;
      state_.since_reduction = 0;
    }
    if (options_.patience > 0 && state_.since_gain >= options_.patience) state_.finished = state_.stopped_early = true;
  }

  const Training& training_;
  const TrainOptions& options_;
  const std::filesystem::path folder_;
  const Callbacks& callbacks_;
  Optimizer optimizer_;
  RunState state_;
  Clock clock_{0};
  std::int64_t batches_ = 0, items_ = 0;
  double rate_ = 0, last_loss_ = 0, items_per_second_ = 0, logged_at_ = 0;
};

}  // namespace

Outcome train(const Training& training, const TrainOptions& options, const std::filesystem::path& folder, bool resume,
              const Callbacks& callbacks) {
  check(options);
  io::make_folders(folder / "checkpoints");
  io::remove_stale_partial_files(folder / "checkpoints");
  Run run(training, options, folder, callbacks);
  if (!resume || !run.resume()) run.begin();
  return run.loop();
}

}  // namespace attend::train
