// What must hold of any sequence-to-sequence model, measured on a trained one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/tasks/prediction.h"

namespace attend::tasks {

// One property, as it was measured.
struct Finding {
  std::string property, meaning;
  double largest = 0;         // the largest difference; NaN where something compared was not a number
  double tolerance = 0;       // what it was held against
  std::int64_t compared = 0;  // numbers that were compared; 0: the data or the model had nothing to compare
  bool passed() const { return largest <= tolerance; }
};

struct CheckOptions {
  // Whether rows of weights may sum to less than 1: those of a Gaussian window that isn't renormalised.
  bool rows_may_fall_short = false;
  // In how many places targets are changed from there on.
  std::int64_t cuts = 8;
};

// Compares a model's outputs, in evaluation mode, on source tokens [B, Ls] and target tokens [B, Lt]:
//   causality  outputs before a place, with other target tokens behind it
//   padding    outputs with more padding behind source and target
//   batch      outputs of each row alone
//   steps      log-probabilities of encode() and step(), token by token, with those of forward()
//   gradients  numbers in the loss and its gradients that are not finite
//   rows       weights that mechanisms report: how far a row's sum is from 1 (or 0: a row with nothing to attend to), and weights below 0
// Differences of outputs are divided by the largest of them (or 1). Their tolerance is 16 u (64 + 8 √L), u the unit roundoff of the outputs' type and L the longest
// sequence: results of one function by products of other shapes; that of the rows is u (64 + 8 √L); of gradients none may be bad.
// Gradients are cleared, and the model is left in the mode it was in. InvalidArgument where a batch is empty, or where sources and targets differ in number.
ATTEND_API std::vector<Finding> check_model(models::SequenceToSequence& model, const models::TokenBatch& source, const models::TokenBatch& target,
                                            const CheckOptions& options = {});

// The same of a run's model, with what its recipe says of its windows.
ATTEND_API std::vector<Finding> check_run(Run& run, const PairBatch& pairs);

}  // namespace attend::tasks
