#include "kernels/packed_product.h"

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
std::vector<T> product_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(normal(generator));
  return numbers;
}

struct ProductCase {
  std::int64_t rows, terms, sums;
  bool transposed;  // how the matrix lies in memory
  enum class Start { zeros, one_row, rows, out } start;
};

constexpr std::int64_t gap = 3;  // between rows of in and out

// Runs rows [from, to) of the case into `out`, [rows, sums + gap].
template <class T>
void run_product(const ProductCase& given, std::int64_t from, std::int64_t to, std::vector<T>& out) {
  const std::vector<T> in = product_numbers<T>(given.rows * (given.terms + gap), 1), matrix = product_numbers<T>(given.terms * given.sums, 2),
                       start = product_numbers<T>(given.rows * given.sums, 3);
  std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(given.terms, given.sums)));
  pack_matrix(PlainMatrix<T>{matrix.data(), given.terms, given.sums, given.transposed ? 1 : given.sums, given.transposed ? given.terms : 1}, packed.data());
  T* const first = out.data() + from * (given.sums + gap);
  PackedProduct<T> product{to - from, given.terms, given.sums, in.data() + from * (given.terms + gap), given.terms + gap, packed.data(),
                           nullptr,   0,           first,      given.sums + gap};
  using Start = ProductCase::Start;
  if (given.start == Start::one_row) product.start = start.data();
  if (given.start == Start::rows) product.start = start.data() + from * given.sums, product.start_stride = given.sums;
  if (given.start == Start::out) product.start = first, product.start_stride = product.out_stride;
  packed_product(product);
}

template <class T>
void check_product(const ProductCase& given) {
  const std::vector<T> in = product_numbers<T>(given.rows * (given.terms + gap), 1), matrix = product_numbers<T>(given.terms * given.sums, 2),
                       start = product_numbers<T>(given.rows * given.sums, 3);
  const std::int64_t width = given.sums + gap;
  std::vector<T> out(static_cast<std::size_t>(given.rows * width), T(7)), in_parts = out;
  run_product(given, 0, given.rows, out);
  std::vector<double> wanted(out.size(), 7);
  using Start = ProductCase::Start;
  for (std::int64_t r = 0; r < given.rows; ++r)
    for (std::int64_t n = 0; n < given.sums; ++n) {
      const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
      double sum = given.start == Start::zeros ? 0 : given.start == Start::out ? 7 : start[at(given.start == Start::rows ? r * given.sums + n : n)];
      for (std::int64_t k = 0; k < given.terms; ++k)
        sum += double(in[at(r * (given.terms + gap) + k)]) * matrix[at(given.transposed ? n * given.terms + k : k * given.sums + n)];
      wanted[at(r * width + n)] = sum;
    }
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  EXPECT_EQ(reference::difference("product", {out.begin(), out.end()}, wanted, reference::gradient_tolerance(type, given.terms)), "")
      << given.rows << " x " << given.terms << " x " << given.sums;
  // a row is the same to the bit whatever rows stand beside it
  const std::int64_t cut = given.rows / 3;
  run_product(given, 0, cut, in_parts);
  run_product(given, cut, given.rows, in_parts);
  EXPECT_EQ(in_parts, out);
}

TEST(PackedProduct, EqualsTheDefinitionOnEveryTargetAndSize) {
  for_each_target([] {
    using Start = ProductCase::Start;
    for (const ProductCase& given :
         {ProductCase{1, 1, 1, false, Start::zeros}, ProductCase{2, 3, 5, true, Start::rows}, ProductCase{7, 20, 64, false, Start::out},
          ProductCase{13, 33, 70, true, Start::one_row}, ProductCase{6, 600, 65, false, Start::rows}, ProductCase{17, 1100, 128, true, Start::out},
          ProductCase{5, 0, 3, false, Start::one_row}, ProductCase{4, 0, 64, false, Start::rows}, ProductCase{0, 4, 4, false, Start::zeros},
          ProductCase{11, 129, 200, true, Start::zeros}}) {
      check_product<float>(given);
      check_product<double>(given);
    }
  });
}

TEST(PackedProduct, ANaNStaysInItsRow) {
  for_each_target([] {
    const std::vector<float> matrix(70 * 5, 1.0f);
    std::vector<float> in(8 * 5, 1.0f), out(8 * 70), packed(static_cast<std::size_t>(packed_size<float>(5, 70)));
    in[3 * 5 + 2] = std::numeric_limits<float>::quiet_NaN();
    pack_matrix(PlainMatrix<float>{matrix.data(), 5, 70, 70, 1}, packed.data());
    packed_product(PackedProduct<float>{8, 5, 70, in.data(), 5, packed.data(), nullptr, 0, out.data(), 70});
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 70 == 3) << i;
  });
}

}  // namespace
}  // namespace attend::kernels
