// A weight of a recurrent layer, packed once for the products of all steps. Private.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>

#include "attend/core/libtorch.h"
#include "kernels/packed_product.h"

namespace attend::layers {

// Rows of numbers, `stride` apart.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* at(std::int64_t row) const { return data + row * stride; }
};

// A tensor of steps, [L, B, width], of which a block of rows is taken at each step. However far apart rows are, the numbers of one are neighbours.
template <class T>
struct Steps {
  T* data = nullptr;
  std::int64_t step_stride = 0, row_stride = 0;

  Steps() = default;
  explicit Steps(const Tensor& tensor) {  // undefined, or as by with_whole_rows()
    if (tensor.defined()) data = tensor.data_ptr<T>(), step_stride = tensor.stride(0), row_stride = tensor.stride(1);
  }
  T* at(std::int64_t step, std::int64_t row) const { return data + step * step_stride + row * row_stride; }
  Rows<T> rows(std::int64_t step, std::int64_t row) const { return {at(step, row), row_stride}; }
};

// The same numbers, those of its last dimension neighbours.
inline Tensor with_whole_rows(const Tensor& tensor) { return tensor.stride(-1) == 1 ? tensor : tensor.contiguous(); }

// W [n, m]. Packing pays where several steps read it; of one step, as in decoding, the product is libtorch's.
template <class T>
class PackedWeight {
 public:
  PackedWeight() = default;
  // forward multiplies rows of m numbers into rows of n, x Wᵀ; backward rows of n into rows of m, x W.
  static PackedWeight forward(const Tensor& weight, std::int64_t steps) { return PackedWeight(weight.t(), steps); }
  static PackedWeight backward(const Tensor& weight, std::int64_t steps) { return PackedWeight(weight, steps); }

  // out = start + the products of `count` rows; start.data null: zeros.
  void multiply(std::int64_t count, Rows<T> in, Rows<T> start, Rows<T> out) const {
    if (!packed_.defined()) return multiply_once(count, in, start, out);
    kernels::packed_product(kernels::PackedProduct<T>{count, matrix_.size(0), matrix_.size(1), in.data, in.stride, packed_.data_ptr<T>(), start.data,
                                                      start.stride, out.data, out.stride});
  }

 private:
  PackedWeight(const Tensor& matrix, std::int64_t steps) : matrix_(matrix.detach()) {
    if (steps == 1) return;
    const std::int64_t terms = matrix.size(0), sums = matrix.size(1), panel = kernels::packed_size<T>(1, 1);
    packed_ = at::empty({kernels::packed_size<T>(terms, sums)}, matrix.options());
    const T* from = matrix.data_ptr<T>();
    T* to = packed_.data_ptr<T>();
    at::parallel_for(0, (sums + panel - 1) / panel, 1, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t first = begin * panel, count = std::min(sums, end * panel) - first;
      kernels::pack_matrix(kernels::PlainMatrix<T>{from + first * matrix.stride(1), terms, count, matrix.stride(0), matrix.stride(1)}, to + first * terms);
    });
  }

  void multiply_once(std::int64_t count, Rows<T> in, Rows<T> start, Rows<T> out) const {
    const auto tensor = [&](const Rows<T>& rows, std::int64_t width) { return at::from_blob(rows.data, {count, width}, {rows.stride, 1}, matrix_.options()); };
    Tensor products = tensor(out, matrix_.size(1));
    const Tensor rows = tensor(in, matrix_.size(0));
    start.data == nullptr ? at::mm_out(products, rows, matrix_) : at::addmm_out(products, tensor(start, matrix_.size(1)), rows, matrix_);
  }

  Tensor matrix_;  // [terms, sums]
  Tensor packed_;
};

// Blocks of a batch's rows that go through all steps on one thread each, from `begin` to before `end`: no step waits for the other blocks. Of one step
// all rows at once, since its products are libtorch's.
template <class F>
void for_row_blocks(std::int64_t rows, std::int64_t steps, const F& each) {
  if (steps == 1) return each(0, rows);
  constexpr std::int64_t fewest = 6;  // a strip of the products
  at::parallel_for(0, rows, fewest, [&](std::int64_t begin, std::int64_t end) { each(begin, end); });
}

}  // namespace attend::layers
