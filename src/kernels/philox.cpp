#include "kernels/philox.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/philox.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

// What all targets share is compiled once.
#ifndef ATTEND_KERNELS_PHILOX_SHARED
#define ATTEND_KERNELS_PHILOX_SHARED
namespace attend::kernels {

constexpr int philox_rounds = 10;
constexpr std::uint32_t philox_multiplier0 = 0xd2511f53, philox_multiplier1 = 0xcd9e8d57;
constexpr std::uint32_t philox_step0 = 0x9e3779b9, philox_step1 = 0xbb67ae85;  // added to the key after each round
constexpr std::int64_t words_per_counter = 4;

// What the columns of a row have in common.
struct DropoutRow {
  std::uint64_t keys0[philox_rounds], keys1[philox_rounds];  // of each round, as wide as a lane: read with no conversion
  std::uint32_t batch, head, row;
  std::uint32_t threshold;  // words below it are dropped
  double multiplier;        // of what is kept
};

}  // namespace attend::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attend::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A lane of 64 bits holds one word in its low half, so that the product of two 32-bit words needs no shuffle. High halves hold rubbish
// that no operation carries into a low one. One lane is one counter, of four columns.
using Lanes = hn::ScalableTag<std::uint64_t>;
using Words = hn::VFromD<Lanes>;

HWY_INLINE Words product(Words words, std::uint32_t multiplier) {
#if HWY_TARGET == HWY_SCALAR  // has no half lanes to multiply
  return Words(std::uint64_t{static_cast<std::uint32_t>(hn::GetLane(words))} * multiplier);
#else
  const hn::Repartition<std::uint32_t, Lanes> halves;
  return hn::MulEven(hn::BitCast(halves, words), hn::Set(halves, multiplier));
#endif
}

HWY_INLINE Words random_bits(Words product, Words word, std::uint64_t key) {
  return hn::Xor(hn::Xor(hn::ShiftRight<32>(product), word), hn::Set(Lanes(), key));
}

// One multiplier for each lane's word, as lanes of T.
template <class T>
HWY_INLINE hn::VFromD<hn::Rebind<T, Lanes>> multipliers(const DropoutRow& row, Words words) {
  const hn::Rebind<T, Lanes> values;
  const auto kept = hn::Set(values, static_cast<T>(row.multiplier));
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    const hn::Rebind<std::uint32_t, Lanes> halves;
    return hn::IfThenZeroElse(hn::RebindMask(values, hn::Lt(hn::TruncateTo(halves, words), hn::Set(halves, row.threshold))), kept);
  } else {
    const Words word = hn::And(words, hn::Set(Lanes(), std::uint64_t{0xffffffff}));
    return hn::IfThenZeroElse(hn::RebindMask(values, hn::Lt(word, hn::Set(Lanes(), row.threshold))), kept);
  }
}

// The multipliers of the columns of counters first_counter, first_counter + 1, …: one counter for each lane.
template <class T>
HWY_INLINE void store_multipliers(const DropoutRow& row, std::uint64_t first_counter, T* out) {
  const Lanes lanes;
  Words word0 = hn::Set(lanes, row.batch);
  Words word1 = hn::Set(lanes, row.head);
  Words word2 = hn::Set(lanes, row.row);
  Words word3 = hn::Add(hn::Set(lanes, first_counter), hn::Iota(lanes, 0));  // Iota with a variable goes through memory and waits for it
  for (int i = 0; i < philox_rounds; ++i) {
    const Words product0 = product(word0, philox_multiplier0);
    const Words product1 = product(word2, philox_multiplier1);
    word0 = random_bits(product1, word1, row.keys0[i]);
    word2 = random_bits(product0, word3, row.keys1[i]);
    word1 = product1;
    word3 = product0;
  }
  hn::StoreInterleaved4(multipliers<T>(row, word0), multipliers<T>(row, word1), multipliers<T>(row, word2), multipliers<T>(row, word3),
                        hn::Rebind<T, Lanes>(), out);
}

template <class T>
HWY_INLINE void write_multipliers(const DropoutRow& row, std::int64_t first_column, std::int64_t count, T* out) {
  const std::int64_t at_once = words_per_counter * static_cast<std::int64_t>(hn::Lanes(Lanes()));
  std::int64_t skipped = first_column % words_per_counter;  // of the first counter's words
  std::uint64_t counter = static_cast<std::uint64_t>(first_column / words_per_counter);
  HWY_ALIGN T some[words_per_counter * hn::MaxLanes(Lanes())];
  while (count > 0) {
    const std::int64_t written = std::min(count, at_once - skipped);
    if (written == at_once) {
      store_multipliers(row, counter, out);
    } else {
      store_multipliers(row, counter, some);
      std::copy_n(some + skipped, written, out);
    }
    skipped = 0;
    counter += hn::Lanes(Lanes());
    count -= written;
    out += written;
  }
}

void write_float_multipliers(const DropoutRow& row, std::int64_t first_column, std::int64_t count, float* out) {
  write_multipliers(row, first_column, count, out);
}

void write_double_multipliers(const DropoutRow& row, std::int64_t first_column, std::int64_t count, double* out) {
  write_multipliers(row, first_column, count, out);
}

}  // namespace attend::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attend::kernels {
namespace {

HWY_EXPORT(write_float_multipliers);
HWY_EXPORT(write_double_multipliers);

constexpr double word_values = 4294967296.0;  // 2^32

DropoutRow row_of(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row) {
  DropoutRow result = {{}, {}, batch, head, row, static_cast<std::uint32_t>(probability * word_values), 1.0 / (1.0 - probability)};
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int i = 0; i < philox_rounds; ++i, key0 += philox_step0, key1 += philox_step1) result.keys0[i] = key0, result.keys1[i] = key1;
  return result;
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int i = 0; i < philox_rounds; ++i) {
    const std::uint64_t product0 = std::uint64_t{philox_multiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{philox_multiplier1} * counter[2];
    const auto high = [](std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); };
    counter = {high(product1) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1), high(product0) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += philox_step0, key[1] += philox_step1;
  }
  return counter;
}

// With probability 1 the threshold, 2^32, is no word: nothing is kept, and 1 / (1 - probability) isn't needed.
void dropout_multipliers(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row,
                         std::int64_t first_column, std::int64_t count, float* out) {
  if (probability >= 1.0) return std::fill_n(out, count, 0.0f), void();
  HWY_DYNAMIC_DISPATCH(write_float_multipliers)(row_of(seed, probability, batch, head, row), first_column, count, out);
}

void dropout_multipliers(std::uint64_t seed, double probability, std::uint32_t batch, std::uint32_t head, std::uint32_t row,
                         std::int64_t first_column, std::int64_t count, double* out) {
  if (probability >= 1.0) return std::fill_n(out, count, 0.0), void();
  HWY_DYNAMIC_DISPATCH(write_double_multipliers)(row_of(seed, probability, batch, head, row), first_column, count, out);
}

}  // namespace attend::kernels
#endif
