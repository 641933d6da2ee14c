#include "layers/weight_gradients.h"

#include <gtest/gtest.h>

#include "tests/reference/tensors.h"
#include "tests/reference/tolerance.h"

namespace attend::layers {
namespace {

// [L, B, width] with gaps between its rows; batch first in memory where asked for.
Tensor rows_of(std::int64_t steps, std::int64_t batch, std::int64_t width, at::ScalarType type, bool batch_first) {
  const auto options = at::TensorOptions(type);
  const Tensor numbers = batch_first ? at::randn({batch, steps, width + 3}, options).transpose(0, 1) : at::randn({steps, batch, width + 3}, options);
  return numbers.slice(2, 1, width + 1);
}

// The definition in float64.
Tensor product_of(const Tensor& gradients, const Tensor& rows, std::int64_t first, std::int64_t end) {
  return at::einsum("lbi,lbj->ij", {gradients.slice(2, first, end).to(at::kDouble), rows.to(at::kDouble)});
}

void expect_close(const Tensor& got, const Tensor& wanted, std::int64_t terms) {
  ASSERT_EQ(got.sizes(), wanted.sizes());
  EXPECT_EQ(reference::difference("gradient", reference::numbers(got), reference::numbers(wanted), reference::gradient_tolerance(reference::type_of(got), terms)), "");
}

TEST(WeightGradients, EqualTheDefinition) {
  torch::manual_seed(1);
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const auto& [steps, batch] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {7, 20}, {40, 13}, {1, 1100}}) {
      const Tensor gradients = rows_of(steps, batch, 25, type, false), inputs = rows_of(steps, batch, 70, type, true), states = rows_of(steps, batch, 9, type, false);
      // the first part of a weight multiplied the states, the second what was made of them; all of another one the inputs
      const Tensor of_states = at::full({25, 9}, 7, gradients.options()), of_inputs = at::full({25, 70}, 7, gradients.options());
      fill_weight_gradients(gradients, {{0, 25, inputs, of_inputs}, {0, 16, states, of_states.slice(0, 0, 16)}, {16, 25, states, of_states.slice(0, 16)}});
      expect_close(of_inputs, product_of(gradients, inputs, 0, 25), steps * batch);
      expect_close(of_states, product_of(gradients, states, 0, 25), steps * batch);
      expect_close(weight_gradient(gradients, inputs), product_of(gradients, inputs, 0, 25), steps * batch);
      expect_close(bias_gradient(gradients), gradients.to(at::kDouble).sum(0).sum(0), steps * batch);
    }
  }
}

TEST(WeightGradients, OfNoRowsAreZero) {
  for (const auto& [steps, batch] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 4}, {4, 0}}) {
    const Tensor out = weight_gradient(at::zeros({steps, batch, 6}), at::zeros({steps, batch, 5}));
    EXPECT_TRUE(at::equal(out, at::zeros({6, 5})));
  }
}

TEST(WeightGradients, AreTheSameForAnyNumberOfThreads) {
  torch::manual_seed(2);
  const Tensor gradients = at::randn({60, 32, 200}), rows = at::randn({60, 32, 300});
  const int before = at::get_num_threads();
  std::vector<Tensor> found;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    found.push_back(weight_gradient(gradients, rows));
  }
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(found[0], found[1]));
  EXPECT_TRUE(at::equal(found[0], found[2]));
}

}  // namespace
}  // namespace attend::layers
