// Every recipe that the catalogue names runs, with the real tool, for two steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "attend/io/json.h"
#include "attend/io/toml.h"
#include "tests/cli/program.h"
#include "tests/cli/trained_run.h"
#include "tests/fixtures/letters.h"
#include "tests/fixtures/temporary_folder.h"

namespace attend::tests {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> catalogue_recipes() {
  const Ending systems = run({"systems", "--json"});
  EXPECT_EQ(systems.status, 0) << systems.errors;
  const io::Value catalogue = io::parse_json(systems.output, "systems --json");
  std::vector<std::string> names;
  for (const io::Value& system : catalogue.as_list())
    for (const io::Value& recipe : system.at("recipes").as_list()) names.push_back(recipe.as_text());
  return names;
}

// Texts and their targets: any pairs will do, so that a small set stands in for the corpus, which need not be there.
bool takes_pairs(const std::string& recipe) {
  const io::Value table = io::read_toml(fs::path(ATTEND_SOURCE_DIR) / "recipes" / (recipe + ".toml"));
  const io::Value* task = table.find("task");
  return task == nullptr || task->as_text() == "sequence-to-sequence";
}

TEST(CatalogueRecipes, EachTrainsByItsNameAndCanBeUsed) {
  const fixtures::TemporaryFolder folder;
  fixtures::write_letters(folder);
  const std::string train = (folder.path() / "train.tsv").string(), valid = (folder.path() / "valid.tsv").string();
  int trained = 0;
  std::string skipped;
  for (const std::string& recipe : catalogue_recipes()) {
    if (!takes_pairs(recipe)) {
      skipped += " " + recipe;
      continue;
    }
    const fs::path out = folder.path() / recipe;
    // few words: few sub-words
    const Ending ending = run({"--threads", "1", "train", recipe, "--out", out.string(), "--set", "train.steps=2", "--set", "train.valid_items=4", "--set",
                               "data.train=" + train, "--set", "data.valid=" + valid, "--set", "data.vocabulary_size=20"});
    EXPECT_EQ(ending.status, 0) << recipe << ": " << ending.errors;
    const Ending predicted = run({"--threads", "1", "predict", out.string()}, "bad\n\nhead\n");
    EXPECT_EQ(predicted.status, 0) << recipe << ": " << predicted.errors;
    EXPECT_THAT(lines_of(predicted.output), testing::SizeIs(3)) << recipe;
    ++trained;
  }
  std::cout << "recipes: " << trained << " trained" << (skipped.empty() ? "" : "; skipped, since they need data of their own:") << skipped << std::endl;
  EXPECT_GT(trained, 0);
}

}  // namespace
}  // namespace attend::tests
