#include "attend/base/error.h"

#include <gtest/gtest.h>

namespace attend {
namespace {

template <class E>
bool is_caught_as_error() {
  try {
    throw E("what happened");
  } catch (const Error& error) {
    return std::string(error.what()) == "what happened";
  }
}

TEST(Error, EachCauseIsATypeOfItsOwnAndAnError) {
  EXPECT_TRUE(is_caught_as_error<InvalidArgument>());
  EXPECT_TRUE(is_caught_as_error<NotSupported>());
  EXPECT_TRUE(is_caught_as_error<InvalidData>());
  EXPECT_TRUE(is_caught_as_error<SystemError>());
  EXPECT_THROW(throw InvalidData("x"), InvalidData);
}

}  // namespace
}  // namespace attend
