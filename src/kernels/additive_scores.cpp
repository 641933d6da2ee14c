#include "kernels/additive_scores.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/additive_scores.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "kernels/activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

template <class T>
using UnitVector = hn::CappedTag<T, 64 / sizeof(T)>;  // a vector lies on its boundary of 64 bytes

// A tile of queries by keys, whose sums stay in registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2
constexpr std::int64_t tile_queries = 4;
#else
constexpr std::int64_t tile_queries = 2;
#endif
constexpr std::int64_t tile_keys = 4;

template <class T>
HWY_INLINE std::int64_t units() {
  return static_cast<std::int64_t>(hn::Lanes(UnitVector<T>()));
}
HWY_INLINE std::int64_t panel_count(std::int64_t hidden, std::int64_t lanes) { return (hidden + lanes - 1) / lanes; }
HWY_INLINE std::int64_t whole_tiles(std::int64_t keys) { return (keys + tile_keys - 1) / tile_keys * tile_keys; }

// Vectors lie on their own boundaries: half of them would cross a cache line otherwise.
template <class T>
HWY_INLINE T* on_boundary(T* memory) {
  constexpr std::uintptr_t boundary = 64;
  return reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(memory) + boundary - 1) / boundary * boundary);
}
constexpr std::int64_t boundary_slack = 64 / sizeof(float);

// The `count` first lanes of a vector in memory, 0 behind them; and back.
template <class T>
HWY_INLINE hn::Vec<UnitVector<T>> load_units(const T* from, std::int64_t count) {
  const UnitVector<T> d;
  if (count >= units<T>()) return hn::LoadU(d, from);
  HWY_ALIGN T lanes[hn::MaxLanes(UnitVector<T>())] = {};
  std::copy_n(from, count, lanes);
  return hn::Load(d, lanes);
}
template <class T>
HWY_INLINE void store_units(hn::Vec<UnitVector<T>> vector, T* to, std::int64_t count) {
  const UnitVector<T> d;
  if (count >= units<T>()) return hn::StoreU(vector, d, to);
  HWY_ALIGN T lanes[hn::MaxLanes(UnitVector<T>())];
  hn::Store(vector, d, lanes);
  std::copy_n(lanes, count, to);
}

// 1/x for normal x, to the last bit but one.
template <class D, class V>
HWY_INLINE V reciprocal([[maybe_unused]] D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V rough = hn::ApproximateReciprocal(x);
    return hn::Mul(rough, hn::NegMulAdd(x, rough, hn::Set(d, 2)));
  }
#endif
  return hn::Div(hn::Set(d, 1), x);
}

// sum + n/x likewise
template <class D, class V>
HWY_INLINE V add_quotient([[maybe_unused]] D d, V n, V x, V sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V rough = hn::ApproximateReciprocal(x);
    return hn::MulAdd(hn::Mul(n, rough), hn::NegMulAdd(x, rough, hn::Set(d, 2)), sum);
  }
#endif
  return hn::Add(sum, hn::Div(n, x));
}

// e^{2x} of bounded x, or e^{−2x}; NaN stays NaN
template <bool negative, class D, class V>
HWY_INLINE V bounded_exponential(D d, V x) {
  using T = hn::TFromD<D>;
  const V bound = hn::Set(d, additive_bound<T>);
  const V power = exponential(d, hn::Mul(hn::Set(d, T(negative ? -2 : 2)), hn::Max(hn::Min(x, bound), hn::Neg(bound))));
  return hn::IfThenElse(hn::Eq(x, x), power, x);
}

// Those of a row into its place in panels [A / lanes][rows][lanes]; returns the row's largest magnitude.
template <bool negative, class T>
HWY_INLINE T exponentials_into_panels(std::int64_t hidden, const T* row, std::int64_t panel_stride, T* to) {
  const UnitVector<T> d;
  auto largest = hn::Zero(d);
  for (std::int64_t a = 0; a < hidden; a += units<T>(), to += panel_stride) {
    const auto x = load_units(row + a, hidden - a);
    largest = hn::Max(largest, hn::Abs(x));
    hn::Store(bounded_exponential<negative>(d, x), d, to);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

template <class T>
void exponentials_of_keys(const AdditiveSizes& sizes, std::int64_t first_key, std::int64_t count, const T* key, std::int64_t key_stride, T* to, T* largest) {
  const std::int64_t rows = whole_tiles(sizes.keys);
  for (std::int64_t j = first_key; j < first_key + count; ++j)
    largest[j] = exponentials_into_panels<false>(sizes.hidden, key + j * key_stride, rows * units<T>(), to + j * units<T>());
  if (first_key + count < sizes.keys) return;
  for (std::int64_t p = 0; p < panel_count(sizes.hidden, units<T>()); ++p)  // what a tile reads behind the last key
    std::fill(to + (p * rows + sizes.keys) * units<T>(), to + (p + 1) * rows * units<T>(), T(1));
}

template <class T>
HWY_INLINE T largest_of(const T* rows, std::int64_t count) {
  return count == 0 ? T(0) : *std::max_element(rows, rows + count);
}

// Whether bounded exponentials miss what tanh(q + k) is.
template <class T>
HWY_INLINE bool cancels(T largest_of_query, T largest_of_key) {
  constexpr T bound = additive_bound<T>, rest = bound - additive_saturation<T>;
  return std::max(largest_of_query, largest_of_key) > bound && std::min(largest_of_query, largest_of_key) > rest;
}

// --- forward -------------------------------------------------------------------------------------------------------------------------

// What the queries of a block are brought to: for each panel and query a vector Q and a vector energy · Q, side by side.
template <class T>
struct PreparedQueries {
  T* factors;   // [panels][block queries][2][lanes]
  T* energy;    // [panels][lanes], 0 behind the last
  T* largest;   // [block queries]
  T energies;   // Σ energy
  bool direct;  // whether the energies are beyond what pairs of quotients bear
};

template <class T>
HWY_INLINE PreparedQueries<T> prepare(const AdditiveSizes& sizes, const AdditiveScores<T>& block) {
  const UnitVector<T> d;
  const std::int64_t lanes = units<T>(), panels = panel_count(sizes.hidden, lanes), row = 2 * lanes, panel = additive_block_queries * row;
  T* const factors = on_boundary(block.scratch);
  T* const energy = factors + panels * panel;
  PreparedQueries<T> prepared{factors, energy, energy + panels * lanes, T(0), false};
  auto sum = hn::Zero(d);
  for (std::int64_t p = 0; p < panels; ++p) {
    const auto e = load_units(block.energy + p * lanes, sizes.hidden - p * lanes);
    sum = hn::Add(sum, e);
    prepared.direct = prepared.direct || !hn::AllTrue(d, hn::Le(hn::Abs(e), hn::Set(d, additive_largest_energy<T>)));  // or NaN
    hn::Store(e, d, energy + p * lanes);
  }
  prepared.energies = hn::GetLane(hn::SumOfLanes(d, sum));
  for (std::int64_t i = 0; i < block.queries; ++i) {
    prepared.largest[i] = exponentials_into_panels<true>(sizes.hidden, block.query + i * block.query_stride, panel, factors + i * row);
    for (std::int64_t p = 0; p < panels; ++p) {
      T* const q = factors + p * panel + i * row;
      hn::Store(hn::Mul(hn::Load(d, energy + p * lanes), hn::Load(d, q)), d, q + lanes);
    }
  }
  return prepared;
}

// Σ_a energy_a r_ija of a tile. Two quotients become one: w/x + v/y = (w·y + v·x) / (x·y).
template <std::int64_t rows, class T>
HWY_INLINE void score_tile(std::int64_t panels, const T* query, const T* key, std::int64_t key_panel, T* sums) {
  const UnitVector<T> d;
  const std::int64_t lanes = units<T>(), row = 2 * lanes, query_panel = additive_block_queries * row;
  hn::Vec<UnitVector<T>> sum[rows][tile_keys];
  for (auto& of_row : sum)
    for (auto& one : of_row) one = hn::Zero(d);
  std::int64_t p = 0;
  for (; p + 2 <= panels; p += 2, query += 2 * query_panel, key += 2 * key_panel) {
    hn::Vec<UnitVector<T>> k[2][tile_keys];
    for (std::int64_t c = 0; c < tile_keys; ++c) k[0][c] = hn::Load(d, key + c * lanes), k[1][c] = hn::Load(d, key + key_panel + c * lanes);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const first = query + r * row;
      const T* const second = first + query_panel;
      const auto q = hn::Load(d, first), w = hn::Load(d, first + lanes), next_q = hn::Load(d, second), next_w = hn::Load(d, second + lanes);
      for (std::int64_t c = 0; c < tile_keys; ++c) {
        const auto x = hn::Add(q, k[0][c]), y = hn::Add(next_q, k[1][c]);
        sum[r][c] = add_quotient(d, hn::MulAdd(w, y, hn::Mul(next_w, x)), hn::Mul(x, y), sum[r][c]);
      }
    }
  }
  if (p < panels)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < tile_keys; ++c)
        sum[r][c] = add_quotient(d, hn::Load(d, query + r * row + lanes), hn::Add(hn::Load(d, query + r * row), hn::Load(d, key + c * lanes)), sum[r][c]);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < tile_keys; ++c) sums[r * tile_keys + c] = hn::GetLane(hn::SumOfLanes(d, sum[r][c]));
}

template <std::int64_t rows, class T>
HWY_INLINE void score_rows(const AdditiveSizes& sizes, const AdditiveScores<T>& block, const PreparedQueries<T>& prepared, std::int64_t first) {
  const std::int64_t lanes = units<T>(), panels = panel_count(sizes.hidden, lanes), key_panel = whole_tiles(sizes.keys) * lanes;
  for (std::int64_t j = 0; j < block.keys; j += tile_keys) {
    T sums[rows * tile_keys];
    score_tile<rows>(panels, prepared.factors + first * 2 * lanes, block.exponentials + j * lanes, key_panel, sums);
    const std::int64_t keys = std::min(tile_keys, block.keys - j);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < keys; ++c) block.scores[(first + r) * block.scores_stride + j + c] = prepared.energies - 2 * sums[r * tile_keys + c];
  }
}

// 1 / (1 + e^{2(q + k)})
template <class D, class V>
HWY_INLINE V fraction_of_sum(D d, V query, V key) {
  const V one = hn::Set(d, 1), sum = hn::Add(query, key);
  return hn::Div(one, hn::Add(one, bounded_exp(d, hn::Add(sum, sum))));
}

// One score by the exponentials of sums.
template <class T>
HWY_INLINE T direct_score(std::int64_t hidden, const T* query, const T* key, const T* energy) {
  const UnitVector<T> d;
  auto sum = hn::Zero(d);
  for (std::int64_t a = 0; a < hidden; a += units<T>()) {
    const auto r = fraction_of_sum(d, load_units(query + a, hidden - a), load_units(key + a, hidden - a));
    sum = hn::MulAdd(hn::Load(d, energy + a), hn::Sub(hn::Set(d, 1), hn::Add(r, r)), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class T>
void score_block(const AdditiveSizes& sizes, const AdditiveScores<T>& block) {
  const PreparedQueries<T> prepared = prepare(sizes, block);
  std::int64_t i = 0;
  for (; i + tile_queries <= block.queries; i += tile_queries) score_rows<tile_queries>(sizes, block, prepared, i);
  for (; i < block.queries; ++i) score_rows<1>(sizes, block, prepared, i);
  const T largest_key = largest_of(block.largest, block.keys);
  for (i = 0; i < block.queries; ++i) {
    if (!prepared.direct && !cancels(prepared.largest[i], largest_key)) continue;
    for (std::int64_t j = 0; j < block.keys; ++j)
      if (prepared.direct || cancels(prepared.largest[i], block.largest[j]))
        block.scores[i * block.scores_stride + j] =
            direct_score(sizes.hidden, block.query + i * block.query_stride, block.key + j * block.key_stride, prepared.energy);
  }
}

template <class T>
std::int64_t score_scratch(const AdditiveSizes& sizes) {
  const std::int64_t padded = panel_count(sizes.hidden, units<T>()) * units<T>();
  return padded * (2 * additive_block_queries + 1) + additive_block_queries + boundary_slack;
}

// --- backward ------------------------------------------------------------------------------------------------------------------------

// One vector of units of all rows.
template <class T>
struct UnitRows {
  T* exponentials;  // [rows][lanes]
  T* gradient;      // [rows][lanes], without the factor 4 · energy
  T* largest;       // [rows], where some pair may cancel
};

// Rows of score gradients for some queries: ds of query r and key j is data[r · stride + j].
template <class T>
struct ScoreGradients {
  const T* data;
  std::int64_t stride;
};

template <class T>
struct UnitBackward {
  UnitRows<T> query, key;
  T* rest;  // [tile queries][keys]
  std::int64_t count;
  hn::Vec<UnitVector<T>> fractions;  // Σ_ij ds_ij r_ij
  bool some_cancel;
};

template <class T>
std::int64_t backward_scratch(std::int64_t queries, std::int64_t keys) {
  return (queries + keys) * (2 * units<T>() + 1) + tile_queries * keys + boundary_slack;
}

// Returns the largest magnitude of all rows.
template <bool negative, class T>
HWY_INLINE T take_units(std::int64_t rows, const T* from, std::int64_t stride, std::int64_t count, const UnitRows<T>& to) {
  const UnitVector<T> d;
  auto largest = hn::Zero(d);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto x = load_units(from + i * stride, count);
    largest = hn::Max(largest, hn::Abs(x));
    hn::Store(bounded_exponential<negative>(d, x), d, to.exponentials + i * units<T>());
    hn::Store(hn::Zero(d), d, to.gradient + i * units<T>());
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

template <class T>
HWY_INLINE void largest_of_rows(std::int64_t rows, const T* from, std::int64_t stride, std::int64_t count, T* largest) {
  const UnitVector<T> d;
  for (std::int64_t i = 0; i < rows; ++i) largest[i] = hn::GetLane(hn::MaxOfLanes(d, hn::Abs(load_units(from + i * stride, count))));
}

template <class T>
HWY_INLINE UnitBackward<T> begin_units(const AdditiveSizes& sizes, const AdditiveScoresBackward<T>& block) {
  const std::int64_t lanes = units<T>(), a = block.first_unit;
  T* const query = on_boundary(block.scratch);
  T* const key = query + block.queries * 2 * lanes;
  T* const largest = key + block.keys * 2 * lanes;
  UnitBackward<T> of{{query, query + block.queries * lanes, largest}, {key, key + block.keys * lanes, largest + block.queries},
                     largest + block.queries + block.keys, sizes.hidden - a, hn::Zero(UnitVector<T>()), false};
  const T largest_query = take_units<true>(block.queries, block.query + a, block.query_stride, of.count, of.query);
  const T largest_key = take_units<false>(block.keys, block.key + a, block.key_stride, of.count, of.key);
  of.some_cancel = cancels(largest_query, largest_key);
  if (of.some_cancel) {
    largest_of_rows(block.queries, block.query + a, block.query_stride, of.count, of.query.largest);
    largest_of_rows(block.keys, block.key + a, block.key_stride, of.count, of.key.largest);
  }
  return of;
}

// Queries `first` … first + rows − 1 with all keys.
template <std::int64_t rows, class T>
HWY_INLINE void add_gradients(const ScoreGradients<T>& scores, std::int64_t first, std::int64_t keys, UnitBackward<T>& of) {
  const UnitVector<T> d;
  const std::int64_t lanes = units<T>();
  const auto one = hn::Set(d, 1);
  hn::Vec<UnitVector<T>> q[rows], of_query[rows], fractions[rows];
  for (std::int64_t r = 0; r < rows; ++r) {
    q[r] = hn::Load(d, of.query.exponentials + (first + r) * lanes);
    of_query[r] = hn::Load(d, of.query.gradient + (first + r) * lanes);
    fractions[r] = hn::Zero(d);
  }
  for (std::int64_t j = 0; j < keys; ++j) {
    const auto k = hn::Load(d, of.key.exponentials + j * lanes);
    auto of_key = hn::Load(d, of.key.gradient + j * lanes);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto fraction = hn::Mul(q[r], reciprocal(d, hn::Add(q[r], k)));
      const auto part = hn::Mul(hn::Set(d, scores.data[r * scores.stride + j]), fraction);
      const auto slope = hn::Mul(part, hn::Sub(one, fraction));
      fractions[r] = hn::Add(fractions[r], part);
      of_query[r] = hn::Add(of_query[r], slope);
      of_key = hn::Add(of_key, slope);
    }
    hn::Store(of_key, d, of.key.gradient + j * lanes);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    of.fractions = hn::Add(of.fractions, fractions[r]);
    hn::Store(of_query[r], d, of.query.gradient + (first + r) * lanes);
  }
}

// What pairs that cancel add; the gradients of the other scores come back, with 0 for those.
template <class T>
HWY_INLINE ScoreGradients<T> add_direct_gradients(const AdditiveScoresBackward<T>& block, const ScoreGradients<T>& scores, std::int64_t first,
                                                  std::int64_t rows, UnitBackward<T>& of) {
  const UnitVector<T> d;
  const std::int64_t lanes = units<T>();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < block.keys; ++j) {
      const T ds = scores.data[r * scores.stride + j];
      const bool direct = cancels(of.query.largest[first + r], of.key.largest[j]);
      of.rest[r * block.keys + j] = direct ? T(0) : ds;
      if (!direct) continue;
      const auto fraction = fraction_of_sum(d, load_units(block.query + (first + r) * block.query_stride + block.first_unit, of.count),
                                            load_units(block.key + j * block.key_stride + block.first_unit, of.count));
      const auto part = hn::Mul(hn::Set(d, ds), fraction), slope = hn::Mul(part, hn::Sub(hn::Set(d, 1), fraction));
      of.fractions = hn::Add(of.fractions, part);
      for (T* gradient : {of.query.gradient + (first + r) * lanes, of.key.gradient + j * lanes})
        hn::Store(hn::Add(hn::Load(d, gradient), slope), d, gradient);
    }
  return {of.rest, block.keys};
}

template <class T>
HWY_INLINE T sum_of_gradients(const AdditiveScoresBackward<T>& block) {
  const UnitVector<T> d;
  const std::int64_t count = block.queries * block.scores_gradient_stride;
  auto sum = hn::Zero(d);
  for (std::int64_t j = 0; j < count; j += units<T>()) sum = hn::Add(sum, load_units(block.scores_gradient + j, count - j));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class T>
HWY_INLINE void store_gradients(const AdditiveSizes& sizes, const AdditiveScoresBackward<T>& block, const UnitBackward<T>& of) {
  const UnitVector<T> d;
  const std::int64_t lanes = units<T>(), a = block.first_unit;
  const auto scale = hn::Mul(hn::Set(d, 4), load_units(block.energy + a, of.count));
  for (std::int64_t i = 0; i < block.queries; ++i)
    store_units(hn::Mul(scale, hn::Load(d, of.query.gradient + i * lanes)), block.query_gradient + i * sizes.hidden + a, of.count);
  for (std::int64_t j = 0; j < sizes.keys; ++j)
    store_units(j < block.keys ? hn::Mul(scale, hn::Load(d, of.key.gradient + j * lanes)) : hn::Zero(d), block.key_gradient + j * sizes.hidden + a, of.count);
  store_units(hn::Sub(hn::Set(d, sum_of_gradients(block)), hn::Add(of.fractions, of.fractions)), block.energy_gradient + a, of.count);
}

template <class T>
void backward_units(const AdditiveSizes& sizes, const AdditiveScoresBackward<T>& block) {
  UnitBackward<T> of = begin_units(sizes, block);
  for (std::int64_t i = 0; i < block.queries;) {
    const std::int64_t rows = i + tile_queries <= block.queries ? tile_queries : 1;
    ScoreGradients<T> scores{block.scores_gradient + i * block.scores_gradient_stride, block.scores_gradient_stride};
    if (of.some_cancel) scores = add_direct_gradients(block, scores, i, rows, of);
    if (rows == tile_queries)
      add_gradients<tile_queries>(scores, i, block.keys, of);
    else
      add_gradients<1>(scores, i, block.keys, of);
    i += rows;
  }
  store_gradients(sizes, block, of);
}

std::int64_t units_float() { return units<float>(); }
std::int64_t units_double() { return units<double>(); }
std::int64_t exponentials_size_float(const AdditiveSizes& sizes) {
  return panel_count(sizes.hidden, units<float>()) * whole_tiles(sizes.keys) * units<float>();
}
std::int64_t exponentials_size_double(const AdditiveSizes& sizes) {
  return panel_count(sizes.hidden, units<double>()) * whole_tiles(sizes.keys) * units<double>();
}
void exponentials_float(const AdditiveSizes& sizes, std::int64_t first, std::int64_t count, const float* key, std::int64_t stride, float* to, float* largest) {
  exponentials_of_keys(sizes, first, count, key, stride, to, largest);
}
void exponentials_double(const AdditiveSizes& sizes, std::int64_t first, std::int64_t count, const double* key, std::int64_t stride, double* to,
                         double* largest) {
  exponentials_of_keys(sizes, first, count, key, stride, to, largest);
}
std::int64_t score_scratch_float(const AdditiveSizes& sizes) { return score_scratch<float>(sizes); }
std::int64_t score_scratch_double(const AdditiveSizes& sizes) { return score_scratch<double>(sizes); }
void scores_float(const AdditiveSizes& sizes, const AdditiveScores<float>& block) { score_block(sizes, block); }
void scores_double(const AdditiveSizes& sizes, const AdditiveScores<double>& block) { score_block(sizes, block); }
std::int64_t backward_scratch_float(std::int64_t queries, std::int64_t keys) { return backward_scratch<float>(queries, keys); }
std::int64_t backward_scratch_double(std::int64_t queries, std::int64_t keys) { return backward_scratch<double>(queries, keys); }
void scores_backward_float(const AdditiveSizes& sizes, const AdditiveScoresBackward<float>& block) { backward_units(sizes, block); }
void scores_backward_double(const AdditiveSizes& sizes, const AdditiveScoresBackward<double>& block) { backward_units(sizes, block); }

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {

HWY_EXPORT(units_float);
HWY_EXPORT(units_double);
HWY_EXPORT(exponentials_size_float);
HWY_EXPORT(exponentials_size_double);
HWY_EXPORT(exponentials_float);
HWY_EXPORT(exponentials_double);
HWY_EXPORT(score_scratch_float);
HWY_EXPORT(score_scratch_double);
HWY_EXPORT(scores_float);
HWY_EXPORT(scores_double);
HWY_EXPORT(backward_scratch_float);
HWY_EXPORT(backward_scratch_double);
HWY_EXPORT(scores_backward_float);
HWY_EXPORT(scores_backward_double);

template <>
std::int64_t additive_units<float>() {
  return HWY_DYNAMIC_DISPATCH(units_float)();
}
template <>
std::int64_t additive_units<double>() {
  return HWY_DYNAMIC_DISPATCH(units_double)();
}
template <>
std::int64_t additive_exponentials_size<float>(const AdditiveSizes& sizes) {
  return HWY_DYNAMIC_DISPATCH(exponentials_size_float)(sizes);
}
template <>
std::int64_t additive_exponentials_size<double>(const AdditiveSizes& sizes) {
  return HWY_DYNAMIC_DISPATCH(exponentials_size_double)(sizes);
}
template <>
std::int64_t additive_scores_scratch_size<float>(const AdditiveSizes& sizes) {
  return HWY_DYNAMIC_DISPATCH(score_scratch_float)(sizes);
}
template <>
std::int64_t additive_scores_scratch_size<double>(const AdditiveSizes& sizes) {
  return HWY_DYNAMIC_DISPATCH(score_scratch_double)(sizes);
}
template <>
std::int64_t additive_backward_scratch_size<float>(std::int64_t queries, std::int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(backward_scratch_float)(queries, keys);
}
template <>
std::int64_t additive_backward_scratch_size<double>(std::int64_t queries, std::int64_t keys) {
  return HWY_DYNAMIC_DISPATCH(backward_scratch_double)(queries, keys);
}

void additive_exponentials(const AdditiveSizes& sizes, std::int64_t first_key, std::int64_t count, const float* key, std::int64_t key_stride, float* to,
                           float* largest) {
  HWY_DYNAMIC_DISPATCH(exponentials_float)(sizes, first_key, count, key, key_stride, to, largest);
}
void additive_exponentials(const AdditiveSizes& sizes, std::int64_t first_key, std::int64_t count, const double* key, std::int64_t key_stride, double* to,
                           double* largest) {
  HWY_DYNAMIC_DISPATCH(exponentials_double)(sizes, first_key, count, key, key_stride, to, largest);
}
void additive_scores(const AdditiveSizes& sizes, const AdditiveScores<float>& block) { HWY_DYNAMIC_DISPATCH(scores_float)(sizes, block); }
void additive_scores(const AdditiveSizes& sizes, const AdditiveScores<double>& block) { HWY_DYNAMIC_DISPATCH(scores_double)(sizes, block); }
void additive_scores_backward(const AdditiveSizes& sizes, const AdditiveScoresBackward<float>& block) {
  HWY_DYNAMIC_DISPATCH(scores_backward_float)(sizes, block);
}
void additive_scores_backward(const AdditiveSizes& sizes, const AdditiveScoresBackward<double>& block) {
  HWY_DYNAMIC_DISPATCH(scores_backward_double)(sizes, block);
}

}  // namespace attend::kernels
#endif
