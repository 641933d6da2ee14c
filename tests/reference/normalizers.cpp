#include "tests/reference/normalizers.h"

#include <algorithm>
#include <cmath>

#include "tests/reference/philox.h"

namespace attend::reference {
namespace {

std::vector<double> one_hot(std::size_t size, std::size_t place) {
  std::vector<double> weights(size, 0.0);
  weights[place] = 1;
  return weights;
}

}  // namespace

std::vector<double> softmax_row(const std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  std::vector<double> weights;
  for (const double score : scores) weights.push_back(std::exp(score - largest) / sum);
  return weights;
}

std::vector<double> entmax_row(const std::vector<double>& scores, double alpha) {
  using Wide = long double;
  const Wide factor = static_cast<Wide>(alpha) - 1, largest = *std::max_element(scores.begin(), scores.end());
  const auto weight = [&](double score, Wide tau) {
    const Wide above = factor * (static_cast<Wide>(score) - largest) - tau;
    return above > 0 ? std::pow(above, 1 / factor) : Wide{0};
  };
  Wide low = -1, high = 0;  // the sum is at least 1 at the one and 0 at the other
  for (int i = 0; i < 90; ++i) {
    const Wide middle = (low + high) / 2;
    Wide sum = 0;
    for (const double score : scores) sum += weight(score, middle);
    (sum >= 1 ? low : high) = middle;
  }
  std::vector<double> weights;
  for (const double score : scores) weights.push_back(static_cast<double>(weight(score, low)));
  return weights;
}

std::vector<double> uniform_row(const std::vector<double>& scores) {
  return std::vector<double>(scores.size(), 1.0 / static_cast<double>(scores.size()));
}

std::vector<double> hard_max_row(const std::vector<double>& scores) {
  std::size_t best = 0;
  for (std::size_t j = 1; j < scores.size(); ++j)
    if (scores[j] > scores[best]) best = j;
  return one_hot(scores.size(), best);
}

RowDraw row_draw(std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i) {
  const auto word = [](std::int64_t place) { return static_cast<std::uint32_t>(place); };
  const auto words = philox4x32_10({word(b), word(h), word(i), 0},
                                   {static_cast<std::uint32_t>(seed & 0xFFFFFFFFu), static_cast<std::uint32_t>(seed >> 32)});
  const std::uint64_t bits = (static_cast<std::uint64_t>(words[0]) * 4294967296u + words[1]) / 2048;
  return {static_cast<double>(bits) / 9007199254740992.0, words[2]};
}

std::size_t drawn_place(const std::vector<double>& scores, double share) {
  const std::vector<double> weights = softmax_row(scores);
  double running = 0;
  for (std::size_t j = 0; j < weights.size(); ++j)
    if ((running += weights[j]) > share) return j;
  return weights.size() - 1;
}

std::vector<double> hard_sample_row(const std::vector<double>& scores, std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i) {
  return one_hot(scores.size(), drawn_place(scores, row_draw(seed, b, h, i).share));
}

double entropy_of(const std::vector<double>& scores) {
  double entropy = 0;
  for (const double p : softmax_row(scores))
    if (p > 0) entropy -= p * std::log(p);
  return entropy;
}

}  // namespace attend::reference
