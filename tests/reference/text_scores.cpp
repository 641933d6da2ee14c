#include "tests/reference/text_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace attend::reference {
namespace {

template <class Sequence>
bool same(const Sequence& a, std::size_t i, const Sequence& b, std::size_t j, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k)
    if (a[i + k] != b[j + k]) return false;
  return true;
}

// How often the n-gram at place i of `a` stands in `b` before the place `end`.
template <class Sequence>
int occurrences(const Sequence& a, std::size_t i, const Sequence& b, std::size_t end, std::size_t n) {
  int found = 0;
  for (std::size_t j = 0; j < end && j + n <= b.size(); ++j) found += same(a, i, b, j, n);
  return found;
}

std::size_t places(std::size_t length, std::size_t n) { return length < n ? 0 : length - n + 1; }

}  // namespace

double bleu(const std::vector<Sentence>& hypotheses, const std::vector<std::vector<Sentence>>& references, int order) {
  double log_sum = 0, c = 0, r = 0;
  for (std::size_t n = 1; n <= static_cast<std::size_t>(order); ++n) {
    double right = 0, all = 0;
    for (std::size_t s = 0; s < hypotheses.size(); ++s) {
      const Sentence& words = hypotheses[s];
      for (std::size_t i = 0; i < places(words.size(), n); ++i) {
        int most = 0;
        for (const Sentence& reference : references[s]) most = std::max(most, occurrences(words, i, reference, reference.size(), n));
        right += occurrences(words, i, words, i, n) < most;  // the k-th of its kind is right where a reference has more than k
        ++all;
      }
    }
    if (right == 0) return 0;
    log_sum += std::log(right / all);
  }
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    const double length = static_cast<double>(hypotheses[s].size());
    double nearest = -1;
    for (const Sentence& reference : references[s]) {
      const double other = static_cast<double>(reference.size());
      const double gain = std::abs(other - length) - std::abs(nearest - length);
      if (nearest < 0 || gain < 0 || (gain == 0 && other < nearest)) nearest = other;
    }
    c += length;
    r += nearest;
  }
  return 100 * std::min(1.0, std::exp(1 - r / c)) * std::exp(log_sum / order);
}

double chrf(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, int order, double beta) {
  double precisions = 0, recalls = 0, used = 0;
  for (std::size_t n = 1; n <= static_cast<std::size_t>(order); ++n) {
    double right = 0, of_hypotheses = 0, of_references = 0;
    for (std::size_t s = 0; s < hypotheses.size(); ++s) {
      const std::string &hypothesis = hypotheses[s], &reference = references[s];
      for (std::size_t i = 0; i < places(hypothesis.size(), n); ++i)
        right += occurrences(hypothesis, i, hypothesis, i, n) < occurrences(hypothesis, i, reference, reference.size(), n);
      of_references += static_cast<double>(places(reference.size(), n));
      if (reference.size() >= n) of_hypotheses += static_cast<double>(places(hypothesis.size(), n));
    }
    if (of_hypotheses == 0 || of_references == 0) continue;
    precisions += right / of_hypotheses;
    recalls += right / of_references;
    ++used;
  }
  if (precisions == 0) return 0;
  const double P = precisions / used, R = recalls / used;
  return 100 * (1 + beta * beta) * P * R / (beta * beta * P + R);
}

}  // namespace attend::reference
