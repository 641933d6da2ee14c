#include "tests/contract/rules.h"

#include <exception>

namespace attend::contract {
namespace {

bool always(const Subject&) { return true; }
bool has_hard_max(const Subject& subject) { return subject.mechanism->has.hard_max; }
bool has_hard_sample(const Subject& subject) { return subject.mechanism->has.hard_sample; }
bool has_heads(const Subject& subject) { return subject.mechanism->has.several_heads; }
bool has_window(const Subject& subject) { return subject.mechanism->has.window; }

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {1, "masks have named constructors", always, named_masks},
      {2, "masks broadcast to [B, H, Lq, Lk]", always, mask_shapes},
      {3, "causal alignment is explicit", always, causal_alignment},
      {4, "scale, soft cap, bias and mask, normalise, dropout", always, order_of_steps},
      {5, "a row with nothing to attend to is 0", always, empty_row},
      {6, "what is masked is not seen", always, masked_is_unseen},
      {7, "padding and batch change nothing", always, padding_invariance},
      {8, "weights per head, before dropout", always, returned_weights},
      {9, "asking for weights changes nothing", always, weights_on_request},
      {10, "local windows", has_window, local_windows},
      {11, "grouped heads", has_heads, heads},
      {12, "widths and default scale", always, widths_and_scale},
      {13, "gradients of first and second order; half types in float32", always, derivatives},
      {14, "accuracy for any number of keys", always, accuracy},
      {15, "run to run and thread to thread", always, repeatability},
      {16, "counter-based dropout", always, counted_dropout},
      {17, "hard arg max", has_hard_max, hard_arg_max},
      {18, "hard sampling", has_hard_sample, hard_sampling},
      {19, "bad input and empty input", always, bad_input},
      {20, "memory layout doesn't matter", always, memory_layout},
      {21, "shapes of results", always, result_shapes},
  };
  return table;
}

Failures check(const Rule& rule, const Subject& subject) {
  try {
    return rule.check(subject);
  } catch (const std::exception& error) {
    const std::string message = error.what();
    return {"threw: " + message.substr(0, message.find('\n'))};  // libtorch adds its stack
  }
}

}  // namespace attend::contract
