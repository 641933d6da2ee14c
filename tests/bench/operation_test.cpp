#include "bench/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/bench/suites.h"

namespace attend::bench {
namespace {

using testing::HasSubstr;

TEST(Disagreement, IsSeenWhereverItIs) {
  const std::vector<Tensor> wanted = {at::ones({2, 3}), at::full({4}, 100.0)};
  EXPECT_EQ(disagreement(wanted, wanted, 64), "");
  EXPECT_EQ(disagreement({wanted[0] + 1e-6, wanted[1]}, wanted, 64), "");
  EXPECT_THAT(disagreement({wanted[0] + 1e-3, wanted[1]}, wanted, 64), HasSubstr("result 0 differs by 0.001"));
  EXPECT_THAT(disagreement({wanted[0], wanted[1] + 1}, wanted, 64), HasSubstr("result 1 differs by 1"));
  EXPECT_THAT(disagreement({wanted[0]}, wanted, 64), HasSubstr("1 results instead of 2"));
  EXPECT_THAT(disagreement({at::ones({3, 2}), wanted[1]}, wanted, 64), HasSubstr("another shape"));
  for (const double bad : {std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_THAT(disagreement({wanted[0], at::tensor({100.0, 100.0, bad, 100.0})}, wanted, 64), HasSubstr("result 1 differs"));
}

TEST(Operation, EveryCaseThatHasAFusedPathAgreesWithItsComposedForm) {
  const OneThread one_thread;
  int compared = 0;
  for (const BenchmarkCase& shipped : shipped_cases()) {
    const BenchmarkCase one = shrunk(shipped, 130, 4);
    const Operation operation = make_operation(one);
    const std::vector<Tensor> wanted = operation.composed(0);
    EXPECT_EQ(disagreement(operation.composed(0), wanted, one.keys), "") << one.name;
    EXPECT_EQ(wanted.size() > 1, one.pass == Pass::forward_backward) << one.name;
    try {
      EXPECT_EQ(disagreement(operation.fused(0), wanted, one.keys), "") << one.name;
      ++compared;
    } catch (const NotSupported&) {
    }
  }
  EXPECT_GT(compared, 20);
}

TEST(Operation, TheLastQueriesAreThoseOfTheWhole) {
  for (const BenchmarkCase& shipped : shipped_suite("attention")) {
    if (shipped.pass != Pass::forward) continue;
    const BenchmarkCase one = shrunk(shipped, 150, 2);
    const Operation operation = make_operation(one);
    const Tensor last = operation.last_queries(), all = operation.composed(0).front();
    EXPECT_EQ(last.size(2), std::min<std::int64_t>(64, one.queries));
    EXPECT_EQ(disagreement({last.to(at::kFloat)}, {all.slice(2, one.queries - last.size(2))}, one.keys), "") << one.name;
  }
}

TEST(Operation, CountsByTheFormulasOfItsHeader) {
  EXPECT_EQ(make_operation({.name = "x", .heads = 3, .queries = 10, .keys = 20, .width = 8}).operations, 4.0 * 3 * 10 * 20 * 8);
  EXPECT_EQ(make_operation({.name = "x", .pass = Pass::forward_backward, .heads = 3, .queries = 10, .keys = 20, .width = 8}).operations, 14.0 * 3 * 10 * 20 * 8);
  EXPECT_EQ(make_operation({.name = "x", .heads = 3, .queries = 10, .keys = 10, .width = 8, .visible = Visible::causal}).operations, 4.0 * 3 * 55 * 8);
  EXPECT_EQ(make_operation({.name = "x", .mechanism = Mechanism::additive, .queries = 3, .keys = 5, .hidden = 7, .memory = 9}).operations, 3 * 5 * (4 * 7 + 2 * 9));
  const auto training = [](std::optional<std::int64_t> maxout) {
    return make_operation({.name = "x",
                           .mechanism = Mechanism::rnnsearch,
                           .pass = Pass::forward_backward,
                           .queries = 1,
                           .keys = 1,
                           .hidden = 5,
                           .memory = 6,
                           .state = 7,
                           .embedding = 2,
                           .maxout = maxout,
                           .vocabulary = 8});
  };
  const double of_one_unit = 3.0 * (2 * 2 * (7 + 2 + 6) + 2 * 8);  // deep output and scores, with the gradients
  EXPECT_EQ(training(4).operations - training(3).operations, of_one_unit);
  EXPECT_EQ(training({}).operations, training(5).operations);
}

TEST(Operation, WhatStreamsHasCopiesBeyondTheCache) {
  const Operation operation = make_operation({.name = "x", .heads = 12, .queries = 1, .keys = 4096, .streams = true});
  EXPECT_EQ(operation.bytes, 2.0 * 12 * 4096 * 64 * 4);
  EXPECT_GT(operation.copies, 1);
  EXPECT_FALSE(operation.composed(0).front().equal(operation.composed(1).front()));
}

}  // namespace
}  // namespace attend::bench
