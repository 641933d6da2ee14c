// Bahdanau's alignment model: additive attention whose keys are projected once for a source, however many steps ask it.
#pragma once

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"

namespace attend::models {

// e_ij = v_aᵀ tanh(W_a q_i + U_a h_j + b),  α_i = softmax(e_i),  c_i = Σ_j α_ij h_j      (Bahdanau 2014 appendix A.1.2, equations 5, 6)
// Parameters: `query_projection` W_a [A, Dq], `key_projection` U_a [A, Dk], `bias` b [A] (the paper leaves biases out), `energy` v_a [A];
// the bias begins as 0, the others uniform in ±√(1 / fan-in).
// Reports α to an open Recording as kind "alignment", axes batch, head, query, key.
class ATTEND_API AlignmentImpl : public torch::nn::Cloneable<AlignmentImpl> {
 public:
  // InvalidArgument where a size is not positive.
  AlignmentImpl(std::int64_t query_size, std::int64_t memory_size, std::int64_t hidden);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // U_a h_j + b of all places: memory [B, Lk, Dk] → [B, Lk, A]
  Tensor keys(const Tensor& memory);
  // query [B, Lq, Dq], keys [B, Lk, A], memory [B, Lk, Dk] → c [B, Lq, Dk]. Masks, edge cases, types, exceptions: see addressing::read().
  Tensor forward(const Tensor& query, const Tensor& keys, const Tensor& memory, const Mask& mask = {});

  // W_a and v_a, for those who compare in an operation of their own.
  const Tensor& query_projection() const { return query_projection_; }
  const Tensor& energy() const { return energy_; }

 private:
  std::int64_t query_size_, memory_size_, hidden_;
  Tensor query_projection_, key_projection_, bias_, energy_;
};
TORCH_MODULE(Alignment);

}  // namespace attend::models
