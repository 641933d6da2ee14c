#include "attend/base/edit_distance.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance(std::string("kitten"), std::string("sitting")), 3u);
  EXPECT_EQ(edit_distance(std::string(""), std::string("abc")), 3u);
  EXPECT_EQ(edit_distance(std::string("abc"), std::string("")), 3u);
  EXPECT_EQ(edit_distance(std::string("same"), std::string("same")), 0u);
}

TEST(EditDistance, WorksOnTokens) {
  using Tokens = std::vector<std::string>;
  EXPECT_EQ(edit_distance(Tokens{"AH", "B"}, Tokens{"AH", "P", "T"}), 2u);
}

TEST(NearestName, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> known = {"learning_rate", "steps", "seed"};
  EXPECT_EQ(nearest_name("learning_rat", known), "learning_rate");
  EXPECT_EQ(nearest_name("step", known), "steps");
  EXPECT_EQ(nearest_name("batch", known), "");
  EXPECT_EQ(did_you_mean("sed", known), "; did you mean \"seed\"?");
  EXPECT_EQ(did_you_mean("x", {}), "");
}

}  // namespace
}  // namespace attend
