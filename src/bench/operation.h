// What a case runs: through the public functions, fused and composed. Private.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attend/core/libtorch.h"
#include "bench/benchmark_case.h"

namespace attend::bench {

struct Operation {
  // Results in the same order: outputs, then gradients where the case takes them. `copy`: of the inputs, from 0 to copies − 1.
  std::function<std::vector<Tensor>(std::int64_t copy)> fused, composed;
  // The last queries' context from the composed form in float64, for cases whose composed form isn't run: [B, H, at most 64, Dv].
  std::function<Tensor()> last_queries;
  std::int64_t copies = 1;
  double operations = 0;  // of one call
  double bytes = 0;       // of keys and values, which a call reads from memory; 0 where that isn't what limits it
  double items = 0;       // pairs of sequences; 0 where there are none
};

// Operations are counted so, whichever form runs, forward:
//   dot-product     4·D for each visible pair of query and key, B·H of them side by side; with the gradients 14·D
//   additive        4·A + 2·Dv for each pair; with the gradients three times that
//   attentive-gru   2 for each multiply-add of its products, and the additive read of each step; with the gradients three times that
//   input-feeding   likewise, Luong's decoder with an LSTM; what is known of a step before it is projected already
//   rnnsearch       the same of the whole model; the embeddings' rows are looked up, the update isn't part of it
// The composed forms:
//   dot-product     baddbmm, softmax, bmm on contiguous tensors [B·H, L, D]; what isn't visible is minus infinity in the tensor that baddbmm adds
//   additive        the sum of all pairs, tanh, product with the energy, softmax, bmm
//   attentive-gru   step by step from libtorch's operations (Path::composed)
//   input-feeding   step by step from libtorch's operations (Path::composed)
//   rnnsearch       the same model, its encoder and decoder step by step
// NotSupported is thrown by `fused` where the library has no fused path for the case.
ATTEND_API Operation make_operation(const BenchmarkCase& one);

// Empty where all results agree; else the one that differs most. float32 on both sides, of sums over `terms` weights.
ATTEND_API std::string disagreement(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted, std::int64_t terms);

Operation dot_product_operation(const BenchmarkCase& one);
Operation additive_operation(const BenchmarkCase& one);
Operation attentive_gru_operation(const BenchmarkCase& one);
Operation input_feeding_operation(const BenchmarkCase& one);
Operation rnnsearch_operation(const BenchmarkCase& one);

// N(0, 1) times `deviation`, the same each time for the same seed.
Tensor random_tensor(at::IntArrayRef sizes, std::uint64_t seed, double deviation = 1.0);

// The output, and, where the case takes gradients, those of `inputs` for a random upstream gradient.
std::vector<Tensor> with_gradients(const BenchmarkCase& one, const Tensor& output, const std::vector<Tensor>& inputs, const Tensor& upstream);

}  // namespace attend::bench
