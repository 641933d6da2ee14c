// Bad input: a message with file and line, and nothing lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/cli/trained_run.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;
using fixtures::bytes_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class BadInput : public testing::Test {
 protected:
  fs::path place(const std::string& name) const { return folder.path() / name; }

  // Expects the tool to fail with "attend: START…WHY" and nothing on its output.
  static void expect_failure(const std::vector<std::string>& arguments, const std::string& start, const std::string& why,
                             const Surroundings& surroundings = {}) {
    const Ending ending = run(arguments, {}, surroundings);
    EXPECT_EQ(ending.status, 1) << ending.output << ending.errors << ending.signal;
    EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: " + start), HasSubstr(why)));
    EXPECT_THAT(ending.output, IsEmpty());
  }

  void expect_refused_training(const std::string& start, const std::string& why, const std::vector<std::string>& settings = {}) const {
    expect_failure(train_arguments(recipe, place("run"), settings), start, why);
    EXPECT_FALSE(fs::exists(place("run/recipe.toml"))) << "the folder must stay free for the mended data";
  }

  // Each command that opens a run refuses this one, and changes nothing in it.
  static void expect_refused_run(const fs::path& run, const std::string& start, const std::string& why) {
    const auto before = contents_of(run);
    for (const std::string command : {"predict", "eval", "check"}) expect_failure({command, run.string()}, start, why);
    EXPECT_EQ(contents_of(run), before);
  }

  const fixtures::TemporaryFolder folder;
  const fs::path recipe = fixtures::write_letters(folder);
};

// --- texts -------------------------------------------------------------------------------------------------------------------------------

TEST_F(BadInput, FilesOfDifferentLengths) {
  const std::string source = folder.write("source", "abc\nde\nf\n").string(), target = folder.write("target", "A B C\nD E\n").string();
  expect_refused_training(source + ":3: ", "the file has 3 lines, " + target + " has 2", {"--set", "data.train=[\"" + source + "\", \"" + target + "\"]"});
}

TEST_F(BadInput, BytesThatAreNotUtf8) {
  folder.write("train.tsv", "abc\tA B C\ncaf\xE9\tC A F\n");
  expect_refused_training(place("train.tsv").string() + ":2: ", "byte 4 (0xe9) is not UTF-8; convert the file, for example with `iconv");
}

TEST_F(BadInput, EmptyLinesAreLeftOutAndCounted) {
  folder.write("train.tsv", "\nabc\tA B C\n  \ndec\tD E C\n\n");
  const Ending ending = run(train_arguments(recipe, place("run"), {"--set", "train.steps=1"}));
  EXPECT_EQ(ending.status, 0) << ending.errors;
  EXPECT_THAT(ending.output, StartsWith("data      2 pairs to train on, 40 for validation, 3 empty lines\n"));
}

TEST_F(BadInput, APairWithOneEmptySide) {
  folder.write("train.tsv", "abc\tA B C\n\tD E C\n");
  expect_refused_training(place("train.tsv").string() + ":2: ", "the source is empty, but the other side is not");
}

TEST_F(BadInput, AMissingFile) {
  fs::remove(place("train.tsv"));
  expect_refused_training(place("train.tsv").string() + ": ", "cannot be opened: No such file or directory");
  fixtures::write_letters(folder);
  fs::remove(place("valid.tsv"));
  expect_refused_training(place("valid.tsv").string() + ": ", "cannot be opened: No such file or directory");
  expect_failure({"train", place("missing.toml").string()}, "recipe " + place("missing.toml").string() + ": not found", "B3-cmudict-quickstart");
  expect_failure({"show", place("missing.attn").string()}, place("missing.attn").string() + ": ", "cannot be opened");
  expect_failure({"eval", place("missing").string()}, place("missing").string() + ": ", "there is no such run folder");
  expect_failure({"eval", trained_run().string(), "--split", "missing.tsv"}, "missing.tsv: ", "cannot be opened");
}

TEST_F(BadInput, AFolderInPlaceOfAFile) {
  expect_refused_training(folder.path().string() + ": ", "is a folder, expected a file", {"--set", "data.train=" + folder.path().string()});
}

TEST_F(BadInput, ALineOfAMegabyte) {
  folder.write("train.tsv", "abc\tA B C\n" + std::string(1'000'000, 'a') + "\tA\n");
  expect_refused_training(place("train.tsv").string() + ":2: ", "the line has 1000002 bytes, at most 65536 are read");
}

TEST_F(BadInput, ATsvWithOneColumn) {
  folder.write("train.tsv", "abc A B C\ndec D E C\n");
  expect_refused_training(place("train.tsv").string() + ":1: ", "expected two columns, source TAB target, got one");
  const fs::path test = folder.write("one.tsv", "abc\tA B C\nabc\n");
  expect_failure({"eval", trained_run().string(), "--split", test.string()}, test.string() + ":2: ", "expected two columns");
}

TEST_F(BadInput, AnEmptyTrainingSet) {
  folder.write("train.tsv", "");
  expect_refused_training(place("train.tsv").string() + ": ", "holds no pair to train on; expected lines of source TAB target");
}

// --- recipes -----------------------------------------------------------------------------------------------------------------------------

TEST_F(BadInput, ARecipeOfAnUnknownFormat) {
  const std::string text = bytes_of(recipe);
  folder.write("letters.toml", "format = 2\n" + text.substr(text.find('\n') + 1));
  expect_refused_training(recipe.string() + ":1: ", "expected format = 1, got 2; it was written for a newer version of attend");
  folder.write("letters.toml", text.substr(text.find('\n') + 1));
  expect_refused_training(recipe.string() + ": ", "got no format");
}

TEST_F(BadInput, ARecipeWithAnUnknownKey) {
  const std::string text = bytes_of(recipe);
  folder.write("letters.toml", text + "learning_rat = 0.1\n");
  const auto line = std::count(text.begin(), text.end(), '\n') + 1;
  expect_refused_training(recipe.string() + ":" + std::to_string(line) + ": train.learning_rat: ", "unknown key; did you mean \"learning_rate\"?");
  folder.write("letters.toml", text);
  expect_refused_training(recipe.string() + ": model.hiden: ", "unknown key; did you mean \"hidden\"?", {"--set", "model.hiden=3"});
}

TEST_F(BadInput, ARecipeThatIsMalformedOrOutOfRange) {
  folder.write("letters.toml", "format = 1\n[data\ntrain = 3\n");
  expect_refused_training(recipe.string() + ":2: ", "");
  folder.write("letters.toml", "format = 1\n[data]\ntrain = \"x\"\n[train]\nsteps = -5\n");
  expect_refused_training(recipe.string() + ":5: ", "train.steps: expected at least 1, got -5");
}

TEST_F(BadInput, ALearningRateBeyondTheRangeOfNumbers) {
  expect_refused_training(recipe.string() + ": train.learning_rate: ", "expected at most 3e+37, beyond which an update leaves the range of its numbers, got 1e+308",
                          {"--set", "train.learning_rate=1e308"});
}

TEST_F(BadInput, ResumingWithAnotherRecipe) {
  const fs::path copy = copy_of_trained_run(folder);
  const auto before = contents_of(copy);
  expect_failure(train_arguments(trained_run().parent_path() / "letters.toml", copy, {"--resume", "--set", "train.steps=250"}), copy.string() + ": ",
                 "was begun with another recipe: train.valid_every differs");
  expect_failure(train_arguments(trained_run().parent_path() / "letters.toml", copy), copy.string() + ": ",
                 "holds a run already; go on with it by --resume, or choose another folder with --out");
  EXPECT_EQ(contents_of(copy), before);
}

// --- runs --------------------------------------------------------------------------------------------------------------------------------

TEST_F(BadInput, AVocabularyThatDoesNotMatchTheModel) {
  const fs::path copy = copy_of_trained_run(folder);
  fs::copy_file(copy / "vocabulary.source", copy / "vocabulary.target", fs::copy_options::overwrite_existing);
  expect_refused_run(copy, (copy / "vocabulary.target").string() + ": ", "this vocabulary doesn't belong to " + (copy / "model.safetensors").string());
  folder.write("copy-of-run/vocabulary.target", bytes_of(trained_run() / "vocabulary.target") + "A\n");
  expect_refused_run(copy, (copy / "vocabulary.target").string() + ":21: ", "the token \"A\" stands in line ");
}

TEST_F(BadInput, ATruncatedOrAlteredModel) {
  const fs::path copy = copy_of_trained_run(folder), model = copy / "model.safetensors";
  const std::string whole = bytes_of(model);
  for (const std::size_t size : {std::size_t{0}, whole.size() / 2}) {
    fs::resize_file(model, size);
    expect_refused_run(copy, model.string() + ": ", "");
    folder.write("copy-of-run/model.safetensors", whole);
  }
  for (const std::size_t at : {std::size_t{20}, whole.size() - 10}) {
    std::string altered = whole;
    altered[at] ^= 1;
    folder.write("copy-of-run/model.safetensors", altered);
    expect_refused_run(copy, model.string() + ": ", "");
  }
}

TEST_F(BadInput, ATruncatedOrAlteredRecording) {
  std::string bytes = bytes_of(trained_run() / "samples.attn");
  bytes[bytes.size() - 3] ^= 1;
  const std::string altered = folder.write("altered.attn", bytes).string(), truncated = folder.write("truncated.attn", bytes.substr(0, 300)).string();
  for (const std::string& file : {altered, truncated, folder.write("text.attn", "hello\n").string()}) {
    expect_failure({"show", file}, file + ": ", "");
    expect_failure({"view", file, "--export", place("a.svg").string()}, file + ": ", "");
  }
  EXPECT_FALSE(fs::exists(place("a.svg")));
}

// --- checkpoints and disks -----------------------------------------------------------------------------------------------------------------

// A run that was interrupted, a copy for each test, and the model that an undisturbed one ends with.
class BadCheckpoint : public BadInput {
 protected:
  static void SetUpTestSuite() {
    runs = new fixtures::TemporaryFolder;
    fixtures::write_letters(*runs);
    EXPECT_EQ(run(arguments(runs->path() / "undisturbed")).status, 0);
    Program program(arguments(runs->path() / "stopped"));
    EXPECT_TRUE(program.wait_until([] { return fs::exists(runs->path() / "stopped/checkpoints/step-00000020.safetensors"); }));
    program.send(SIGTERM);
    EXPECT_EQ(program.wait().signal, SIGTERM);
  }
  static void TearDownTestSuite() { delete runs; }

  BadCheckpoint() { fs::copy(runs->path() / "stopped", place("stopped"), fs::copy_options::recursive); }

  static std::vector<std::string> arguments(const fs::path& out, bool resume = false) {
    std::vector<std::string> more = {"--set", "train.steps=200", "--set", "train.checkpoint_every=10"};
    if (resume) more.push_back("--resume");
    return train_arguments(runs->path() / "letters.toml", out, more);
  }

  Ending resume(const Surroundings& surroundings = {}) const { return run(arguments(place("stopped"), /*resume=*/true), {}, surroundings); }

  // The checkpoints of the run that was interrupted, oldest first.
  std::vector<fs::path> checkpoints() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(place("stopped/checkpoints"))) found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
  }

  void expect_the_undisturbed_model() const {
    EXPECT_FALSE(bytes_of(runs->path() / "undisturbed/model.safetensors").empty());
    EXPECT_EQ(bytes_of(place("stopped/model.safetensors")), bytes_of(runs->path() / "undisturbed/model.safetensors"));
  }

  static inline fixtures::TemporaryFolder* runs = nullptr;
};

TEST_F(BadCheckpoint, TheOneBeforeIsTakenAndTheBadOneNamed) {
  ASSERT_THAT(checkpoints(), SizeIs(2));
  const fs::path newest = checkpoints()[1];
  const std::string whole = bytes_of(newest);
  std::string altered = whole;
  altered[whole.size() / 2] ^= 1;
  for (const std::string& bytes : {whole.substr(0, whole.size() / 2), altered}) {
    fs::remove_all(place("stopped"));
    fs::copy(runs->path() / "stopped", place("stopped"), fs::copy_options::recursive);
    folder.write("stopped/checkpoints/" + newest.filename().string(), bytes);
    const Ending ending = resume();
    EXPECT_EQ(ending.status, 0) << ending.errors;
    EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: " + newest.string() + ": "), HasSubstr("; going back to the checkpoint of step ")));
    expect_the_undisturbed_model();
  }
}

TEST_F(BadCheckpoint, WhereAllAreBadNothingIsOverwritten) {
  for (const fs::path& checkpoint : checkpoints()) fs::resize_file(checkpoint, 50);
  const auto before = contents_of(place("stopped"));
  const Ending ending = resume();
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(ending.errors, AllOf(HasSubstr("no checkpoint can be read: " + checkpoints()[1].string() + ": "), HasSubstr("train anew in another folder")));
  EXPECT_EQ(contents_of(place("stopped")), before);
}

TEST_F(BadCheckpoint, AFileThatMayNotGrowIsToldAndNothingIsLost) {
  const auto before = checkpoints();
  const std::string newest = bytes_of(before.back());
  const Ending ending = resume({.largest_file = newest.size() / 2});
  EXPECT_EQ(ending.status, 1) << "signal " << ending.signal;
  EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: " + place("stopped").string()), HasSubstr("cannot be written: File too large")));
  EXPECT_EQ(checkpoints(), before);  // and no part of a new one
  EXPECT_EQ(bytes_of(before.back()), newest);
  EXPECT_EQ(resume().status, 0);
  expect_the_undisturbed_model();
}

TEST_F(BadCheckpoint, OtherFilesThatMayNotGrowAreToldAndTheOldOnesStay) {
  const std::string samples = (trained_run() / "samples.attn").string();
  const fs::path picture = folder.write("a.png", "the old one"), record = folder.write("a.attn", "the old one");
  // fontconfig writes a cache of its own at its first use, and complains where it can't: it must be there before
  EXPECT_EQ(run({"view", samples, "--export", (folder.path() / "first.png").string()}).status, 0);
  const Surroundings full = {.largest_file = 64};
  expect_failure({"view", samples, "--export", picture.string()}, picture.string() + ": ", "File too large", full);
  EXPECT_EQ(bytes_of(picture), "the old one");
  const Ending ending = run({"predict", trained_run().string(), "--record", record.string()}, "badge\n", full);
  EXPECT_EQ(ending.status, 1);
  EXPECT_THAT(lines_of(ending.output), SizeIs(1));  // the answer itself is not lost
  EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: " + record.string() + ": "), HasSubstr("File too large")));
  EXPECT_EQ(bytes_of(record), "the old one");
  for (const auto& entry : fs::directory_iterator(folder.path())) EXPECT_THAT(entry.path().string(), Not(HasSubstr(".partial-")));
}

// A file system of its own at a folder, while this lives.
class SmallDisk {
 public:
  SmallDisk(const fs::path& folder, std::size_t bytes) : folder_(folder) {
    fs::create_directories(folder);
    mounted_ = mount("attend-test", folder.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return mounted_; }

 private:
  fs::path folder_;
  bool mounted_;
};

TEST_F(BadCheckpoint, AFullDiskIsToldAndNothingIsLost) {
  fs::remove_all(place("stopped"));
  const SmallDisk disk(place("stopped"), 4 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << "only root may mount a small disk";
  fs::copy(runs->path() / "stopped", place("stopped"), fs::copy_options::recursive);
  const std::string filler(fs::space(place("stopped")).available - 16384, 'x');
  folder.write("stopped/filler", filler);
  const auto before = checkpoints();
  const std::string newest = bytes_of(before.back());
  const Ending ending = resume();
  EXPECT_EQ(ending.status, 1) << "signal " << ending.signal;
  EXPECT_THAT(ending.errors, AllOf(StartsWith("attend: " + place("stopped").string()), HasSubstr("No space left on device")));
  EXPECT_EQ(checkpoints(), before);
  EXPECT_EQ(bytes_of(before.back()), newest);
  fs::remove(place("stopped/filler"));
  EXPECT_EQ(resume().status, 0);
  expect_the_undisturbed_model();
}

}  // namespace
}  // namespace attend::tests
