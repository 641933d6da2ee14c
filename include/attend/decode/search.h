// Greedy and beam search over any model that can make one step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/tokens.h"

namespace attend::decode {

// A model as search sees it. Rows are sequences; at first row i is source i.
struct Stepper {
  // One step: the previous token of each row, int64 [N] → log-probabilities of the next one [N, V]; NaN never wins.
  std::function<Tensor(const Tensor& previous)> step;
  // Replaces the rows of the state by those of the given numbers, int64 [M].
  std::function<void(const Tensor& rows)> reorder;
  // Weights of the last step over the source [N, Ls]; empty where they are not wanted.
  std::function<Tensor()> alignment;
  // How many columns of `alignment`, the first ones, a target of each source should cover; empty: all.
  std::vector<std::int64_t> covered;
};

struct Hypothesis {
  std::vector<std::int64_t> tokens;  // without begin and end
  double log_probability = 0;        // of all tokens, the end included where it was reached
  double score = 0;                  // what n-best lists are ordered by: log_probability / length penalty + coverage penalty
  bool ended = false;                // false: cut at the longest length
  Tensor alignment;                  // float [tokens, Ls] on the CPU, where it was wanted
};

struct SearchOptions {
  std::int64_t begin = attend::begin_token, end = attend::end_token;
  // Tokens that are never produced: padding, unknown, begin.
  std::vector<std::int64_t> forbidden = {padding_token, unknown_token, begin_token};
  // Hypotheses that are kept of each source; 1 is greedy search.
  std::int64_t beam = 1;
  // Hypotheses that are returned of each source, at most `beam`.
  std::int64_t n_best = 1;
  // α of the length penalty ((5 + n) / 6)^α (Wu 2016 §7, equation 14); 0: none.
  double length_penalty = 0.6;
  // β of the coverage penalty β Σ_i log(min(Σ_j p_ij, 1)), i over the source's tokens, j over the target's without its end, p the weights
  // (Wu 2016 §7, equation 14); 0: none. A token that got less weight than 1e-10 counts as having got that, so that a score stays finite.
  double coverage_penalty = 0.0;
};

// The most probable targets of each source, best first: n_best or fewer of each.
//   longest  for each source, how many tokens its target may have
// Greedy search takes the most probable token at each step (the lowest of equals). Beam search keeps the `beam` most probable open hypotheses of a source until the
// best finished one can't be beaten any more: until its score is at least that of the best open one continued without further loss. Both penalties order what is
// finished, not what is open. Both searches give the same whatever else is in the batch.
// InvalidArgument where an option is out of range, or a coverage penalty is wanted of a stepper without alignment.
ATTEND_API std::vector<std::vector<Hypothesis>> search(const Stepper& stepper, const std::vector<std::int64_t>& longest, const SearchOptions& options = {});

}  // namespace attend::decode
