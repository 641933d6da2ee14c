#include "attend/tasks/systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "attend/tasks/recipe.h"

namespace attend::tasks {
namespace {

namespace fs = std::filesystem;

const fs::path recipe_folder = fs::path(ATTEND_SOURCE_DIR) / "recipes";

TEST(Systems, EachSaysWhatItIs) {
  std::set<std::string> ids, names;
  for (const System& system : systems()) {
    EXPECT_TRUE(ids.insert(system.id).second) << system.id << " stands there twice";
    EXPECT_TRUE(names.insert(system.name).second) << system.name << " stands there twice";
    for (const std::string& text : {system.id, system.name, system.paper, system.meaning, system.figures}) EXPECT_FALSE(text.empty()) << system.id;
    EXPECT_FALSE(system.recipes.empty()) << system.id;
  }
  EXPECT_TRUE(std::ranges::is_sorted(systems(), {}, &System::id));
}

TEST(Systems, EachRecipeOfTheCatalogueExistsAndIsOfItsSystem) {
  for (const System& system : systems())
    for (const std::string& name : system.recipes) {
      const fs::path file = recipe_folder / (name + ".toml");
      ASSERT_TRUE(fs::exists(file)) << file;
      const Recipe recipe = read_recipe(file);
      EXPECT_EQ(recipe.system, system.id) << file;
      EXPECT_EQ(recipe.name, name);
      EXPECT_TRUE(recipe.figure.at_most || recipe.figure.at_least) << file << " names no figure";
    }
}

TEST(Systems, EachRecipeStandsInTheCatalogue) {
  std::map<std::string, std::set<std::string>> known;
  for (const System& system : systems()) known[system.id].insert(system.recipes.begin(), system.recipes.end());
  int found = 0;
  for (const auto& entry : fs::directory_iterator(recipe_folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++found;
    const Recipe recipe = read_recipe(entry.path());
    EXPECT_TRUE(known[recipe.system].contains(recipe.name)) << entry.path() << ": add it to the row " << recipe.system;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace attend::tasks
