// libtorch, and SentencePiece beside it, in the process that all others are linked into.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "attend/data/sentencepiece.h"

namespace attend {
namespace {

int cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

TEST(Dependencies, LibtorchMultipliesMatrices) {
  const at::Tensor a = at::arange(6, at::kDouble).view({2, 3});
  EXPECT_TRUE(at::equal(at::matmul(a, a.t()), at::tensor({5.0, 14.0, 14.0, 50.0}, at::kDouble).view({2, 2})));
}

// Compiled without OpenMP, at::parallel_for is a plain loop, and nothing says so.
TEST(Dependencies, ParallelForRunsOnSeveralThreads) {
  if (cores_allowed() < 2) GTEST_SKIP() << "this process may use one core only";
  at::set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::int64_t count = 0;
  at::parallel_for(0, 1000, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    count += end - begin;
  });
  EXPECT_EQ(count, 1000);
  EXPECT_GT(threads.size(), 1u);
}

TEST(Dependencies, SentencePieceLivesBesideLibtorch) {
  const at::Tensor before = at::ones({2});  // libtorch's protobuf is in use
  const auto file = std::filesystem::path(testing::TempDir()) / ("attend_dependencies_" + std::to_string(getpid()) + ".model");
  data::SentencePiece::train({"the cat walked", "the dog walked", "the cat played", "a dog played"}, {.vocabulary_size = 18}, file);
  const data::SentencePiece pieces = data::SentencePiece::load(file);
  std::filesystem::remove(file);
  EXPECT_EQ(pieces.decode(pieces.encode("a cat walked")), "a cat walked");
  EXPECT_EQ(before.sum().item<float>(), 2);
}

}  // namespace
}  // namespace attend
