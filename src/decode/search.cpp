#include "attend/decode/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "attend/base/error.h"

namespace attend::decode {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

double length_penalty(std::size_t length, double alpha) {
  return alpha == 0 ? 1.0 : std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

// The tokens of a hypothesis, last first; hypotheses with a common beginning share it.
struct Node {
  std::int64_t token;
  Tensor alignment;
  std::shared_ptr<const Node> before;
};

struct Open {
  std::shared_ptr<const Node> last;
  std::size_t length = 0;
  double log_probability = 0;
};

Hypothesis hypothesis_of(const Open& open, bool ended, double alpha) {
  Hypothesis result;
  std::vector<Tensor> rows;
  for (const Node* node = open.last.get(); node != nullptr; node = node->before.get()) {
    result.tokens.push_back(node->token);
    if (node->alignment.defined()) rows.push_back(node->alignment);
  }
  std::reverse(result.tokens.begin(), result.tokens.end());
  std::reverse(rows.begin(), rows.end());
  if (!rows.empty()) result.alignment = at::stack(rows);
  result.log_probability = open.log_probability;
  // the end counts as a token: it was paid for
  result.score = open.log_probability / length_penalty(open.length + (ended ? 1 : 0), alpha);
  result.ended = ended;
  return result;
}

// One source and its hypotheses.
struct Source {
  std::int64_t longest = 0;
  std::vector<Open> open;
  std::vector<Hypothesis> finished;  // best first
};

class Search {
 public:
  Search(const Stepper& stepper, const std::vector<std::int64_t>& longest, const SearchOptions& options)
      : stepper_(stepper), options_(options), sources_(longest.size()) {
    for (std::size_t i = 0; i < longest.size(); ++i) {
      sources_[i].longest = longest[i];
      sources_[i].open.push_back({});
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < sources_.size(); ++i) active.push_back(i);
    while (!active.empty()) active = advance(active);
    std::vector<std::vector<Hypothesis>> results;
    for (Source& source : sources_) {
      if (static_cast<std::int64_t>(source.finished.size()) > options_.n_best) source.finished.resize(static_cast<std::size_t>(options_.n_best));
      results.push_back(std::move(source.finished));
    }
    return results;
  }

 private:
  struct Candidate {
    std::size_t row;  // of the step
    std::size_t parent;
    std::int64_t token;
    double log_probability;
  };

  // One step of all open hypotheses; → the sources that go on.
  std::vector<std::size_t> advance(const std::vector<std::size_t>& active) {
    std::vector<std::int64_t> previous;
    for (const std::size_t i : active)
      for (const Open& open : sources_[i].open) previous.push_back(open.last ? open.last->token : options_.begin);
    const Tensor log_probabilities = stepper_.step(at::tensor(previous, at::kLong));              // [N, V]
    const Tensor weights = stepper_.alignment ? stepper_.alignment().to(at::kCPU, at::kFloat) : Tensor();
    auto [values, tokens] = best_tokens(log_probabilities);                                       // [N, 2 · beam] each
    const auto value = values.accessor<double, 2>();
    const auto token = tokens.accessor<std::int64_t, 2>();

    std::vector<std::size_t> still_active;
    std::vector<std::int64_t> kept_rows;
    std::size_t row = 0;
    for (const std::size_t i : active) {
      Source& source = sources_[i];
      std::vector<Candidate> candidates;
      for (std::size_t parent = 0; parent < source.open.size(); ++parent, ++row)
        for (std::int64_t k = 0; k < values.size(1); ++k)
          if (value[static_cast<std::int64_t>(row)][k] > minus_infinity)
            candidates.push_back({row, parent, token[static_cast<std::int64_t>(row)][k],
                                  source.open[parent].log_probability + value[static_cast<std::int64_t>(row)][k]});
      extend(source, candidates, weights, kept_rows);
      if (!source.open.empty()) still_active.push_back(i);
    }
    const bool unchanged = kept_rows.size() == previous.size() && std::is_sorted(kept_rows.begin(), kept_rows.end()) &&
                           std::adjacent_find(kept_rows.begin(), kept_rows.end()) == kept_rows.end();
    if (!unchanged && !kept_rows.empty()) stepper_.reorder(at::tensor(kept_rows, at::kLong));
    return still_active;
  }

  // The best tokens of each row: enough for `beam` that go on beside `beam` that end. Ties go to the lowest token.
  std::pair<Tensor, Tensor> best_tokens(const Tensor& log_probabilities) const {
    Tensor scores = log_probabilities.to(at::kCPU, at::kDouble);
    scores = at::where(scores.isnan(), at::scalar_tensor(minus_infinity, scores.options()), scores).contiguous();
    for (const std::int64_t token : options_.forbidden)
      if (token < scores.size(1)) scores.select(1, token).fill_(minus_infinity);
    if (options_.beam == 1) {
      auto [value, place] = scores.max(1, /*keepdim=*/true);  // the first of equals
      return {value, place};
    }
    auto [value, place] = scores.sort(/*stable=*/c10::optional<bool>(true), /*dim=*/1, /*descending=*/true);
    const std::int64_t kept = std::min<std::int64_t>(2 * options_.beam, scores.size(1));
    return {value.slice(1, 0, kept).contiguous(), place.slice(1, 0, kept).contiguous()};
  }

  // Replaces the open hypotheses of a source by the best of their continuations; those that end are finished.
  void extend(Source& source, std::vector<Candidate>& candidates, const Tensor& weights, std::vector<std::int64_t>& kept_rows) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.log_probability > b.log_probability; });
    const std::vector<Open> before = std::exchange(source.open, {});
    const auto width = static_cast<std::size_t>(options_.beam);
    std::vector<std::int64_t> rows;
    for (std::size_t rank = 0; rank < candidates.size() && source.open.size() < width; ++rank) {
      const Candidate& candidate = candidates[rank];
      const Open& parent = before[candidate.parent];
      if (candidate.token == options_.end) {
        // an end among those that wouldn't have been kept is no better than what goes on
        if (rank < width) finish(source, {parent.last, parent.length, candidate.log_probability}, true);
        continue;
      }
      const Tensor row = weights.defined() ? weights.select(0, static_cast<std::int64_t>(candidate.row)).clone() : Tensor();
      const Open longer{std::make_shared<Node>(Node{candidate.token, row, parent.last}), parent.length + 1, candidate.log_probability};
      if (static_cast<std::int64_t>(longer.length) >= source.longest) {
        finish(source, longer, false);
        continue;
      }
      source.open.push_back(longer);
      rows.push_back(static_cast<std::int64_t>(candidate.row));
      if (options_.beam == 1) break;
    }
    if (candidates.empty() && source.finished.empty() && !before.empty()) finish(source, before.front(), false);
    if (is_decided(source))
      source.open.clear();
    else
      kept_rows.insert(kept_rows.end(), rows.begin(), rows.end());
  }

  void finish(Source& source, const Open& open, bool ended) {
    Hypothesis hypothesis = hypothesis_of(open, ended, options_.length_penalty);
    // what ended by itself comes before what was cut
    const auto place = std::find_if(source.finished.begin(), source.finished.end(), [&](const Hypothesis& other) {
      return other.ended == hypothesis.ended ? hypothesis.score > other.score : hypothesis.ended;
    });
    source.finished.insert(place, std::move(hypothesis));
  }

  // Whether no open hypothesis can enter the n best any more.
  bool is_decided(const Source& source) const {
    if (source.open.empty()) return true;
    if (options_.beam == 1) return !source.finished.empty();
    const auto wanted = static_cast<std::size_t>(options_.n_best);
    std::size_t ended = 0;
    while (ended < source.finished.size() && source.finished[ended].ended) ++ended;
    if (ended < wanted) return false;
    const double worst = source.finished[wanted - 1].score;
    // log-probabilities only fall; the longest length divides them by most
    const double bound = source.open.front().log_probability /
                         length_penalty(static_cast<std::size_t>(source.longest) + 1, std::max(options_.length_penalty, 0.0));
    return worst >= bound;
  }

  const Stepper& stepper_;
  const SearchOptions& options_;
  std::vector<Source> sources_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> search(const Stepper& stepper, const std::vector<std::int64_t>& longest, const SearchOptions& options) {
  if (options.beam < 1) throw InvalidArgument(format("attend::decode::search: expected beam ≥ 1, got {}", options.beam));
  if (options.n_best < 1 || options.n_best > options.beam)
    throw InvalidArgument(format("attend::decode::search: expected n_best from 1 to the beam ({}), got {}", options.beam, options.n_best));
  if (!(options.length_penalty >= 0 && std::isfinite(options.length_penalty)))
    throw InvalidArgument(format("attend::decode::search: expected length_penalty ≥ 0, got {}", options.length_penalty));
  for (const std::int64_t most : longest)
    if (most < 1) throw InvalidArgument(format("attend::decode::search: expected longest ≥ 1 for each source, got {}", most));
  return Search(stepper, longest, options).run();
}

}  // namespace attend::decode
