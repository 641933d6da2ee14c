#include "attend/addressing/windows/local_p.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attend/addressing/scores/dot.h"
#include "attend/base/error.h"
#include "tests/reference/attention.h"
#include "tests/reference/gradients.h"

namespace attend::addressing {
namespace {

using testing::ElementsAre;
using testing::StrEq;
using testing::ThrowsMessage;

TEST(LocalPCentre, IsAShareOfTheTrueLength) {
  // tanh(0.5·2) = tanh 1, times −3
  const Tensor query = at::tensor({2.0, 0.0}, at::kDouble).view({2, 1, 1, 1}), projection = at::full({1, 1}, 0.5, at::kDouble);
  const Tensor centre = local_p_centre(query, projection, at::full({1}, -3.0, at::kDouble), at::tensor({10, 7}, at::kLong));
  EXPECT_EQ(centre.sizes(), at::IntArrayRef({2, 1, 1}));
  EXPECT_EQ(reference::difference("centre", reference::numbers(centre), {10 / (1 + std::exp(3 * std::tanh(1.0))), 3.5},
                                  reference::tolerance(reference::Type::float64, 10)),
            "");
}

TEST(LocalPCentre, EqualsTheLoop) {
  const Tensor query = at::randn({2, 3, 4, 5}, at::kDouble), projection = at::randn({6, 5}, at::kDouble),
               energy = at::randn({6}, at::kDouble);
  const auto wanted_centre = reference::local_p(reference::numbers(projection), reference::numbers(energy), 1, false).centre;
  const std::vector<std::int64_t> lengths = {9, 4};
  std::vector<double> wanted;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t i = 0; i < 4; ++i)
        wanted.push_back(wanted_centre(query[b][h][i].data_ptr<double>(), i, lengths[static_cast<std::size_t>(b)]));
  EXPECT_EQ(reference::difference("centre", reference::numbers(local_p_centre(query, projection, energy, at::tensor(lengths, at::kLong))),
                                  wanted, reference::tolerance(reference::Type::float64, 9)),
            "");
}

TEST(LocalPWindow, IsAGaussianThatEndsAtItsWidth) {
  const Tensor centre = at::tensor({1.0, 2.5}, at::kDouble).view({1, 1, 2});
  const WindowTensors window = local_p_window(centre, 6, 2);
  EXPECT_TRUE(window.keep->equal(at::tensor({1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0}, at::kInt).view({1, 1, 2, 6}).to(at::kBool)))
      << "both ends included, clipped at the first key";
  const auto gauss = [](double from_centre) { return std::exp(-from_centre * from_centre / 2); };  // σ = 1
  EXPECT_EQ(reference::difference("factors", reference::numbers(*window.factors),
                                  {gauss(1), gauss(0), gauss(1), gauss(2), gauss(3), gauss(4), gauss(2.5), gauss(1.5), gauss(0.5),
                                   gauss(0.5), gauss(1.5), gauss(2.5)},
                                  reference::tolerance(reference::Type::float64, 6)),
            "");
}

TEST(LocalPWindow, GradientsFlowThroughTheCentre) {
  Tensor query = at::randn({2, 1, 3, 4}, at::kDouble), key = at::randn({2, 1, 6, 4}, at::kDouble);
  Tensor projection = at::randn({4, 4}, at::kDouble), energy = at::randn({4}, at::kDouble);
  const Tensor value = at::randn({2, 1, 6, 2}, at::kDouble), cotangent = at::randn({2, 1, 3, 2}, at::kDouble);
  for (Tensor* input : {&query, &key, &projection, &energy}) input->set_requires_grad(true);
  const Mask mask = Mask::lengths(at::tensor({6, 4}, at::kLong));
  const auto loss = [&](bool renormalised) {
    ReadOptions options{.renormalised = renormalised};
    // wider than the source: no key comes or goes while a difference quotient is taken
    options.window = [&](const Tensor& q) { return local_p_window(local_p_centre(q, projection, energy, key_lengths(mask, 2, 6, q)), 6, 7); };
    const auto score = [](const Tensor& q, const Tensor& k) { return dot_score(q, k); };
    return (read("mine", query, key, value, score, mask, options).context * cotangent).sum();
  };
  for (const bool renormalised : {false, true}) {
    EXPECT_EQ(reference::gradient_difference([&] { return loss(renormalised); }, {query, key, projection, energy}), "");
    EXPECT_GT(torch::autograd::grad({loss(renormalised)}, {energy})[0].abs().sum().item<double>(), 1e-3);
  }
}

TEST(LocalPWindow, ShowsACentreThatIsNaN) {
  const WindowTensors window = local_p_window(at::full({1, 1, 1}, std::numeric_limits<double>::quiet_NaN(), at::kDouble), 3, 2);
  EXPECT_TRUE(window.keep->all().item<bool>());
  EXPECT_TRUE(window.factors->isnan().all().item<bool>());
}

TEST(LocalPWindow, SizesMayBeZero) {
  EXPECT_EQ(local_p_window(at::zeros({0, 1, 3}), 4, 2).factors->sizes(), at::IntArrayRef({0, 1, 3, 4}));
  EXPECT_EQ(local_p_window(at::zeros({2, 1, 0}), 4, 2).keep->sizes(), at::IntArrayRef({2, 1, 0, 4}));
  EXPECT_EQ(local_p_window(at::zeros({2, 1, 3}), 0, 2).keep->sizes(), at::IntArrayRef({2, 1, 3, 0}));
}

std::vector<std::int64_t> lengths_of(const Mask& mask) {
  const Tensor lengths = key_lengths(mask, 2, 9, at::zeros({1}));
  return {lengths.data_ptr<std::int64_t>(), lengths.data_ptr<std::int64_t>() + lengths.numel()};
}

TEST(KeyLengths, AreTheLeastThatTheMaskGives) {
  const Mask lengths = Mask::lengths(at::tensor({9, 5}, at::kLong));
  EXPECT_THAT(lengths_of({}), ElementsAre(9, 9));
  EXPECT_THAT(lengths_of(lengths), ElementsAre(9, 5));
  EXPECT_THAT(lengths_of(lengths & Mask::lengths(at::tensor({4, 6}, at::kLong))), ElementsAre(4, 5));
  EXPECT_THAT(lengths_of(Mask::causal() & Mask::keep(at::zeros({1, 1, 1, 9}, at::kBool))), ElementsAre(9, 9)) << "hidden is not absent";
}

TEST(LocalP, RefusesWhatDoesntFit) {
  const Tensor query = at::zeros({2, 1, 3, 4}), projection = at::zeros({5, 4}), energy = at::zeros({5}),
               lengths = at::zeros({2}, at::kLong);
  const auto refuses = [](const std::string& message) {
    return ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::local_p_" + message));
  };
  EXPECT_THAT([&] { local_p_centre(query[0], projection, energy, lengths); },
              refuses("centre: expected query [B, H, Lq, Dq], got [1, 3, 4]"));
  EXPECT_THAT([&] { local_p_centre(query, projection.t(), energy, lengths); },
              refuses("centre: expected projection [A, Dq] with Dq = 4, got [4, 5]"));
  EXPECT_THAT(
      [&] {
        local_p_centre(query, projection, at::zeros({4}), lengths);
      },
      refuses("centre: expected energy [A] with A = 5, got [4]"));
  EXPECT_THAT([&] { local_p_centre(query, projection, energy, lengths[0]); }, refuses("centre: expected lengths [B] with B = 2, got []"));
  EXPECT_THAT([&] { local_p_centre(query, projection.to(at::kDouble), energy, lengths); },
              refuses("centre: expected projection of the type of query (Float), got Double"));
  EXPECT_THAT([&] { local_p_window(query, 4, 2); }, refuses("window: expected centre [B, H, Lq], got [2, 1, 3, 4]"));
  EXPECT_THAT([&] { local_p_window(query.select(3, 0), -1, 2); }, refuses("window: expected keys ≥ 0, got -1"));
  EXPECT_THAT([&] { local_p_window(query.select(3, 0), 4, 0); }, refuses("window: expected half_width ≥ 1, got 0"));
  EXPECT_THAT([&] { local_p_window(query.select(3, 0).to(at::kLong), 4, 1); },
              ThrowsMessage<NotSupported>(
                  StrEq("attend::addressing::local_p_window: expected centre of a floating-point type, got Long; convert it first")));
}

}  // namespace
}  // namespace attend::addressing
