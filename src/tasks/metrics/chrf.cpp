#include "attend/tasks/metrics/chrf.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "tasks/metrics/segment.h"

namespace attend::tasks {
namespace {

std::u32string characters(std::string_view text, const ChrfOptions& options) {
  std::u32string points = code_points(options.lower_case ? data::lower_case(text) : std::string(text));
  if (!options.spaces) std::erase_if(points, is_space);
  return points;
}

std::vector<Chrf::Counts> count(const std::u32string& hypothesis, const std::u32string& reference, std::int64_t order) {
  std::vector<Chrf::Counts> counts;
  for (std::size_t n = 1; n <= static_cast<std::size_t>(order); ++n) {
    const std::int64_t in_reference = number_of_ngrams(reference.size(), n);
    // an item whose reference is too short doesn't count against the hypothesis
    const std::int64_t in_hypothesis = in_reference == 0 ? 0 : number_of_ngrams(hypothesis.size(), n);
    counts.push_back(
        {in_hypothesis, in_reference, count_matches(count_ngrams<char32_t>(hypothesis, n), count_ngrams<char32_t>(reference, n))});
  }
  return counts;
}

}  // namespace

void check(const ChrfOptions& options) {
  if (options.order < 1 || options.order > 16) throw InvalidArgument(format("order: expected 1 to 16, got {}", options.order));
  if (!(options.beta > 0 && options.beta <= 1000))
    throw InvalidArgument(format("beta: expected a number above 0 and up to 1000, got {}", options.beta));
}

Chrf::Chrf(const ChrfOptions& options) : options_(options) {
  check(options);
  counts_.resize(static_cast<std::size_t>(options.order));
}

void Chrf::add(std::string_view hypothesis, const std::vector<std::string>& references) {
  if (references.empty()) throw InvalidArgument("attend::tasks::Chrf::add: expected at least one reference, got none");
  const std::u32string given = characters(hypothesis, options_);
  std::vector<Counts> best;
  double best_score = -1;
  for (const std::string& reference : references) {
    std::vector<Counts> counts = count(given, characters(reference, options_), options_.order);
    if (const double score = score_of(counts); score > best_score) best_score = score, best = std::move(counts);
  }
  const auto number = static_cast<std::int64_t>(references.size());
  references_ = items_ == 0 || references_ == number ? number : -1;
  ++items_;
  for (std::size_t i = 0; i < best.size(); ++i) {
    counts_[i].hypothesis += best[i].hypothesis;
    counts_[i].reference += best[i].reference;
    counts_[i].matches += best[i].matches;
  }
}

double Chrf::score_of(const std::vector<Counts>& counts) const {
  double precision = 0, recall = 0, orders = 0;
  for (const Counts& n : counts) {
    if (n.hypothesis == 0 || n.reference == 0) continue;
    precision += static_cast<double>(n.matches) / static_cast<double>(n.hypothesis);
    recall += static_cast<double>(n.matches) / static_cast<double>(n.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const double factor = options_.beta * options_.beta;
  return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

double Chrf::score() const { return score_of(counts_); }

std::string Chrf::signature() const {
  return format("nrefs:{}|case:{}|eff:yes|nc:{}|nw:0|space:{}", references_ < 0 ? "var" : std::to_string(references_),
                options_.lower_case ? "lc" : "mixed", options_.order, options_.spaces ? "yes" : "no");
}

}  // namespace attend::tasks
