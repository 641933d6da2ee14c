// A read whose weights an open Recording may want. Private.
#pragma once

#include <optional>

#include "attend/addressing/read.h"
#include "attend/addressing/weight_summary.h"
#include "attend/core/recording.h"

namespace attend::addressing {

// read() on behalf of `module`, which reports its weights as `kind`: all of them, or the largest of each query where they are many (Recording::keeps_largest()),
// which are then computed apart, in parts, so that the read itself stays fused. The result has weights only where `how` asks for them.
template <class Score>
AttentionResult recorded_read(const torch::nn::Module& module, const char* kind, const char* where, const Tensor& query, const Tensor& key, const Tensor& value,
                              const Score& score, const Mask& mask, ReadOptions how) {
  const std::vector<std::string> axes = {"batch", "head", "query", "key"};
  const bool asked = how.return_weights, recorded = Recording::wants(module);
  std::optional<std::int64_t> top;
  // what hard_sample drew can't be computed again
  if (recorded && !asked && how.normalizer != Normalizer::hard_sample && query.dim() == 4 && key.dim() == 4)
    top = Recording::keeps_largest(module, query.size(2), key.size(2));
  how.return_weights = asked || (recorded && !top);
  AttentionResult result = read(where, query, key, value, score, mask, how);
  if (top) {
    const WeightSummary summary = summarise_weights(where, query, key, score, mask, how, {.top = *top});
    Recording::report(module, kind, summary.top_weights, axes, {summary.top_keys, summary.entropy, key.size(2)});
  } else if (recorded) {
    Recording::report(module, kind, result.weights, axes);
  }
  if (!asked) result.weights = Tensor();
  return result;
}

}  // namespace attend::addressing
