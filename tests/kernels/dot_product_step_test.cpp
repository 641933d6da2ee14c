#include "kernels/dot_product_step.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/kernels/dot_product_case.h"
#include "tests/kernels/targets.h"
#include "tests/reference/tolerance.h"

namespace attend::kernels {
namespace {

template <class T>
struct StepOutcome {
  std::vector<T> context;
  bool finite = true;
};

// The queries of a case, all on one key head, with its keys and values as they are stored.
template <class T>
StepOutcome<T> read_in_parts(const DotProductCase<T>& given, Storage storage, const void* key, const void* value) {
  const DotProductSizes& sizes = given.options.sizes;
  const std::int64_t queries = given.options.queries, parts = (sizes.keys + dot_product_part_keys - 1) / dot_product_part_keys;
  const std::vector<QueryRow<T>> rows = given.rows();
  std::vector<const T*> query;
  for (std::int64_t i = 0; i < queries; ++i) query.push_back(given.query.data() + i * sizes.key_width);
  const auto numbers = [](std::int64_t count) { return std::vector<T>(static_cast<std::size_t>(count), std::numeric_limits<T>::quiet_NaN()); };
  std::vector<T> largest = numbers(parts * queries), sums = numbers(parts * queries), contexts = numbers(parts * queries * sizes.value_width);
  std::vector<T> scratch = numbers(dot_product_part_scratch);
  StepOutcome<T> outcome{numbers(queries * sizes.value_width)};
  for (std::int64_t p = 0; p < parts; ++p) {
    DotProductPart<T> part;
    part.queries = queries, part.query = query.data();
    part.storage = storage, part.key = key, part.value = value;
    part.key_stride = sizes.key_width, part.value_stride = sizes.value_width;
    part.first_key = p * dot_product_part_keys, part.keys = std::min(dot_product_part_keys, sizes.keys - part.first_key);
    part.form = given.form();
    part.rows = rows.empty() ? nullptr : rows.data();
    part.largest = largest.data() + p * queries, part.sums = sums.data() + p * queries;
    part.contexts = contexts.data() + p * queries * sizes.value_width;
    part.scratch = scratch.data();
    outcome.finite = dot_product_part(sizes, part) && outcome.finite;
  }
  for (std::int64_t i = 0; i < queries; ++i)
    outcome.finite = merge_parts(parts, queries, sizes.value_width, largest.data() + i, sums.data() + i, contexts.data() + i * sizes.value_width,
                                 outcome.context.data() + i * sizes.value_width) &&
                     outcome.finite;
  return outcome;
}

template <class T>
StepOutcome<T> read_in_parts(const DotProductCase<T>& given) {
  return read_in_parts(given, Storage::same, given.key.data(), given.value.data());
}

template <class T>
void expect_step(const DotProductCase<T>& given, const StepOutcome<T>& got) {
  const reference::Type type = sizeof(T) == 4 ? reference::Type::float32 : reference::Type::float64;
  EXPECT_TRUE(got.finite) << text_of(given.options);
  EXPECT_EQ(reference::difference("context", {got.context.begin(), got.context.end()}, context_by_definition(given),
                                  reference::tolerance(type, given.options.sizes.keys)),
            "")
      << text_of(given.options);
}

std::vector<DotProductOptions> steps() {
  std::vector<DotProductOptions> all;
  for (const DotProductSizes& sizes : {DotProductSizes{1, 1, 1}, DotProductSizes{65, 8, 70}, DotProductSizes{1100, 33, 64}})
    for (const std::int64_t queries : {1, 3, 8}) {
      const DotProductOptions plain{.queries = queries, .sizes = sizes};
      const auto with = [&](const auto& change) { change(all.emplace_back(plain)); };
      with([](DotProductOptions&) {});
      with([](DotProductOptions& o) { o.soft_cap = 3, o.bias = true, o.keep = Keep::rows; });
      with([](DotProductOptions& o) { o.spans = true, o.left = 600; });
      with([](DotProductOptions& o) { o.spans = o.factors = o.renormalised = true, o.left = 70, o.dropout = 0.4; });
    }
  return all;
}

TEST(DotProductStep, EqualsTheDefinitionOnEveryTarget) {
  for_each_target([] {
    for (const DotProductOptions& options : steps()) {
      const DotProductCase<float> narrow(options);
      expect_step(narrow, read_in_parts(narrow));
      const DotProductCase<double> wide(options);
      expect_step(wide, read_in_parts(wide));
    }
  });
}

// Rounds to what the storage holds, in place too.
std::vector<std::uint16_t> stored(Storage storage, std::vector<float>& numbers) {
  std::vector<std::uint16_t> halves;
  for (float& number : numbers) {
    if (storage == Storage::bfloat16) {
      halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16));
      number = std::bit_cast<float>(std::uint32_t{halves.back()} << 16);
    } else {
      // 11 bits of it; what is below the least normal number becomes 0
      int exponent = 0;
      const int mantissa = static_cast<int>(std::frexp(std::abs(number), &exponent) * 2048);
      const bool normal = exponent > -14;
      const int bits = normal ? ((exponent + 14) << 10) + (mantissa - 1024) : 0;
      halves.push_back(static_cast<std::uint16_t>(bits | (number < 0 ? 0x8000 : 0)));
      number = normal ? std::copysign(std::ldexp(static_cast<float>(mantissa), exponent - 11), number) : 0.0f;
    }
  }
  return halves;
}

TEST(DotProductStep, ReadsHalvesAsTheNumbersThatTheyHold) {
  for_each_target([] {
    for (const Storage storage : {Storage::bfloat16, Storage::float16})
      for (const DotProductOptions& options : steps()) {
        DotProductCase<float> given(options);
        const std::vector<std::uint16_t> key = stored(storage, given.key), value = stored(storage, given.value);
        expect_step(given, read_in_parts(given, storage, key.data(), value.data()));
      }
  });
}

TEST(DotProductStep, SaysWhereANumberInSightIsNotFinite) {
  for_each_target([] {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
      const DotProductOptions options{.queries = 1, .sizes = {600, 8, 8}, .spans = true, .left = 99};  // keys 500 … 599
      for (const std::size_t key : {std::size_t(0), std::size_t(499), std::size_t(500), std::size_t(599)})
        for (const bool in_value : {false, true}) {
          DotProductCase<float> given(options);
          (in_value ? given.value : given.key)[key * 8 + 3] = bad;
          EXPECT_EQ(read_in_parts(given).finite, key < 500) << bad << " at key " << key << (in_value ? ", value" : "");
        }
      DotProductCase<float> given(options);
      given.query[2] = bad;
      EXPECT_FALSE(read_in_parts(given).finite);
    }
  });
}

}  // namespace
}  // namespace attend::kernels
