#include "attend/addressing/scores/location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/reference/attention.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

TEST(LocationScore, IsTheRowOfThePlaceTimesTheQuery) {
  const Tensor query = at::tensor({1.0, 2.0, 0.0, -1.0}).view({1, 1, 2, 2}),
               weight = at::tensor({3.0, 4.0, 5.0, 6.0, 0.5, 0.0}).view({3, 2});
  EXPECT_TRUE(location_score(query, 3, weight).equal(at::tensor({11.0, 17.0, 0.5, -4.0, -6.0, 0.0}).view({1, 1, 2, 3})));
  EXPECT_TRUE(location_score(query, 2, weight).equal(at::tensor({11.0, 17.0, -4.0, -6.0}).view({1, 1, 2, 2})))
      << "fewer keys take the first rows";
}

TEST(LocationScore, EqualsTheLoop) {
  const Tensor query = at::randn({2, 3, 4, 5}, at::kDouble), weight = at::randn({9, 5}, at::kDouble);
  const reference::PlaceScore place = reference::location(reference::numbers(weight), 5);
  std::vector<double> wanted;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 7; ++j) wanted.push_back(place(query[b][h][i].data_ptr<double>(), j));
  EXPECT_EQ(reference::difference("scores", reference::numbers(location_score(query, 7, weight)), wanted,
                                  reference::tolerance(reference::Type::float64, 5)),
            "");
}

TEST(LocationScore, HasTheGradientOfItsFormula) {
  const Tensor query = at::randn({1, 2, 2, 3}, at::kDouble).set_requires_grad(true),
               weight = at::randn({5, 3}, at::kDouble).set_requires_grad(true);
  const Tensor cotangent = at::randn({1, 2, 2, 4}, at::kDouble);
  EXPECT_EQ(reference::gradient_difference([&] { return (location_score(query, 4, weight) * cotangent).sum(); }, {query, weight}), "");
}

TEST(LocationScore, SizesMayBeZero) {
  EXPECT_EQ(location_score(at::zeros({0, 2, 3, 4}), 5, at::zeros({5, 4})).sizes(), at::IntArrayRef({0, 2, 3, 5}));
  EXPECT_EQ(location_score(at::zeros({1, 2, 0, 4}), 5, at::zeros({5, 4})).sizes(), at::IntArrayRef({1, 2, 0, 5}));
  EXPECT_EQ(location_score(at::zeros({1, 2, 3, 4}), 0, at::zeros({5, 4})).sizes(), at::IntArrayRef({1, 2, 3, 0}));
}

TEST(LocationScore, RefusesWhatDoesntFit) {
  const Tensor query = at::zeros({2, 3, 4, 5}), weight = at::zeros({6, 5});
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::location_score: " + message));
  };
  EXPECT_THAT([&] { location_score(query[0], 6, weight); }, refuses("expected query [B, H, Lq, Dq], got [3, 4, 5]"));
  EXPECT_THAT([&] { location_score(query, 6, weight.t()); }, refuses("expected weight [P, Dq] with Dq = 5, got [5, 6]"));
  EXPECT_THAT([&] { location_score(query, 7, weight); },
              refuses("expected at most P = 6 keys, one for each row of weight, got Lk = 7; make it with more positions"));
  EXPECT_THAT([&] { location_score(query, -1, weight); },
              refuses("expected at most P = 6 keys, one for each row of weight, got Lk = -1; make it with more positions"));
}

}  // namespace
}  // namespace attend::addressing
