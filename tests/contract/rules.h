// The rules of the contract as functions that say what is wrong, so that they can be turned against planted faults too.
#pragma once

#include <vector>

#include "tests/contract/problem.h"

namespace attend::contract {

Failures named_masks(const Subject& subject);         // 1
Failures mask_shapes(const Subject& subject);         // 2
Failures causal_alignment(const Subject& subject);    // 3
Failures order_of_steps(const Subject& subject);      // 4
Failures empty_row(const Subject& subject);           // 5
Failures masked_is_unseen(const Subject& subject);    // 6
Failures padding_invariance(const Subject& subject);  // 7
Failures returned_weights(const Subject& subject);    // 8
Failures weights_on_request(const Subject& subject);  // 9
Failures local_windows(const Subject& subject);       // 10
Failures heads(const Subject& subject);               // 11
Failures widths_and_scale(const Subject& subject);    // 12
Failures derivatives(const Subject& subject);         // 13
Failures accuracy(const Subject& subject);            // 14
Failures repeatability(const Subject& subject);       // 15
Failures counted_dropout(const Subject& subject);     // 16
Failures hard_arg_max(const Subject& subject);        // 17
Failures hard_sampling(const Subject& subject);       // 18
Failures bad_input(const Subject& subject);           // 19
Failures memory_layout(const Subject& subject);       // 20
Failures result_shapes(const Subject& subject);       // 21

struct Rule {
  int number;
  const char* title;
  bool (*applies)(const Subject& subject);
  Failures (*check)(const Subject& subject);
};

// In the order of the contract. Rules without a check belong to mechanisms that aren't here.
const std::vector<Rule>& rules();

// rule.check(subject), with anything that it throws as one more failure.
Failures check(const Rule& rule, const Subject& subject);

}  // namespace attend::contract
