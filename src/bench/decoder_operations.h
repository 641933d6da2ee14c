// Operations of decoders, counted once for those alone and those of a whole model. Private.
#pragma once

#include "bench/benchmark_case.h"

namespace attend::bench {

// Forward, of all steps: see make_operation().
double attentive_gru_operations(const BenchmarkCase& one);

}  // namespace attend::bench
