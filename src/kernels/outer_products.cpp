#include "kernels/outer_products.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/outer_products.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

static_assert(outer_strip == tile_rows);

// Calls each(k, row) for rows in their order.
template <class T, class F>
HWY_INLINE void for_step_rows(const StepRows<T>& from, std::int64_t first_row, std::int64_t count, const F& each) {
  std::int64_t step = first_row / from.rows, row = first_row % from.rows;
  for (std::int64_t k = 0; k < count; ++k) {
    each(k, from.data + step * from.step_stride + row * from.row_stride);
    if (++row == from.rows) row = 0, ++step;
  }
}

// A few rows at a time through all strips: they stay in the first cache, whose lines hold columns of several strips.
template <class T>
void pack_strips_of(const StepRows<T>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, T* to) {
  constexpr std::int64_t together = 16;
  const std::int64_t whole = columns / outer_strip, rest = columns % outer_strip;
  for (std::int64_t begin = 0; begin < count; begin += together) {
    const T* rows[together];
    const std::int64_t some = std::min(together, count - begin);
    for_step_rows(from, first_row + begin, some, [&](std::int64_t k, const T* row) { rows[k] = row; });
    T* strip = to + begin * outer_strip;
    for (std::int64_t s = 0; s < whole; ++s, strip += count * outer_strip)
      for (std::int64_t k = 0; k < some; ++k)
        for (std::int64_t c = 0; c < outer_strip; ++c) strip[k * outer_strip + c] = rows[k][s * outer_strip + c];
    for (std::int64_t k = 0; k < some && rest > 0; ++k)
      for (std::int64_t c = 0; c < outer_strip; ++c) strip[k * outer_strip + c] = c < rest ? rows[k][whole * outer_strip + c] : T(0);
  }
}

template <class T>
void pack_panels_of_rows(const StepRows<T>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, T* to) {
  const Vectors<T> d;
  const std::int64_t width = tile_width<T>(), lanes = lanes_of<T>();
  for_step_rows(from, first_row, count, [&](std::int64_t k, const T* row) {
    T* panel = to + k * width;
    std::int64_t first = 0;
    for (; first + width <= columns; first += width, panel += count * width)
      for (std::int64_t v = 0; v < tile_vectors; ++v) hn::StoreU(hn::LoadU(d, row + first + v * lanes), d, panel + v * lanes);
    if (first == columns) return;
    std::copy(row + first, row + columns, panel);
    std::fill(panel + columns - first, panel + width, T(0));
  });
}

// One strip against the panel.
template <class T>
HWY_INLINE void outer_tile(std::int64_t count, const T* HWY_RESTRICT strip, const T* HWY_RESTRICT panel, bool goes_on, T* HWY_RESTRICT out, std::int64_t out_stride) {
  RegisterTile<tile_rows, tile_vectors, T> tile;
  tile.clear();
  tile.add(Factors<T>{strip, 1, outer_strip}, count, panel, tile_width<T>());
  for (std::int64_t r = 0; r < tile_rows && goes_on; ++r)
    for (std::int64_t v = 0; v < tile_vectors; ++v)
      tile.sums[r][v] = hn::Add(hn::LoadU(Vectors<T>(), out + r * out_stride + v * lanes_of<T>()), tile.sums[r][v]);
  tile.store(out, out_stride);
}

template <class T>
void multiply_outer(const OuterProducts<T>& products) {
  constexpr std::int64_t most = tile_vectors * HWY_MAX_BYTES / static_cast<std::int64_t>(sizeof(T));
  HWY_ALIGN T tile[outer_strip * most];
  const std::int64_t width = tile_width<T>();
  const T* strip = products.strips;
  for (std::int64_t i = 0; i < products.left; i += outer_strip, strip += products.count * outer_strip) {
    T* const out = products.out + i * products.out_stride;
    const std::int64_t rows = std::min(outer_strip, products.left - i);
    if (rows == outer_strip && products.right == width) {
      outer_tile(products.count, strip, products.panel, products.goes_on, out, products.out_stride);
      continue;
    }
    outer_tile(products.count, strip, products.panel, false, tile, width);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < products.right; ++c) {
        T& sum = out[r * products.out_stride + c];
        sum = products.goes_on ? sum + tile[r * width + c] : tile[r * width + c];
      }
  }
}

std::int64_t outer_columns_float() { return tile_width<float>(); }
std::int64_t outer_columns_double() { return tile_width<double>(); }
void strips_float(const StepRows<float>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, float* to) {
  pack_strips_of(from, first_row, count, columns, to);
}
void strips_double(const StepRows<double>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, double* to) {
  pack_strips_of(from, first_row, count, columns, to);
}
void outer_panels_float(const StepRows<float>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, float* to) {
  pack_panels_of_rows(from, first_row, count, columns, to);
}
void outer_panels_double(const StepRows<double>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, double* to) {
  pack_panels_of_rows(from, first_row, count, columns, to);
}
void outer_float(const OuterProducts<float>& products) { multiply_outer(products); }
void outer_double(const OuterProducts<double>& products) { multiply_outer(products); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(outer_columns_float);
HWY_EXPORT(outer_columns_double);
HWY_EXPORT(strips_float);
HWY_EXPORT(strips_double);
HWY_EXPORT(outer_panels_float);
HWY_EXPORT(outer_panels_double);
HWY_EXPORT(outer_float);
HWY_EXPORT(outer_double);

template <class T>
std::int64_t outer_panel() {
  return sizeof(T) == 4 ? HWY_DYNAMIC_DISPATCH(outer_columns_float)() : HWY_DYNAMIC_DISPATCH(outer_columns_double)();
}
template std::int64_t outer_panel<float>();
template std::int64_t outer_panel<double>();

void pack_outer_strips(const StepRows<float>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, float* to) {
  HWY_DYNAMIC_DISPATCH(strips_float)(from, first_row, count, columns, to);
}
void pack_outer_strips(const StepRows<double>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, double* to) {
  HWY_DYNAMIC_DISPATCH(strips_double)(from, first_row, count, columns, to);
}
void pack_outer_panels(const StepRows<float>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, float* to) {
  HWY_DYNAMIC_DISPATCH(outer_panels_float)(from, first_row, count, columns, to);
}
void pack_outer_panels(const StepRows<double>& from, std::int64_t first_row, std::int64_t count, std::int64_t columns, double* to) {
  HWY_DYNAMIC_DISPATCH(outer_panels_double)(from, first_row, count, columns, to);
}
void outer_products(const OuterProducts<float>& products) { HWY_DYNAMIC_DISPATCH(outer_float)(products); }
void outer_products(const OuterProducts<double>& products) { HWY_DYNAMIC_DISPATCH(outer_double)(products); }

}  // namespace attend::kernels
#endif
