#include "kernels/recurrent_cell.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

template <class T>
using Row = std::vector<T>;

// Wide enough that the gates saturate at both ends.
template <class T>
Row<T> wide_numbers(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, 3);
  Row<T> row(count);
  for (T& value : row) value = static_cast<T>(normal(generator));
  return row;
}

template <class T>
std::vector<double> doubles(const Row<T>& row) {
  return {row.begin(), row.end()};
}

template <class T>
constexpr reference::Type type_of() {
  return sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

template <class T>
void expect_row_near(const char* name, const Row<T>& got, const std::vector<double>& wanted) {
  EXPECT_EQ(reference::difference(name, doubles(got), wanted, reference::gradient_tolerance(type_of<T>(), 1)), "")
      << "H = " << wanted.size();
}

template <class T>
void check_lstm(std::size_t H) {
  const Row<T> inputs = wide_numbers<T>(4 * H, 1), before = wide_numbers<T>(H, 2), dh = wide_numbers<T>(H, 3), dc = wide_numbers<T>(H, 4);
  Row<T> gates = inputs, cell(H), tanh_cell(H), hidden(H);
  lstm_forward(static_cast<std::int64_t>(H), LstmForward<T>{gates.data(), before.data(), cell.data(), tanh_cell.data(), hidden.data()});
  Row<T> cell_gradient = dc, gates_gradient(4 * H);
  lstm_backward(static_cast<std::int64_t>(H), LstmBackward<T>{gates.data(), before.data(), tanh_cell.data(), dh.data(), cell_gradient.data(),
                                                              gates_gradient.data()});
  std::vector<double> c(H), h(H), before_gradient(H), input_gradient(4 * H);
  for (std::size_t j = 0; j < H; ++j) {
    const double i = logistic(inputs[j]), f = logistic(inputs[H + j]), g = std::tanh(inputs[2 * H + j]), o = logistic(inputs[3 * H + j]);
    c[j] = f * before[j] + i * g;
    h[j] = o * std::tanh(c[j]);
    const double through = dc[j] + dh[j] * o * (1 - std::tanh(c[j]) * std::tanh(c[j]));
    before_gradient[j] = through * f;
    input_gradient[j] = through * g * i * (1 - i);
    input_gradient[H + j] = through * before[j] * f * (1 - f);
    input_gradient[2 * H + j] = through * i * (1 - g * g);
    input_gradient[3 * H + j] = dh[j] * std::tanh(c[j]) * o * (1 - o);
  }
  expect_row_near("cell", cell, c);
  expect_row_near("hidden", hidden, h);
  expect_row_near("gradient of the cell before", cell_gradient, before_gradient);
  expect_row_near("gradient of the gates", gates_gradient, input_gradient);
}

template <class T>
void check_gru(std::size_t H) {
  const Row<T> x = wide_numbers<T>(3 * H, 5), u = wide_numbers<T>(3 * H, 6), before = wide_numbers<T>(H, 7), dh = wide_numbers<T>(H, 8);
  Row<T> gates(3 * H), hidden(H), dx(3 * H), du(3 * H), through(H);
  gru_forward(static_cast<std::int64_t>(H), GruForward<T>{x.data(), u.data(), before.data(), gates.data(), hidden.data()});
  gru_backward(static_cast<std::int64_t>(H),
               GruBackward<T>{gates.data(), u.data(), before.data(), dh.data(), dx.data(), du.data(), through.data()});
  std::vector<double> h(H), input_gradient(3 * H), recurrent_gradient(3 * H), direct(H);
  for (std::size_t j = 0; j < H; ++j) {
    const double r = logistic(x[j] + u[j]), z = logistic(x[H + j] + u[H + j]), n = std::tanh(x[2 * H + j] + r * u[2 * H + j]);
    h[j] = (1 - z) * n + z * before[j];
    const double dn = dh[j] * (1 - z) * (1 - n * n);
    input_gradient[j] = recurrent_gradient[j] = dn * u[2 * H + j] * r * (1 - r);
    input_gradient[H + j] = recurrent_gradient[H + j] = dh[j] * (before[j] - n) * z * (1 - z);
    input_gradient[2 * H + j] = dn;
    recurrent_gradient[2 * H + j] = dn * r;
    direct[j] = dh[j] * z;
  }
  expect_row_near("hidden", hidden, h);
  expect_row_near("gradient of the input", dx, input_gradient);
  expect_row_near("gradient of the product", du, recurrent_gradient);
  expect_row_near("gradient of the state before", through, direct);
}

// The product between the two parts is taken as the identity: recurrent_n = r ∘ h + u_n.
template <class T>
void check_gru_with_reset_before(std::size_t H) {
  const auto size = static_cast<std::int64_t>(H);
  const Row<T> x = wide_numbers<T>(3 * H, 9), before = wide_numbers<T>(H, 10), dh = wide_numbers<T>(H, 11);
  Row<T> u = wide_numbers<T>(3 * H, 12), gates(3 * H), reset_hidden(H), hidden(H), gradient(3 * H), through(H);
  const Row<T> given = u;
  gru_gates_forward(size, GruGatesForward<T>{x.data(), u.data(), before.data(), gates.data(), reset_hidden.data()});
  for (std::size_t j = 0; j < H; ++j) u[2 * H + j] += reset_hidden[j];
  gru_candidate_forward(size, GruCandidateForward<T>{x.data(), u.data(), before.data(), gates.data(), hidden.data()});
  gru_candidate_backward(size, GruCandidateBackward<T>{gates.data(), before.data(), dh.data(), gradient.data(), through.data()});
  const Row<T> of_candidate(gradient.begin() + static_cast<std::ptrdiff_t>(2 * H), gradient.end());
  gru_gates_backward(size, GruGatesBackward<T>{gates.data(), before.data(), of_candidate.data(), gradient.data(), through.data()});
  std::vector<double> h(H), wanted(3 * H), direct(H), product(H);
  for (std::size_t j = 0; j < H; ++j) {
    const double r = logistic(x[j] + given[j]), z = logistic(x[H + j] + given[H + j]);
    product[j] = r * before[j];
    const double n = std::tanh(x[2 * H + j] + given[2 * H + j] + product[j]);
    h[j] = (1 - z) * n + z * before[j];
    const double dn = dh[j] * (1 - z) * (1 - n * n);
    wanted[j] = dn * before[j] * r * (1 - r);
    wanted[H + j] = dh[j] * (before[j] - n) * z * (1 - z);
    wanted[2 * H + j] = dn;
    direct[j] = dh[j] * z + dn * r;
  }
  expect_row_near("reset hidden", reset_hidden, product);
  expect_row_near("hidden", hidden, h);
  expect_row_near("gradient of the gates", gradient, wanted);
  expect_row_near("gradient of the state before", through, direct);
}

template <class T>
void check_tanh(std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const Row<T> x = wide_numbers<T>(size, 13), dy = wide_numbers<T>(size, 14);
  Row<T> y = x, dx = dy;  // in place
  tanh_forward(count, y.data(), y.data());
  tanh_backward(count, y.data(), dx.data(), dx.data());
  std::vector<double> wanted(size), slopes(size);
  for (std::size_t j = 0; j < size; ++j) wanted[j] = std::tanh(double(x[j])), slopes[j] = dy[j] * (1 - wanted[j] * wanted[j]);
  expect_row_near("tanh", y, wanted);
  expect_row_near("gradient of tanh", dx, slopes);
}

TEST(RecurrentCell, EqualsTheDefinitionOnEveryTargetAndWidth) {
  for_each_target([] {
    for (const std::size_t H : {1, 2, 3, 7, 8, 15, 16, 17, 33, 64}) {
      check_lstm<float>(H);
      check_lstm<double>(H);
      check_gru<float>(H);
      check_gru<double>(H);
      check_gru_with_reset_before<float>(H);
      check_gru_with_reset_before<double>(H);
      check_tanh<float>(H);
      check_tanh<double>(H);
    }
  });
}

TEST(RecurrentCell, SaturatesWithoutOverflowAndKeepsNaN) {
  for_each_target([] {
    constexpr std::size_t H = 19;
    constexpr float huge = std::numeric_limits<float>::max(), nan = std::numeric_limits<float>::quiet_NaN();
    Row<float> gates(4 * H, huge), before(H, 0.5f), cell(H), tanh_cell(H), hidden(H);
    for (std::size_t j = 0; j < H; ++j) gates[H + j] = -huge;
    gates[2 * H + 18] = nan;
    lstm_forward(H, LstmForward<float>{gates.data(), before.data(), cell.data(), tanh_cell.data(), hidden.data()});
    for (std::size_t j = 0; j + 1 < H; ++j) EXPECT_FLOAT_EQ(hidden[j], std::tanh(1.0f));
    EXPECT_TRUE(std::isnan(cell[18]) && std::isnan(hidden[18]));
  });
}

}  // namespace
}  // namespace attend::kernels
