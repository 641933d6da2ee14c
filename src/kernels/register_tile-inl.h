// The tile that products of matrices are made with, for each SIMD target: include it after <hwy/foreach_target.h>, as Highway's own -inl headers.
#if defined(ATTEND_KERNELS_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTEND_KERNELS_REGISTER_TILE_INL_H_
#undef ATTEND_KERNELS_REGISTER_TILE_INL_H_
#else
#define ATTEND_KERNELS_REGISTER_TILE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Vectors = hn::ScalableTag<T>;

template <class T>
HWY_INLINE std::int64_t lanes_of() {
  return static_cast<std::int64_t>(hn::Lanes(Vectors<T>()));
}

// The largest tile: 6 rows by 4 (or 2) vectors and what they are made from stay in the 32 (or 16) registers.
constexpr std::int64_t tile_rows = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
constexpr std::int64_t tile_vectors = 4;
#else
constexpr std::int64_t tile_vectors = 2;
#endif
template <class T>
HWY_INLINE std::int64_t tile_width() {
  return tile_vectors * lanes_of<T>();
}

// Factors of a tile: that of row r and term t is data[r · row_stride + t · term_stride].
template <class T>
struct Factors {
  const T* data;
  std::int64_t row_stride, term_stride;
};

// Sums [rows, vectors] in registers.
template <std::int64_t rows, std::int64_t vectors, class T>
struct RegisterTile {
  hn::Vec<Vectors<T>> sums[rows][vectors];

  HWY_INLINE void clear() {
    for (auto& row : sums)
      for (auto& sum : row) sum = hn::Zero(Vectors<T>());
  }
  HWY_INLINE void load(const T* from, std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::LoadU(Vectors<T>(), from + r * stride + v * lanes_of<T>());
  }
  // sums_r += Σ_t factor_rt · term_t, terms `stride` apart, of which the one `ahead` terms later is prefetched where that is not 0.
  template <std::int64_t ahead = 0>
  HWY_INLINE void add(const Factors<T>& factors, std::int64_t count, const T* HWY_RESTRICT terms, std::int64_t stride) {
    const Vectors<T> d;
    for (std::int64_t t = 0; t < count; ++t) {
      hn::Vec<Vectors<T>> term[vectors];
      for (std::int64_t v = 0; v < vectors; ++v) term[v] = hn::LoadU(d, terms + t * stride + v * lanes_of<T>());
      if constexpr (ahead > 0) hwy::Prefetch(terms + (t + ahead) * stride);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto factor = hn::Set(d, factors.data[r * factors.row_stride + t * factors.term_stride]);
        for (std::int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(factor, term[v], sums[r][v]);
      }
    }
  }
  HWY_INLINE void store(T* to, std::int64_t stride) const {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t v = 0; v < vectors; ++v) hn::StoreU(sums[r][v], Vectors<T>(), to + r * stride + v * lanes_of<T>());
  }
};

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
