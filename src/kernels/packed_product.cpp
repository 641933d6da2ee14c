#include "kernels/packed_product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/packed_product.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

constexpr std::int64_t block_bytes = 32 * 1024;  // of a panel: it stays in the first cache while strips pass
constexpr std::int64_t packed_terms = 16;        // that are packed together: of one sum they share cache lines where terms are neighbours

// [panel][terms][sums of a panel]; 0 behind the last sum.
template <class T>
void pack_panels_of(const PlainMatrix<T>& matrix, T* to) {
  const std::int64_t panel = tile_width<T>();
  for (std::int64_t first = 0; first < matrix.sums; first += panel) {
    const std::int64_t count = std::min(panel, matrix.sums - first);
    const T* from = matrix.data + first * matrix.sum_stride;
    for (std::int64_t k = 0; k < matrix.terms; k += packed_terms, from += packed_terms * matrix.term_stride) {
      const std::int64_t terms = std::min(packed_terms, matrix.terms - k);
      for (std::int64_t t = 0; t < terms; ++t) std::fill(to + t * panel + count, to + (t + 1) * panel, T(0));
      if (matrix.term_stride == 1) {
        for (std::int64_t n = 0; n < count; ++n)
          for (std::int64_t t = 0; t < terms; ++t) to[t * panel + n] = from[n * matrix.sum_stride + t];
      } else {
        for (std::int64_t t = 0; t < terms; ++t)
          for (std::int64_t n = 0; n < count; ++n) to[t * panel + n] = from[t * matrix.term_stride + n * matrix.sum_stride];
      }
      to += terms * panel;
    }
  }
}

// out += for a strip of rows, a panel of sums and a block of terms; out and start may be one.
template <std::int64_t rows, class T>
HWY_INLINE void multiply_strip(std::int64_t terms, const T* in, std::int64_t in_stride, const T* panel, const T* start, std::int64_t start_stride, T* out,
                               std::int64_t out_stride) {
  RegisterTile<rows, tile_vectors, T> tile;
  if (start == nullptr)
    tile.clear();
  else
    tile.load(start, start_stride);
  tile.add(Factors<T>{in, in_stride, 1}, terms, panel, tile_width<T>());
  tile.store(out, out_stride);
}

template <class T>
using MultiplyStrip = void (*)(std::int64_t, const T*, std::int64_t, const T*, const T*, std::int64_t, T*, std::int64_t);

template <std::int64_t rows, class T>
HWY_NOINLINE void multiply_rows(std::int64_t terms, const T* in, std::int64_t in_stride, const T* panel, const T* start, std::int64_t start_stride, T* out,
                                std::int64_t out_stride) {
  multiply_strip<rows>(terms, in, in_stride, panel, start, start_stride, out, out_stride);
}

// The last panel's sums where it isn't full, by way of a tile of its own.
template <class T>
HWY_INLINE void multiply_partly(MultiplyStrip<T> multiply, const PackedProduct<T>& product, std::int64_t row, std::int64_t rows, std::int64_t first,
                                const T* panel) {
  constexpr std::int64_t most = tile_vectors * HWY_MAX_BYTES / static_cast<std::int64_t>(sizeof(T));
  HWY_ALIGN T tile[tile_rows * most];
  const std::int64_t width = tile_width<T>(), count = product.sums - first;
  std::fill(tile, tile + tile_rows * width, T(0));
  for (std::int64_t r = 0; r < rows && product.start != nullptr; ++r)
    std::copy_n(product.start + (row + r) * product.start_stride + first, count, tile + r * width);
  multiply(product.terms, product.in + row * product.in_stride, product.in_stride, panel, tile, width, tile, width);
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(tile + r * width, count, product.out + (row + r) * product.out_stride + first);
}

template <class T>
void multiply_packed(const PackedProduct<T>& product) {
  static constexpr MultiplyStrip<T> strips[] = {multiply_rows<1, T>, multiply_rows<2, T>, multiply_rows<3, T>,
                                                multiply_rows<4, T>, multiply_rows<5, T>, multiply_rows<6, T>};
  const std::int64_t width = tile_width<T>(), most_terms = block_bytes / (width * static_cast<std::int64_t>(sizeof(T)));
  const auto each_strip = [&](const auto& act) {
    for (std::int64_t row = 0; row < product.rows; row += tile_rows) {
      const std::int64_t rows = std::min(tile_rows, product.rows - row);
      act(row, rows, strips[rows - 1]);
    }
  };
  const T* panel = product.packed;
  for (std::int64_t first = 0; first < product.sums; first += width, panel += width * product.terms) {
    if (product.sums - first < width) {
      each_strip([&](std::int64_t row, std::int64_t rows, MultiplyStrip<T> multiply) { multiply_partly(multiply, product, row, rows, first, panel); });
      continue;
    }
    for (std::int64_t k = 0; k == 0 || k < product.terms; k += most_terms)
      each_strip([&](std::int64_t row, std::int64_t, MultiplyStrip<T> multiply) {
        const bool goes_on = k > 0;
        T* const out = product.out + row * product.out_stride + first;
        const T* const start = goes_on ? out : product.start == nullptr ? nullptr : product.start + row * product.start_stride + first;
        multiply(std::min(most_terms, product.terms - k), product.in + row * product.in_stride + k, product.in_stride, panel + k * width, start,
                 goes_on ? product.out_stride : product.start_stride, out, product.out_stride);
      });
  }
}

std::int64_t panel_sums_float() { return tile_width<float>(); }
std::int64_t panel_sums_double() { return tile_width<double>(); }
void pack_float(const PlainMatrix<float>& matrix, float* to) { pack_panels_of(matrix, to); }
void pack_double(const PlainMatrix<double>& matrix, double* to) { pack_panels_of(matrix, to); }
void multiply_float(const PackedProduct<float>& product) { multiply_packed(product); }
void multiply_double(const PackedProduct<double>& product) { multiply_packed(product); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(panel_sums_float);
HWY_EXPORT(panel_sums_double);
HWY_EXPORT(pack_float);
HWY_EXPORT(pack_double);
HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);

template <class T>
std::int64_t packed_size(std::int64_t terms, std::int64_t sums) {
  const std::int64_t panel = sizeof(T) == 4 ? HWY_DYNAMIC_DISPATCH(panel_sums_float)() : HWY_DYNAMIC_DISPATCH(panel_sums_double)();
  return (sums + panel - 1) / panel * panel * terms;
}
template std::int64_t packed_size<float>(std::int64_t, std::int64_t);
template std::int64_t packed_size<double>(std::int64_t, std::int64_t);

void pack_matrix(const PlainMatrix<float>& matrix, float* to) { HWY_DYNAMIC_DISPATCH(pack_float)(matrix, to); }
void pack_matrix(const PlainMatrix<double>& matrix, double* to) { HWY_DYNAMIC_DISPATCH(pack_double)(matrix, to); }
void packed_product(const PackedProduct<float>& product) { HWY_DYNAMIC_DISPATCH(multiply_float)(product); }
void packed_product(const PackedProduct<double>& product) { HWY_DYNAMIC_DISPATCH(multiply_double)(product); }

}  // namespace attend::kernels
#endif
