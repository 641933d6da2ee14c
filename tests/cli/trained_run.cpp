#include "tests/cli/trained_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/program.h"
#include "tests/fixtures/letters.h"

namespace attend::tests {
namespace {

struct TrainedRun {
  TrainedRun() {
    const Ending ending = run(train_arguments(fixtures::write_letters(folder), out, {"--set", "train.steps=250", "--set", "train.valid_every=125"}));
    EXPECT_EQ(ending.status, 0) << ending.errors;
  }
  const fixtures::TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "run";
};

}  // namespace

std::vector<std::string> train_arguments(const std::filesystem::path& recipe, const std::filesystem::path& out, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"--threads", "1", "train", recipe.string(), "--out", out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const std::filesystem::path& trained_run() {
  static const TrainedRun trained;
  return trained.out;
}

std::filesystem::path copy_of_trained_run(const fixtures::TemporaryFolder& folder) {
  const std::filesystem::path copy = folder.path() / "copy-of-run";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(trained_run(), copy, std::filesystem::copy_options::recursive);
  return copy;
}

std::vector<std::pair<std::string, std::string>> contents_of(const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename() != ".lock")
      contents.emplace_back(entry.path().lexically_relative(folder).string(), fixtures::bytes_of(entry.path()));
  std::ranges::sort(contents);
  return contents;
}

}  // namespace attend::tests
