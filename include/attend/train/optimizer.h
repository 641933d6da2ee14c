// The optimiser, with a state that can be saved and restored.
#pragma once

#include <memory>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/tensor_file.h"
#include "attend/train/options.h"

namespace torch::optim {
class Adam;
}

namespace attend::train {

// Adam (Kingma 2015) of libtorch over named parameters, with clipping of the gradients' norm (Pascanu 2013) and, where asked for, a
// running average of the parameters (Polyak 1992, with exponential weights).
class ATTEND_API Optimizer {
 public:
  Optimizer(const torch::nn::Module& model, const TrainOptions& options);
  ~Optimizer();

  // Clips, updates, averages. → the norm of all gradients before clipping.
  double step(double learning_rate);
  void zero_gradients();

  // Exchanges the parameters with their average; a second call changes them back. Nothing where there is no averaging.
  void swap_average();

  // All that the next step depends on: "optimizer.NAME.mean", "….square", "….average", "optimizer.step".
  NamedTensors state() const;
  // InvalidData "NAME: …" where a tensor is missing or doesn't fit.
  void load_state(const NamedTensors& state, const std::string& name);

 private:
  std::vector<std::pair<std::string, Tensor>> parameters_;
  std::vector<Tensor> averages_;
  std::int64_t steps_ = 0;
  double clip_, averaging_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

}  // namespace attend::train
