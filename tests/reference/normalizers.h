// How the visible scores of one row become weights, as loops over plain numbers: no libtorch, nothing shared with the library.
#pragma once

#include <cstdint>
#include <vector>

namespace attend::reference {

std::vector<double> softmax_row(const std::vector<double>& scores);

// max((α − 1) s − τ, 0)^(1 / (α − 1)), the threshold by bisection in long double; α = 2 is sparsemax.
std::vector<double> entmax_row(const std::vector<double>& scores, double alpha);

std::vector<double> uniform_row(const std::vector<double>& scores);

// One-hot of the largest, the first of those that tie.
std::vector<double> hard_max_row(const std::vector<double>& scores);

// What seed and place decide for a row of hard_sample: a number in [0, 1) that chooses the key, and the word that chooses the expected value.
struct RowDraw {
  double share;
  std::uint32_t word;
};
RowDraw row_draw(std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i);

// The first place whose running sum of probabilities exceeds `share`.
std::size_t drawn_place(const std::vector<double>& scores, double share);
std::vector<double> hard_sample_row(const std::vector<double>& scores, std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i);

// −Σ p log p of the softmax.
double entropy_of(const std::vector<double>& scores);

}  // namespace attend::reference
