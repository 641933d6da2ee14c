// Dot-product attention, global or with a local window, written once more for the tests, with faults that can be planted: the suite must
// notice each of them.
#pragma once

#include <string_view>

#include "attend/addressing/attention.h"
#include "tests/contract/mechanism.h"

namespace attend::contract {

enum class Fault {
  none,
  upper_left_alignment,    // causal and band always start at the upper left
  cache_offset_forgotten,  // the same, but only where there are more keys than queries
  mask_polarity,           // true hides
  band_off_by_one,         // one key more on the right
  length_off_by_one,       // the key at the length is seen
  bias_before_scale,
  soft_cap_after_bias,
  soft_cap_forgotten,
  wrong_scale,           // 1/Dk
  scale_by_value_width,  // 1/√Dv
  empty_row_uniform,
  empty_row_nan,
  large_negative_mask,     // scores of −1e9 and a softmax over all keys, renormalised
  zero_times_nan,          // masked values are multiplied by 0
  query_nan_in_gradients,  // the row of a NaN query is overwritten, but its gradient runs on
  nan_row_cuts_gradients,  // a NaN row cuts the gradient of all rows
  padding_has_weight,      // lengths are read for the first row of the batch only
  weights_after_dropout,
  heads_averaged,
  weights_change_context,  // asking for weights takes a less exact way
  head_modulo,             // head h reads key head h mod Hkv
  first_order_only,        // a backward pass that can't be differentiated
  weights_without_gradient,
  half_accumulation,      // every step rounded to the half type
  no_maximum_subtracted,  // exp() of the scores themselves
  clock_seed,             // dropout differs from run to run
  library_dropout,        // at::dropout
  dropout_not_rescaled,
  dropout_by_flat_index,  // the place in the tensor decides, so padding does
  two_seeds,
  strides_ignored,
  wrong_exception,
  empty_batch_refused,
  heads_inside,  // returns [B, Lq, H, D]
  window_off_by_one,       // local-m: one key more on the right
  window_start_forgotten,  // local-m: every call begins at query 0
  window_not_cut,          // local-p: the Gaussian alone, which never gets to 0
  window_renormalised,     // local-p: weights sum to 1 again
  window_padded_length,    // local-p: S is Lk, padding included
  window_centre_fixed,     // local-p: no gradient flows through the centre
  // of copies with other normalisers
  sparsemax_threshold,      // τ by one key too many
  hard_tie_highest,         // the last of those that tie
  sample_by_padding,        // rows are numbered through, so that padding moves the draws
  sample_without_weights,   // every visible key alike
  sample_straight_through,  // the gradient of softmax flows through the draw
};

struct FaultName {
  Fault fault;
  std::string_view name;
};
const std::vector<FaultName>& faults();  // all but none

// What the copy is made with.
struct CopyForm {
  addressing::Window window = addressing::Window::global;
  addressing::Normalizer normalizer = addressing::Normalizer::softmax;
};
// The copy that a fault is planted in.
CopyForm form_of(Fault fault);
Mechanism faulty_mechanism(Fault fault, const CopyForm& form);

}  // namespace attend::contract
