// From what a model reported (core/recording.h) to an example that can be drawn, saved and looked at.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/recording.h"
#include "attend/view/record.h"

namespace attend::view {

// `texts` (id, tokens, picture, sound, sentences) with an item for each module and kind among `reports`, in the order of their first reports:
//   Recording recording(*model);
//   model->forward(source, target);
//   const Example example = recorded_example(recording.take(), {.id = "1", .source = source_tokens, .target = target_tokens});
// Row `row` of the axis "batch" is taken, where there is one. Several reports of one module, as of decoding step by step, are joined along their axis "query".
// The axes of an alignment become head, target, source; those of self-attention head, source, source, or head, target, target where the example has no source
// or the module's path has a part "decoder" and there is a target. An axis "query" of other kinds becomes "target" where there is a target. Padding behind the
// example's tokens is cut off. The layer is the first number in the module's path. Weights of many pairs come as the largest of each row (Form::top_k).
// With chosen RecordingOptions::steps, give the target tokens of these steps alone.
// InvalidArgument where `row` doesn't exist, there are more tokens than queries or keys, or the axes don't fit the kind.
ATTEND_API Example recorded_example(const std::vector<Recording::Item>& reports, Example texts, std::int64_t row = 0);

}  // namespace attend::view
