#include "attend/io/process.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"

namespace attend::io {
namespace {

TEST(Process, ReturnsStatusAndBothOutputs) {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"}, ".");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.output, "out\nerr\n");
}

TEST(Process, RunsInTheFolderWithoutInput) {
  EXPECT_EQ(run_process({"pwd"}, "/").output, "/\n");
  EXPECT_EQ(run_process({"cat"}, "/").output, "");
}

TEST(Process, KeepsTheEndOfALongOutput) {
  const ProcessResult result = run_process({"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; printf end"}, "/");
  EXPECT_EQ(result.output.size(), 64u * 1024);
  EXPECT_TRUE(result.output.ends_with("xend"));
}

TEST(Process, SaysWhichSignalEndedIt) { EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, "/").status, 128 + 9); }

TEST(Process, RefusesWhatCannotBeStarted) {
  EXPECT_THROW(run_process({"no-such-program-here"}, "/"), SystemError);
  EXPECT_THROW(run_process({"true"}, "/no/such/folder"), SystemError);
  EXPECT_THROW(run_process({}, "/"), InvalidArgument);
}

}  // namespace
}  // namespace attend::io
