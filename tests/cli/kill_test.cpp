// kill -9 at ten moments of a training run, resumed each time: the model must be that of the undisturbed run, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "attend/io/json.h"
#include "tests/cli/program.h"
#include "tests/cli/trained_run.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using testing::HasSubstr;

constexpr std::int64_t steps = 300, valid_every = 20, checkpoint_every = 10;
constexpr int kills = 10;

// The last whole line of a run's log: how far it is.
struct Place {
  std::int64_t step = 0;
  bool validated = false;  // the line is that of the step's validation
};

Place place_of(const fs::path& run) {
  const std::string text = bytes_of(run / "metrics.jsonl");
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) return {};
  const std::size_t begin = end == 0 ? 0 : text.rfind('\n', end - 1) + 1;
  const io::Value line = io::parse_json(text.substr(begin, end - begin), "metrics.jsonl");
  return {line.at("step").as_integer(), line.find("valid") != nullptr};
}

// The step is done and logged, what its validation gives is not.
bool is_validating(const fs::path& run) {
  const Place place = place_of(run);
  return place.step > 0 && place.step % valid_every == 0 && !place.validated;
}

// Checkpoints that were begun and not put in their place.
std::vector<fs::path> half_written_checkpoints(const fs::path& run) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
    if (entry.path().filename().string().find(".partial-") != std::string::npos) found.push_back(entry.path());
  return found;
}

// Tells at once when a file is made in a folder.
class Watch {
 public:
  explicit Watch(const fs::path& folder) : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(inotify_add_watch(descriptor_, folder.c_str(), IN_CREATE), 0) << folder;
  }
  ~Watch() { close(descriptor_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool saw_a_file() const {
    char event[4096];
    return read(descriptor_, event, sizeof event) > 0;
  }

 private:
  int descriptor_;
};

class Kill : public testing::Test {
 protected:
  Kill() {
    // a thousand words to validate on, so that validation takes a good part of the time
    folder.write("valid.tsv", fixtures::tsv(fixtures::words(1000, 2)));
  }

  std::vector<std::string> arguments(const fs::path& out, bool resume) const {
    std::vector<std::string> more;
    for (const std::string setting :
         {"train.schedule=plateau", "train.plateau_patience=1", "train.patience=8", "train.averaging=0.9", "model.dropout=0.2", "train.log_every=1",
          "model.hidden=64", "model.decoder_hidden=128", "train.learning_rate=0.003"})
      more.insert(more.end(), {"--set", setting});
    for (const auto& [key, value] : {std::pair("steps", steps), std::pair("valid_every", valid_every), std::pair("checkpoint_every", checkpoint_every)})
      more.insert(more.end(), {"--set", "train." + std::string(key) + "=" + std::to_string(value)});
    if (resume) more.push_back("--resume");
    return train_arguments(recipe, out, more);
  }

  // kill -9, and the proof that this is how it ended.
  static void end_at_once(Program& program) {
    program.send(SIGKILL);
    const Ending ending = program.wait();
    EXPECT_EQ(ending.signal, SIGKILL) << "it had ended by itself with " << ending.status << ": " << ending.errors;
  }

  void kill_somewhere(std::mt19937& generator) {
    Program program(arguments(run_folder, true));
    const std::int64_t goal = place_of(run_folder).step + 2 + static_cast<std::int64_t>(generator() % 20);
    ASSERT_TRUE(program.wait_until([&] { return place_of(run_folder).step >= goal; })) << "step " << goal;
    // any moment of a step, not always that after its line
    std::this_thread::sleep_for(std::chrono::microseconds(generator() % 20'000));
    end_at_once(program);
  }

  // → whether it was a kill in the middle of writing a checkpoint: what was written is left behind.
  bool kill_inside_a_checkpoint() {
    Program program(arguments(run_folder, true));
    const Place before = place_of(run_folder);
    // the files of a process before this one are removed first
    EXPECT_TRUE(program.wait_until([&] { return place_of(run_folder).step > before.step || half_written_checkpoints(run_folder).empty(); }));
    const Watch watch(run_folder / "checkpoints");
    EXPECT_TRUE(program.wait_until([&] { return watch.saw_a_file(); }));
    end_at_once(program);
    return !half_written_checkpoints(run_folder).empty();
  }

  bool kill_inside_a_validation(std::mt19937& generator) {
    Program program(arguments(run_folder, true));
    const std::int64_t before = place_of(run_folder).step;
    EXPECT_TRUE(program.wait_until([&] { return is_validating(run_folder) && place_of(run_folder).step > before; }));
    std::this_thread::sleep_for(std::chrono::microseconds(generator() % 5'000));
    end_at_once(program);
    return is_validating(run_folder);
  }

  const fixtures::TemporaryFolder folder;
  const fs::path recipe = fixtures::write_letters(folder);
  const fs::path reference = folder.path() / "undisturbed", run_folder = folder.path() / "killed";
};

TEST_F(Kill, TenTimesAndTheModelIsThatOfTheUndisturbedRun) {
  const Ending undisturbed = run(arguments(reference, false));
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.errors;

  std::mt19937 generator(20);
  int inside_checkpoint = 0, inside_validation = 0;
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    // these two must happen: where one came too late it is tried again
    if (kill >= 3 && inside_checkpoint == 0)
      inside_checkpoint += kill_inside_a_checkpoint();
    else if (kill >= 5 && inside_validation == 0)
      inside_validation += kill_inside_a_validation(generator);
    else
      kill_somewhere(generator);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(inside_checkpoint, 0) << "no kill came while a checkpoint was written";
  EXPECT_GT(inside_validation, 0) << "no kill came in a validation";

  const Ending finished = run(arguments(run_folder, true));
  ASSERT_EQ(finished.status, 0) << finished.errors;
  EXPECT_EQ(bytes_of(run_folder / "model.safetensors"), bytes_of(reference / "model.safetensors"));
  EXPECT_EQ(bytes_of(run_folder / "samples.attn"), bytes_of(reference / "samples.attn"));
  EXPECT_FALSE(bytes_of(reference / "model.safetensors").empty());
  EXPECT_TRUE(half_written_checkpoints(run_folder).empty());
  EXPECT_EQ(place_of(run_folder).step, place_of(reference).step);
  // at least twenty checkpoints: the run must not have stopped before
  EXPECT_GE(place_of(reference).step, 20 * checkpoint_every);
}

}  // namespace
}  // namespace attend::tests
