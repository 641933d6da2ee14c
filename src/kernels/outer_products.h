// Sums of outer products of rows: what the gradient of a weight is that all steps of a recurrent layer share.
//
//   out_ij = Σ_k left_ki · right_kj
//
// Both sides are packed once, left ones into strips of columns and right ones into panels of them, and then multiplied tile by tile; several right
// sides share a left one. Each number is summed up in the order of k whatever stands beside it: results don't depend on how tiles are spread over threads.
#pragma once

#include <cstdint>

namespace attend::kernels {

// Rows [steps, rows] of numbers that are neighbours.
template <class T>
struct StepRows {
  const T* data = nullptr;
  std::int64_t steps = 0, rows = 0;
  std::int64_t step_stride = 0, row_stride = 0;
  std::int64_t count() const { return steps * rows; }
};

// Columns that stand together in packed rows: of the left side, and of the right one.
constexpr std::int64_t outer_strip = 6;
template <class T>
std::int64_t outer_panel();

// Rows `first_row` … `first_row` + `count` − 1, columns 0 … columns − 1, as [strips or panels][count][columns of one]; 0 behind the last column.
void pack_outer_strips(const StepRows<float>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, float* to);
void pack_outer_strips(const StepRows<double>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, double* to);
void pack_outer_panels(const StepRows<float>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, float* to);
void pack_outer_panels(const StepRows<double>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, double* to);

// Packed strips against one packed panel.
template <class T>
struct OuterProducts {
  std::int64_t count = 0;           // of packed rows
  std::int64_t left = 0;            // columns of all strips, the last of which may be narrower
  std::int64_t right = 0;           // columns of the panel, at most outer_panel()
  const T* strips = nullptr;
  const T* panel = nullptr;
  bool goes_on = false;             // whether `out` is added to; else it is written
  T* out = nullptr;                 // [left, right], out_stride apart
  std::int64_t out_stride = 0;
};
void outer_products(const OuterProducts<float>& products);
void outer_products(const OuterProducts<double>& products);

}  // namespace attend::kernels
