#include "kernels/dot_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/dot_product.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

template <class T>
using Vectors = hn::ScalableTag<T>;

// Query rows of a strip, vectors of keys of a panel, and vectors of values at a time: with 6 rows by 4 (or 2) vectors all sums and what they
// are made from stay in the 32 (or 16) registers.
constexpr std::int64_t strip_rows = 6;
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
constexpr std::int64_t panel_vectors = 4;
#else
constexpr std::int64_t panel_vectors = 2;
#endif
constexpr std::int64_t block_panels = 4;  // of keys: a strip's scores fit into the first cache, the block's keys and values into the second

template <class T>
HWY_INLINE std::int64_t lanes_of() {
  return static_cast<std::int64_t>(hn::Lanes(Vectors<T>()));
}
template <class T>
HWY_INLINE std::int64_t panel_keys() {
  return panel_vectors * lanes_of<T>();
}
HWY_INLINE std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }

// 2^t for t ≤ 0 (NaN stays NaN): t = n + f with a polynomial for 2^f, |f| ≤ ½, that is right to 5e-9.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr, class V>
HWY_INLINE V power_of_two(D d, V t) {
  const V bounded = hn::IfThenElse(hn::Lt(t, hn::Set(d, -126.0f)), hn::Set(d, -126.0f), t);
  const V n = hn::Round(bounded), f = hn::Sub(bounded, n);
  V p = hn::Set(d, 1.5453162938e-4f);
  p = hn::MulAdd(p, f, hn::Set(d, 1.3390863647e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.6180825573e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.5503571142e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.4022650761e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.9314718803e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const hn::RebindToSigned<D> whole;
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(whole, n));
  return hn::IfThenElse(hn::Eq(t, t), hn::BitCast(d, hn::Add(hn::BitCast(whole, p), exponent)), t);
}
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr, class V>
HWY_INLINE V power_of_two(D d, V t) {
  return bounded_exp(d, hn::Mul(t, hn::Set(d, 0.69314718055994530942)));
}

template <class T>
HWY_INLINE std::int64_t width_in_vectors(std::int64_t width) {
  return rounded_up(width, lanes_of<T>());
}

// [panel][width][rows of a panel]; 0 behind the last row.
template <class T>
void into_panels(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride, T* to) {
  const std::int64_t panel = panel_keys<T>();
  for (std::int64_t first = 0; first < rows; first += panel, to += panel * width) {
    const std::int64_t count = std::min(panel, rows - first);
    if (count < panel) std::fill(to, to + panel * width, T(0));
    for (std::int64_t j = 0; j < count; ++j) {
      const T* row = from + (first + j) * stride;
      for (std::int64_t c = 0; c < width; ++c) to[c * panel + j] = row[c];
    }
  }
}

// Scores of a strip's rows with the keys of one panel.
template <class T>
HWY_INLINE void score_panel(const T* query, std::int64_t query_stride, std::int64_t width, const T* panel, T* scores, std::int64_t stride) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  hn::Vec<Vectors<T>> sums[strip_rows][panel_vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = hn::Zero(d);
  for (std::int64_t c = 0; c < width; ++c, panel += panel_vectors * lanes) {
    hn::Vec<Vectors<T>> keys[panel_vectors];
    for (std::int64_t v = 0; v < panel_vectors; ++v) keys[v] = hn::LoadU(d, panel + v * lanes);
    for (std::int64_t r = 0; r < strip_rows; ++r) {
      const auto q = hn::Set(d, query[r * query_stride + c]);
      for (std::int64_t v = 0; v < panel_vectors; ++v) sums[r][v] = hn::MulAdd(q, keys[v], sums[r][v]);
    }
  }
  for (std::int64_t r = 0; r < strip_rows; ++r)
    for (std::int64_t v = 0; v < panel_vectors; ++v) hn::StoreU(sums[r][v], d, scores + r * stride + v * lanes);
}

// Factors of a strip of sums: that of sum s and term t is data[s · sum_stride + t · term_stride].
template <class T>
struct Factors {
  const T* data;
  std::int64_t sum_stride, term_stride;
};

// out_s += Σ_t factor_st · row_t, for `count` vectors of the rows' width; sums lie `out_stride` apart.
template <std::int64_t strip, std::int64_t count, class T>
HWY_INLINE void add_products(const Factors<T>& factors, std::int64_t terms, const T* rows, std::int64_t row_stride, T* out, std::int64_t out_stride) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  hn::Vec<Vectors<T>> sums[strip][count];
  for (std::int64_t s = 0; s < strip; ++s)
    for (std::int64_t v = 0; v < count; ++v) sums[s][v] = hn::LoadU(d, out + s * out_stride + v * lanes);
  for (std::int64_t t = 0; t < terms; ++t) {
    hn::Vec<Vectors<T>> row[count];
    for (std::int64_t v = 0; v < count; ++v) row[v] = hn::LoadU(d, rows + t * row_stride + v * lanes);
    for (std::int64_t s = 0; s < strip; ++s) {
      const auto factor = hn::Set(d, factors.data[s * factors.sum_stride + t * factors.term_stride]);
      for (std::int64_t v = 0; v < count; ++v) sums[s][v] = hn::MulAdd(factor, row[v], sums[s][v]);
    }
  }
  for (std::int64_t s = 0; s < strip; ++s)
    for (std::int64_t v = 0; v < count; ++v) hn::StoreU(sums[s][v], d, out + s * out_stride + v * lanes);
}

// The same for the rows' whole width, which the sums have too.
template <std::int64_t strip, class T>
HWY_INLINE void add_all_products(const Factors<T>& factors, std::int64_t terms, const T* rows, std::int64_t row_stride, T* out, std::int64_t width) {
  const std::int64_t lanes = lanes_of<T>();
  std::int64_t c = 0;
  for (; c + panel_vectors * lanes <= width; c += panel_vectors * lanes)
    add_products<strip, panel_vectors>(factors, terms, rows + c, row_stride, out + c, width);
  for (; c < width; c += lanes) add_products<strip, 1>(factors, terms, rows + c, row_stride, out + c, width);
}

// What the queries of a block have summed up so far, in units of log 2.
template <class T>
struct Running {
  T* largest;  // [rows]: −∞ where nothing was seen
  T* sum;      // [rows]: Σ 2^(s − largest)
  T* context;  // [rows, width]
  std::int64_t width;
};

// One row's scores of a block of keys become weights relative to its new largest score; sum and context so far are corrected.
template <class T>
HWY_INLINE void weigh_row(T* scores, std::int64_t padded_keys, std::int64_t row, const Running<T>& running) {
  const Vectors<T> d;
  const std::int64_t lanes = lanes_of<T>();
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const T before = running.largest[row];
  auto largest_of = hn::Set(d, before);
  for (std::int64_t j = 0; j < padded_keys; j += lanes) largest_of = hn::Max(largest_of, hn::LoadU(d, scores + j));
  const T largest = hn::GetLane(hn::MaxOfLanes(d, largest_of));
  if (largest == nothing) {
    std::fill(scores, scores + padded_keys, T(0));
    return;
  }
  const auto shift = hn::Set(d, largest), lowest = hn::Set(d, nothing);
  auto sum = hn::Zero(d);
  for (std::int64_t j = 0; j < padded_keys; j += lanes) {
    const auto score = hn::LoadU(d, scores + j);
    const auto weight = hn::IfThenZeroElse(hn::Eq(score, lowest), power_of_two(d, hn::Sub(score, shift)));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + j);
  }
  T kept = running.sum[row];
  if (largest != before) {
    const T correction = before == nothing ? T(0) : std::exp2(before - largest);
    kept *= correction;
    T* const context = running.context + row * running.width;
    for (std::int64_t c = 0; c < running.width; c += lanes)
      hn::StoreU(hn::Mul(hn::LoadU(d, context + c), hn::Set(d, correction)), d, context + c);
    running.largest[row] = largest;
  }
  running.sum[row] = kept + hn::GetLane(hn::SumOfLanes(d, sum));
}

// Which of a block's keys its queries may see.
enum class Sight { none, some, all };

template <class T>
HWY_INLINE Sight sight_of(const DotProductBlock<T>& block, std::int64_t first_row, std::int64_t rows, std::int64_t first_key, std::int64_t keys) {
  if (block.keep == nullptr) return Sight::all;
  bool any = false, all = true;
  const std::int64_t different = block.keep_stride == 0 ? 1 : rows;
  for (std::int64_t r = 0; r < different; ++r) {
    const bool* row = block.keep + (first_row + r) * block.keep_stride + first_key;
    any = any || std::memchr(row, 1, static_cast<std::size_t>(keys)) != nullptr;
    all = all && std::memchr(row, 0, static_cast<std::size_t>(keys)) == nullptr;
    if (any && !all) return Sight::some;
  }
  return any ? Sight::all : Sight::none;
}

// Soft cap, bias and mask on one row's scores, which come in units of `soft_cap` where there is one, else of log 2.
template <class T>
HWY_INLINE void finish_scores(const DotProductBlock<T>& block, Sight sight, std::int64_t row, std::int64_t first_key, std::int64_t keys, T* scores) {
  constexpr double log2_e = 1.4426950408889634074;
  if (block.soft_cap > 0)
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      const auto cap = hn::Set(d, static_cast<T>(block.soft_cap * log2_e));
      hn::StoreU(hn::Mul(cap, hyperbolic_tangent(d, hn::LoadU(d, scores + j))), d, scores + j);
    });
  if (block.bias != nullptr) {
    const T* bias = block.bias + row * block.bias_stride + first_key;
    for_lanes<T>(keys, [&](auto d, std::int64_t j) {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, bias + j), hn::Set(d, static_cast<T>(log2_e)), hn::LoadU(d, scores + j)), d, scores + j);
    });
  }
  if (sight == Sight::some) {
    const bool* keep = block.keep + row * block.keep_stride + first_key;
    for (std::int64_t j = 0; j < keys; ++j) scores[j] = keep[j] ? scores[j] : -std::numeric_limits<T>::infinity();
  }
}

template <class T>
struct Scratch {
  T *query, *scores;
  Running<T> running;
};

template <class T>
std::int64_t scratch_count(const DotProductSizes& sizes) {
  return dot_product_block_queries * (sizes.key_width + width_in_vectors<T>(sizes.value_width) + 2) + strip_rows * block_panels * panel_keys<T>();
}

template <class T>
HWY_INLINE Scratch<T> scratch_of(const DotProductSizes& sizes, T* memory) {
  constexpr std::int64_t rows = dot_product_block_queries;
  const std::int64_t width = width_in_vectors<T>(sizes.value_width);
  T* const context = memory + strip_rows * block_panels * panel_keys<T>();
  T* const query = context + rows * width;
  T* const largest = query + rows * sizes.key_width;
  return {query, memory, {largest, largest + rows, context, width}};
}

// Scaled copies of the block's queries, 0 behind the last one; nothing is seen yet.
template <class T>
HWY_INLINE void begin(const DotProductSizes& sizes, const DotProductBlock<T>& block, const Scratch<T>& scratch, std::int64_t padded_rows) {
  constexpr double log2_e = 1.4426950408889634074;
  const T scale = static_cast<T>(block.soft_cap > 0 ? block.scale / block.soft_cap : block.scale * log2_e);
  for (std::int64_t r = 0; r < padded_rows; ++r)
    for (std::int64_t c = 0; c < sizes.key_width; ++c)
      scratch.query[r * sizes.key_width + c] = r < block.queries ? block.query[r * block.query_stride + c] * scale : T(0);
  const Running<T>& running = scratch.running;
  std::fill(running.largest, running.largest + padded_rows, -std::numeric_limits<T>::infinity());
  std::fill(running.sum, running.sum + padded_rows, T(0));
  std::fill(running.context, running.context + padded_rows * running.width, T(0));
}

template <class T>
void forward_block(const DotProductSizes& sizes, const DotProductBlock<T>& block) {
  const Scratch<T> scratch = scratch_of<T>(sizes, block.scratch);
  const Running<T>& running = scratch.running;
  const std::int64_t panel = panel_keys<T>(), most_keys = block_panels * panel, padded_rows = rounded_up(block.queries, strip_rows);
  begin(sizes, block, scratch, padded_rows);
  const bool plain = block.soft_cap == 0 && block.bias == nullptr;
  for (std::int64_t first_key = 0; first_key < sizes.keys; first_key += most_keys) {
    const std::int64_t keys = std::min(most_keys, sizes.keys - first_key), padded_keys = rounded_up(keys, panel);
    for (std::int64_t row = 0; row < block.queries; row += strip_rows) {
      const std::int64_t rows = std::min(strip_rows, block.queries - row);
      const Sight sight = sight_of(block, row, rows, first_key, keys);
      if (sight == Sight::none) continue;
      for (std::int64_t j = 0; j < keys; j += panel)
        score_panel(scratch.query + row * sizes.key_width, sizes.key_width, sizes.key_width, block.key_panels + (first_key + j) * sizes.key_width,
                    scratch.scores + j, most_keys);
      for (std::int64_t r = 0; r < strip_rows; ++r) {
        T* const scores = scratch.scores + r * most_keys;
        if (r < rows && (!plain || sight == Sight::some)) finish_scores(block, sight, row + r, first_key, keys, scores);
        std::fill(scores + keys, scores + padded_keys, -std::numeric_limits<T>::infinity());
        weigh_row(scores, padded_keys, row + r, running);
      }
      add_all_products<strip_rows>(Factors<T>{scratch.scores, most_keys, 1}, keys, block.value + first_key * block.value_stride, block.value_stride,
                                   running.context + row * running.width, running.width);
    }
  }
  for (std::int64_t r = 0; r < block.queries; ++r) {
    const T scale = running.sum[r] == 0 ? T(0) : 1 / running.sum[r];
    for (std::int64_t c = 0; c < sizes.value_width; ++c) block.context[r * block.context_stride + c] = running.context[r * running.width + c] * scale;
    if (block.log_sums != nullptr) block.log_sums[r] = running.largest[r] + (running.sum[r] == 0 ? T(0) : std::log2(running.sum[r]));
  }
}

// --- backward ------------------------------------------------------------------------------------------------------------------------

// Strips of rows need whole strips: what a block copies of its queries and context gradients, with zeros behind the last.
template <class T>
struct GradientScratch {
  T *query, *context_gradient;   // [block queries, Dk], scaled for the scores; [block queries, Dv]
  T *weights, *score_gradients;  // [block queries, block keys]
  T* weight_gradients;           // [strip rows, block keys]
};

template <class T>
std::int64_t gradient_scratch_count(const DotProductSizes& sizes) {
  return dot_product_block_queries * (sizes.key_width + sizes.value_width + 2 * dot_product_block_keys) + strip_rows * dot_product_block_keys;
}

template <class T>
HWY_INLINE GradientScratch<T> gradient_scratch_of(const DotProductSizes& sizes, T* memory) {
  constexpr std::int64_t rows = dot_product_block_queries, keys = dot_product_block_keys;
  T* const context_gradient = memory + rows * sizes.key_width;
  T* const weights = context_gradient + rows * sizes.value_width;
  return {memory, context_gradient, weights, weights + rows * keys, weights + 2 * rows * keys};
}

// A row's weights from its scores, which come as finish_scores() leaves them; exactly 0 where a key isn't seen.
template <class T>
HWY_INLINE void weights_again(std::int64_t keys, T log_sum, T* scores) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  if (log_sum == nothing) {
    std::fill(scores, scores + keys, T(0));
    return;
  }
  for_lanes<T>(keys, [&](auto d, std::int64_t j) {
    const auto score = hn::LoadU(d, scores + j);
    const auto weight = power_of_two(d, hn::Sub(score, hn::Set(d, log_sum)));
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(score, hn::Set(d, nothing)), weight), d, scores + j);
  });
}

// Of a strip's rows: weights and gradients of the scores into their rows of the block.
template <class T>
HWY_INLINE void strip_gradients(const DotProductSizes& sizes, const DotProductGradients<T>& block, const DotProductBlock<T>& forward, Sight sight,
                                const GradientScratch<T>& scratch, std::int64_t row, std::int64_t rows) {
  const std::int64_t panel = panel_keys<T>(), most_keys = dot_product_block_keys;
  T* const weights = scratch.weights + row * most_keys;
  for (std::int64_t j = 0; j < block.keys; j += panel) {
    score_panel(scratch.query + row * sizes.key_width, sizes.key_width, sizes.key_width, block.key_panels + (block.first_key + j) * sizes.key_width,
                weights + j, most_keys);
    score_panel(scratch.context_gradient + row * sizes.value_width, sizes.value_width, sizes.value_width,
                block.value_panels + (block.first_key + j) * sizes.value_width, scratch.weight_gradients + j, most_keys);
  }
  for (std::int64_t r = 0; r < strip_rows; ++r) {
    T* const w = weights + r * most_keys;
    T* const ds = scratch.score_gradients + (row + r) * most_keys;
    const T* const dw = scratch.weight_gradients + r * most_keys;
    if (r >= rows) {  // behind the last query
      std::fill(w, w + block.keys, T(0));
      std::fill(ds, ds + block.keys, T(0));
      continue;
    }
    if (block.soft_cap > 0)  // its slope, of the score before it
      for_lanes<T>(block.keys, [&](auto d, std::int64_t j) {
        const auto t = hyperbolic_tangent(d, hn::LoadU(d, w + j));
        hn::StoreU(hn::NegMulAdd(t, t, hn::Set(d, 1)), d, ds + j);
      });
    if (sight == Sight::some || block.soft_cap > 0 || block.bias != nullptr) finish_scores(forward, sight, row + r, block.first_key, block.keys, w);
    weights_again(block.keys, block.log_sums[row + r], w);
    const T product = block.context_products[row + r];
    T* const of_bias = block.bias_gradient == nullptr ? nullptr : block.bias_gradient + (row + r) * block.bias_gradient_stride + block.first_key;
    for_lanes<T>(block.keys, [&](auto d, std::int64_t j) {
      const auto gradient = hn::Mul(hn::LoadU(d, w + j), hn::Sub(hn::LoadU(d, dw + j), hn::Set(d, product)));
      if (of_bias != nullptr) hn::StoreU(gradient, d, of_bias + j);
      hn::StoreU(block.soft_cap > 0 ? hn::Mul(gradient, hn::LoadU(d, ds + j)) : gradient, d, ds + j);
    });
  }
}

// out_j += Σ_r factor_rj · row_r for each key: factors are a block's weights or gradients of scores, rows its queries or context gradients.
template <class T>
HWY_INLINE void add_to_keys(const T* factors, std::int64_t keys, std::int64_t row_count, const T* rows, std::int64_t width, T* out) {
  const auto of_key = [&](std::int64_t j) { return Factors<T>{factors + j, 1, dot_product_block_keys}; };
  std::int64_t j = 0;
  for (; j + strip_rows <= keys; j += strip_rows) add_all_products<strip_rows>(of_key(j), row_count, rows, width, out + j * width, width);
  for (; j < keys; ++j) add_all_products<1>(of_key(j), row_count, rows, width, out + j * width, width);
}

// What finish_scores() and sight_of() read.
template <class T>
HWY_INLINE DotProductBlock<T> forward_of(const DotProductGradients<T>& block) {
  DotProductBlock<T> forward;
  forward.queries = block.queries;
  forward.scale = block.scale, forward.soft_cap = block.soft_cap;
  forward.keep = block.keep, forward.keep_stride = block.keep_stride;
  forward.bias = block.bias, forward.bias_stride = block.bias_stride;
  return forward;
}

template <class T>
void backward_block(const DotProductSizes& sizes, const DotProductGradients<T>& block) {
  constexpr double log2_e = 1.4426950408889634074;
  const std::int64_t Dk = sizes.key_width, Dv = sizes.value_width, padded_rows = rounded_up(block.queries, strip_rows);
  const DotProductBlock<T> forward = forward_of(block);
  const Sight sight = sight_of(forward, 0, block.queries, block.first_key, block.keys);
  if (sight == Sight::none) {
    for (std::int64_t r = 0; r < block.queries && block.bias_gradient != nullptr; ++r)
      std::fill_n(block.bias_gradient + r * block.bias_gradient_stride + block.first_key, block.keys, T(0));
    return;
  }
  const GradientScratch<T> scratch = gradient_scratch_of<T>(sizes, block.scratch);
  const double score_scale = block.soft_cap > 0 ? block.scale / block.soft_cap : block.scale * log2_e;
  for (std::int64_t r = 0; r < padded_rows; ++r) {
    for (std::int64_t c = 0; c < Dk; ++c) scratch.query[r * Dk + c] = r < block.queries ? block.query[r * block.query_stride + c] * static_cast<T>(score_scale) : T(0);
    for (std::int64_t c = 0; c < Dv; ++c) scratch.context_gradient[r * Dv + c] = r < block.queries ? block.context_gradient[r * block.context_gradient_stride + c] : T(0);
  }
  for (std::int64_t row = 0; row < block.queries; row += strip_rows)
    strip_gradients(sizes, block, forward, sight, scratch, row, std::min(strip_rows, block.queries - row));
  add_to_keys(scratch.weights, block.keys, padded_rows, scratch.context_gradient, Dv, block.value_gradient + block.first_key * Dv);
  // the gradients of the scores take the scale once for query and key
  for (std::int64_t r = 0; r < padded_rows; ++r) {
    T* const ds = scratch.score_gradients + r * dot_product_block_keys;
    for_lanes<T>(block.keys, [&](auto d, std::int64_t j) { hn::StoreU(hn::Mul(hn::LoadU(d, ds + j), hn::Set(d, static_cast<T>(block.scale))), d, ds + j); });
  }
  for (std::int64_t r = 0; r < padded_rows; ++r)
    for (std::int64_t c = 0; c < Dk; ++c) scratch.query[r * Dk + c] = r < block.queries ? block.query[r * block.query_stride + c] : T(0);
  add_to_keys(scratch.score_gradients, block.keys, padded_rows, scratch.query, Dk, block.key_gradient + block.first_key * Dk);
  const T* const keys = block.key + block.first_key * block.key_stride;
  const auto add_keys = [&](std::int64_t row, T* out) {
    const Factors<T> factors{scratch.score_gradients + row * dot_product_block_keys, dot_product_block_keys, 1};
    add_all_products<strip_rows>(factors, block.keys, keys, block.key_stride, out, Dk);
  };
  std::int64_t row = 0;
  for (; row + strip_rows <= block.queries; row += strip_rows) add_keys(row, block.query_gradient + row * Dk);
  if (row == block.queries) return;
  // the last rows through a whole strip: its rows behind them are nobody's
  T* const last = scratch.query;
  std::fill(last, last + strip_rows * Dk, T(0));
  add_keys(row, last);
  for (std::int64_t i = 0; i < (block.queries - row) * Dk; ++i) block.query_gradient[row * Dk + i] += last[i];
}

std::int64_t panel_float() { return panel_keys<float>(); }
std::int64_t panel_double() { return panel_keys<double>(); }
std::int64_t lanes_float() { return lanes_of<float>(); }
std::int64_t lanes_double() { return lanes_of<double>(); }
std::int64_t scratch_float(const DotProductSizes& sizes) { return scratch_count<float>(sizes); }
std::int64_t scratch_double(const DotProductSizes& sizes) { return scratch_count<double>(sizes); }
std::int64_t gradient_scratch_float(const DotProductSizes& sizes) { return gradient_scratch_count<float>(sizes); }
std::int64_t gradient_scratch_double(const DotProductSizes& sizes) { return gradient_scratch_count<double>(sizes); }
void panels_float(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float* to) { into_panels(rows, width, from, stride, to); }
void panels_double(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double* to) { into_panels(rows, width, from, stride, to); }
void dot_forward_float(const DotProductSizes& sizes, const DotProductBlock<float>& block) { forward_block(sizes, block); }
void dot_forward_double(const DotProductSizes& sizes, const DotProductBlock<double>& block) { forward_block(sizes, block); }
void dot_backward_float(const DotProductSizes& sizes, const DotProductGradients<float>& block) { backward_block(sizes, block); }
void dot_backward_double(const DotProductSizes& sizes, const DotProductGradients<double>& block) { backward_block(sizes, block); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

namespace {
std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) { return (number + multiple - 1) / multiple * multiple; }
}  // namespace

HWY_EXPORT(panel_float);
HWY_EXPORT(panel_double);
HWY_EXPORT(lanes_float);
HWY_EXPORT(lanes_double);
HWY_EXPORT(scratch_float);
HWY_EXPORT(scratch_double);
HWY_EXPORT(gradient_scratch_float);
HWY_EXPORT(gradient_scratch_double);
HWY_EXPORT(panels_float);
HWY_EXPORT(panels_double);
HWY_EXPORT(dot_forward_float);
HWY_EXPORT(dot_forward_double);
HWY_EXPORT(dot_backward_float);
HWY_EXPORT(dot_backward_double);

namespace {
template <class T>
constexpr bool is_float = sizeof(T) == 4;
}  // namespace

template <class T>
std::int64_t padded_width(std::int64_t width) {
  return rounded_up(width, is_float<T> ? HWY_DYNAMIC_DISPATCH(lanes_float)() : HWY_DYNAMIC_DISPATCH(lanes_double)());
}

template <class T>
void pad_rows(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride, T* to) {
  const std::int64_t padded = padded_width<T>(width);
  for (std::int64_t j = 0; j < rows; ++j, from += stride, to += padded) {
    std::copy(from, from + width, to);
    std::fill(to + width, to + padded, T(0));
  }
}

template <class T>
std::int64_t panels_size(std::int64_t rows, std::int64_t width) {
  return rounded_up(rows, is_float<T> ? HWY_DYNAMIC_DISPATCH(panel_float)() : HWY_DYNAMIC_DISPATCH(panel_double)()) * width;
}

template <class T>
std::int64_t dot_product_scratch_size(const DotProductSizes& sizes) {
  return is_float<T> ? HWY_DYNAMIC_DISPATCH(scratch_float)(sizes) : HWY_DYNAMIC_DISPATCH(scratch_double)(sizes);
}

template <class T>
std::int64_t dot_product_gradients_scratch_size(const DotProductSizes& sizes) {
  return is_float<T> ? HWY_DYNAMIC_DISPATCH(gradient_scratch_float)(sizes) : HWY_DYNAMIC_DISPATCH(gradient_scratch_double)(sizes);
}

template std::int64_t padded_width<float>(std::int64_t);
template std::int64_t padded_width<double>(std::int64_t);
template void pad_rows<float>(std::int64_t, std::int64_t, const float*, std::int64_t, float*);
template void pad_rows<double>(std::int64_t, std::int64_t, const double*, std::int64_t, double*);
template std::int64_t panels_size<float>(std::int64_t, std::int64_t);
template std::int64_t panels_size<double>(std::int64_t, std::int64_t);
template std::int64_t dot_product_scratch_size<float>(const DotProductSizes&);
template std::int64_t dot_product_scratch_size<double>(const DotProductSizes&);
template std::int64_t dot_product_gradients_scratch_size<float>(const DotProductSizes&);
template std::int64_t dot_product_gradients_scratch_size<double>(const DotProductSizes&);

void pack_panels(std::int64_t rows, std::int64_t width, const float* from, std::int64_t stride, float* to) {
  HWY_DYNAMIC_DISPATCH(panels_float)(rows, width, from, stride, to);
}
void pack_panels(std::int64_t rows, std::int64_t width, const double* from, std::int64_t stride, double* to) {
  HWY_DYNAMIC_DISPATCH(panels_double)(rows, width, from, stride, to);
}
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<float>& block) { HWY_DYNAMIC_DISPATCH(dot_forward_float)(sizes, block); }
void dot_product_forward(const DotProductSizes& sizes, const DotProductBlock<double>& block) { HWY_DYNAMIC_DISPATCH(dot_forward_double)(sizes, block); }
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<float>& block) { HWY_DYNAMIC_DISPATCH(dot_backward_float)(sizes, block); }
void dot_product_backward(const DotProductSizes& sizes, const DotProductGradients<double>& block) { HWY_DYNAMIC_DISPATCH(dot_backward_double)(sizes, block); }

}  // namespace attend::kernels
#endif
