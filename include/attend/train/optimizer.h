// The optimiser, with a state that can be saved and restored.
#pragma once

#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/tensor_file.h"
#include "attend/train/options.h"

namespace attend::train {

// Updates the parameters of a model by the gradients g of a loss, each parameter that has one:
//   Adam (Kingma 2015, algorithm 1)   m ← β₁ m + (1 − β₁) g,  v ← β₂ v + (1 − β₂) g²,  θ ← θ − rate · m / (1 − β₁ⁿ) / (√(v / (1 − β₂ⁿ)) + ε)
//   SGD (Sutskever 2013, equation 1)  m ← momentum · m + g,  θ ← θ − rate · m
// with g ← g + weight_decay · θ first, after clipping the norm of all gradients together (Pascanu 2013), n the updates that the parameter has had. Where
// asked for, a running average of the parameters is kept (Polyak 1992, with exponential weights).
// All parameters move into one buffer, of which the module's tensors become views: an update is a dozen operations on the whole buffer, not
// on each parameter. A parameter that stands in the module under two names is updated once, under the first.
class ATTEND_API Optimizer {
 public:
  // NotSupported for parameters that are no floating-point numbers; InvalidArgument where they are not all of one type, on one device.
  Optimizer(const torch::nn::Module& model, const TrainOptions& options);

  // Clips, updates, averages. → the norm of all gradients before clipping; where that is not finite, nothing changes.
  double step(double learning_rate);
  void zero_gradients();

  // Exchanges the parameters with their average; a second call changes them back. Nothing where there is no averaging.
  void swap_average();

  // All that the next step depends on: "optimizer.step"; for a parameter that was ever updated "optimizer.NAME.step" and ".mean", ".square"
  // (Adam) or ".momentum" (SGD); "….average" where there is averaging.
  NamedTensors state() const;
  // InvalidData "NAME: …" where a tensor is missing or doesn't fit.
  void load_state(const NamedTensors& state, const std::string& name);

 private:
  // One parameter's place in the buffers.
  struct Slot {
    std::string name;
    Tensor parameter;
    std::int64_t begin = 0, end = 0;  // with the gap behind it
    std::int64_t updates = 0;
    bool has_gradient = false;
  };
  Tensor part(const Tensor& buffer, const Slot& slot) const;
  void gather_gradients();
  void update(std::int64_t begin, std::int64_t end, std::int64_t updates, double learning_rate, double clip_factor);

  TrainOptions options_;
  std::vector<Slot> slots_;
  Tensor parameters_, gradients_, averages_;  // [all slots]
  std::vector<Tensor> moments_;               // Adam: mean, square; SGD: momentum
  std::vector<std::string> moment_names_;
  std::int64_t steps_ = 0;
};

}  // namespace attend::train
