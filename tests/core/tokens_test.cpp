#include "attend/core/tokens.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

TEST(Tokens, TextsStandAtTheirNumbers) {
  EXPECT_EQ(special_tokens[padding_token], "<pad>");
  EXPECT_EQ(special_tokens[unknown_token], "<unk>");
  EXPECT_EQ(special_tokens[begin_token], "<s>");
  EXPECT_EQ(special_tokens[end_token], "</s>");
}

}  // namespace
}  // namespace attend
