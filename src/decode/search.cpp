#include "attend/decode/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "attend/decode/back_trace.h"

namespace attend::decode {
namespace {

constexpr auto search_name = "attend::decode::search";
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double least_coverage = 1e-10;

double length_penalty(std::size_t length, double alpha) {
  return alpha == 0 ? 1.0 : std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

struct Open {
  std::int64_t last = BackTrace::root;
  std::size_t length = 0;
  double log_probability = 0;
};

struct Finished {
  Open hypothesis;
  double score = 0;
  bool ended = false;
};

// One source and its hypotheses.
struct Source {
  std::int64_t number = 0, longest = 0;
  std::vector<Open> open;          // most probable first
  std::vector<Finished> finished;  // best first
};

struct Candidate {
  double log_probability;
  std::size_t parent;
  std::int64_t token;
};

// The most probable continuations of some hypotheses.
class Choice {
 public:
  Choice(std::size_t wanted, const std::vector<bool>& forbidden) : wanted_(wanted), forbidden_(forbidden) {}

  // `row`: the log-probability of each token after hypothesis `parent`. Equals keep the order of parent and token; NaN is never taken.
  template <class T>
  void add(std::size_t parent, double log_probability, const T* row) {
    for (std::size_t token = 0; token < forbidden_.size(); ++token) {
      const double sum = log_probability + static_cast<double>(row[token]);
      if (sum > exceeded_ && !forbidden_[token]) insert({sum, parent, static_cast<std::int64_t>(token)});
    }
  }
  const std::vector<Candidate>& best() const { return best_; }

 private:
  void insert(const Candidate& candidate) {
    const auto place = std::upper_bound(best_.begin(), best_.end(), candidate,
                                        [](const Candidate& a, const Candidate& b) { return a.log_probability > b.log_probability; });
    best_.insert(place, candidate);
    if (best_.size() > wanted_) best_.pop_back();
    if (best_.size() == wanted_) exceeded_ = best_.back().log_probability;
  }

  std::size_t wanted_;
  const std::vector<bool>& forbidden_;
  double exceeded_ = minus_infinity;
  std::vector<Candidate> best_;
};

class Search {
 public:
  Search(const Stepper& stepper, const std::vector<std::int64_t>& longest, const SearchOptions& options)
      : stepper_(stepper), options_(options), sources_(longest.size()) {
    for (std::size_t i = 0; i < longest.size(); ++i) sources_[i] = {static_cast<std::int64_t>(i), longest[i], {Open()}, {}};
  }

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<Source*> active;
    for (Source& source : sources_) active.push_back(&source);
    while (!active.empty()) active = advance(active);
    std::vector<std::vector<Hypothesis>> results(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i)
      for (const Finished& finished : sources_[i].finished)
        if (static_cast<std::int64_t>(results[i].size()) < options_.n_best) results[i].push_back(hypothesis_of(finished));
    return results;
  }

 private:
  // One step of all open hypotheses; → the sources that go on.
  std::vector<Source*> advance(const std::vector<Source*>& active) {
    std::vector<std::int64_t> previous, first_rows;
    for (const Source* source : active) {
      first_rows.push_back(static_cast<std::int64_t>(previous.size()));
      for (const Open& open : source->open) previous.push_back(open.last == BackTrace::root ? options_.begin : trace_[open.last].token);
    }
    Tensor log_probabilities = stepper_.step(at::tensor(previous, at::kLong)).to(at::kCPU);       // [N, V]
    if (log_probabilities.scalar_type() != at::kDouble) log_probabilities = log_probabilities.to(at::kFloat);
    if (stepper_.alignment) weights_.push_back(stepper_.alignment().to(at::kCPU, at::kFloat).contiguous());  // [N, Ls]
    const std::vector<std::vector<Candidate>> best = best_of_each(active, first_rows, log_probabilities.contiguous());

    std::vector<Source*> still_active;
    std::vector<std::int64_t> kept_rows;
    for (std::size_t i = 0; i < active.size(); ++i) {
      extend(*active[i], best[i], first_rows[i], kept_rows);
      if (!active[i]->open.empty()) still_active.push_back(active[i]);
    }
    const bool unchanged = kept_rows.size() == previous.size() && std::is_sorted(kept_rows.begin(), kept_rows.end()) &&
                           std::adjacent_find(kept_rows.begin(), kept_rows.end()) == kept_rows.end();
    if (!unchanged && !kept_rows.empty()) stepper_.reorder(at::tensor(kept_rows, at::kLong));
    return still_active;
  }

  // Enough continuations of each source for `beam` that go on beside `beam` that end.
  std::vector<std::vector<Candidate>> best_of_each(const std::vector<Source*>& active, const std::vector<std::int64_t>& first_rows,
                                                   const Tensor& log_probabilities) {
    const std::int64_t width = log_probabilities.size(1);
    const auto wanted = static_cast<std::size_t>(options_.beam == 1 ? 1 : 2 * options_.beam);
    if (forbidden_.empty()) {
      forbidden_.resize(static_cast<std::size_t>(width));
      for (const std::int64_t token : options_.forbidden)
        if (token < width) forbidden_[static_cast<std::size_t>(token)] = true;
    }
    std::vector<std::vector<Candidate>> best(active.size());
    const auto choose = [&](std::size_t i, const auto* rows) {
      Choice choice(wanted, forbidden_);
      const std::vector<Open>& open = active[i]->open;
      for (std::size_t parent = 0; parent < open.size(); ++parent)
        choice.add(parent, open[parent].log_probability, rows + (first_rows[i] + static_cast<std::int64_t>(parent)) * width);
      best[i] = choice.best();
    };
    const std::int64_t grain = std::max<std::int64_t>(1, 65536 / (width * options_.beam));
    at::parallel_for(0, static_cast<std::int64_t>(active.size()), grain, [&](std::int64_t from, std::int64_t to) {
      for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
        if (log_probabilities.scalar_type() == at::kDouble)
          choose(i, log_probabilities.data_ptr<double>());
        else
          choose(i, log_probabilities.data_ptr<float>());
      }
    });
    return best;
  }

  // Replaces the open hypotheses of a source by the best of their continuations; those that end are finished.
  void extend(Source& source, const std::vector<Candidate>& candidates, std::int64_t first_row, std::vector<std::int64_t>& kept_rows) {
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
      const std::int64_t row = first_row + static_cast<std::int64_t>(candidate.parent);
      const Open longer{trace_.add({candidate.token, parent.last, row}), parent.length + 1, candidate.log_probability};
      if (static_cast<std::int64_t>(longer.length) >= source.longest) {
        finish(source, longer, false);
        continue;
      }
      source.open.push_back(longer);
      rows.push_back(row);
    }
    if (candidates.empty() && source.finished.empty() && !before.empty()) finish(source, before.front(), false);
    if (is_decided(source))
      source.open.clear();
    else
      kept_rows.insert(kept_rows.end(), rows.begin(), rows.end());
  }

  void finish(Source& source, const Open& open, bool ended) {
    // the end counts as a token: it was paid for
    const double score = open.log_probability / length_penalty(open.length + (ended ? 1 : 0), options_.length_penalty) +
                         coverage_penalty(source, open);
    // what ended by itself comes before what was cut
    const auto place = std::find_if(source.finished.begin(), source.finished.end(), [&](const Finished& other) {
      return other.ended == ended ? score > other.score : ended;
    });
    source.finished.insert(place, {open, score, ended});
  }

  double coverage_penalty(const Source& source, const Open& open) const {
    if (options_.coverage_penalty == 0) return 0;
    const std::int64_t columns = weights_.front().size(1);
    const std::int64_t covered = stepper_.covered.empty() ? columns : std::min(columns, stepper_.covered[static_cast<std::size_t>(source.number)]);
    std::vector<double> sums(static_cast<std::size_t>(covered), 0.0);
    const std::vector<BackTrace::Node> path = trace_.path(open.last);
    for (std::size_t step = 0; step < path.size(); ++step) {
      const float* row = weights_[step].data_ptr<float>() + path[step].row * columns;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(row[i]);
    }
    double sum = 0;
    for (const double weight : sums) sum += std::log(std::isnan(weight) ? least_coverage : std::clamp(weight, least_coverage, 1.0));
    return options_.coverage_penalty * sum;
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
    // log-probabilities only fall, the longest length divides them by most, and no coverage penalty is above 0
    return worst >= source.open.front().log_probability / length_penalty(static_cast<std::size_t>(source.longest) + 1, options_.length_penalty);
  }

  Hypothesis hypothesis_of(const Finished& finished) const {
    const std::vector<BackTrace::Node> path = trace_.path(finished.hypothesis.last);
    Hypothesis result;
    std::vector<Tensor> rows;
    for (std::size_t step = 0; step < path.size(); ++step) {
      result.tokens.push_back(path[step].token);
      if (!weights_.empty()) rows.push_back(weights_[step].select(0, path[step].row));
    }
    if (!rows.empty()) result.alignment = at::stack(rows);
    result.log_probability = finished.hypothesis.log_probability;
    result.score = finished.score;
    result.ended = finished.ended;
    return result;
  }

  const Stepper& stepper_;
  const SearchOptions& options_;
  std::vector<Source> sources_;
  BackTrace trace_;
  std::vector<Tensor> weights_;  // of each step [N, Ls], where they are wanted
  std::vector<bool> forbidden_;  // [V]
};

void check_options(const Stepper& stepper, const std::vector<std::int64_t>& longest, const SearchOptions& options) {
  if (options.beam < 1) throw InvalidArgument(format("{}: expected beam ≥ 1, got {}", search_name, options.beam));
  if (options.n_best < 1 || options.n_best > options.beam)
    throw InvalidArgument(format("{}: expected n_best from 1 to the beam ({}), got {}", search_name, options.beam, options.n_best));
  const auto not_negative = [](const char* name, double value) {
    if (!(value >= 0 && std::isfinite(value))) throw InvalidArgument(format("{}: expected {} ≥ 0, got {}", search_name, name, value));
  };
  not_negative("length_penalty", options.length_penalty);
  not_negative("coverage_penalty", options.coverage_penalty);
  if (options.coverage_penalty > 0 && !stepper.alignment)
    throw InvalidArgument(format("{}: expected a stepper with alignment for a coverage_penalty of {}, got one without", search_name, options.coverage_penalty));
  if (!stepper.covered.empty() && stepper.covered.size() != longest.size())
    throw InvalidArgument(format("{}: expected covered for each of {} sources, got {}", search_name, longest.size(), stepper.covered.size()));
  for (const std::int64_t number : stepper.covered)
    if (number < 0) throw InvalidArgument(format("{}: expected covered ≥ 0 for each source, got {}", search_name, number));
  for (const std::int64_t most : longest)
    if (most < 1) throw InvalidArgument(format("{}: expected longest ≥ 1 for each source, got {}", search_name, most));
}

}  // namespace

std::vector<std::vector<Hypothesis>> search(const Stepper& stepper, const std::vector<std::int64_t>& longest, const SearchOptions& options) {
  check_options(stepper, longest, options);
  return Search(stepper, longest, options).run();
}

}  // namespace attend::decode
