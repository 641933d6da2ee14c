#include "attend/train/optimizer.h"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attend/core/shapes.h"

namespace attend::train {
namespace {

std::vector<Tensor> tensors_of(const std::vector<std::pair<std::string, Tensor>>& parameters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : parameters) tensors.push_back(tensor);
  return tensors;
}

const Tensor& required(const NamedTensors& state, const std::string& key, const Tensor* like, const std::string& name) {
  const auto found = state.find(key);
  if (found == state.end()) throw InvalidData(format("{}: lacks \"{}\": this checkpoint belongs to another model", name, key));
  if (like != nullptr && found->second.sizes() != like->sizes())
    throw InvalidData(format("{}: expected \"{}\" {}, got {}: this checkpoint belongs to another model", name, key, shape_text(*like),
                             shape_text(found->second)));
  return found->second;
}

}  // namespace

Optimizer::Optimizer(const torch::nn::Module& model, const TrainOptions& options) : clip_(options.clip), averaging_(options.averaging) {
  for (const auto& item : model.named_parameters()) parameters_.emplace_back(item.key(), item.value());
  if (averaging_ > 0)
    for (const auto& [name, tensor] : parameters_) averages_.push_back(tensor.detach().clone());
  adam_ = std::make_unique<torch::optim::Adam>(tensors_of(parameters_), torch::optim::AdamOptions(options.learning_rate)
                                                                            .betas({options.beta1, options.beta2})
                                                                            .eps(options.epsilon)
                                                                            .weight_decay(options.weight_decay));
}

Optimizer::~Optimizer() = default;

void Optimizer::zero_gradients() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad() = Tensor();
}

double Optimizer::step(double learning_rate) {
  const double limit = clip_ > 0 ? clip_ : std::numeric_limits<double>::infinity();
  const double norm = torch::nn::utils::clip_grad_norm_(tensors_of(parameters_), limit);
  if (!std::isfinite(norm)) return norm;  // the caller stops; the parameters stay as they are
  static_cast<torch::optim::AdamOptions&>(adam_->param_groups()[0].options()).lr(learning_rate);
  adam_->step();
  ++steps_;
  if (averaging_ > 0) {
    torch::NoGradGuard no_gradient;
    // the average of few steps would be mostly the random start: let it follow closely at first
    const double decay = std::min(averaging_, static_cast<double>(1 + steps_) / static_cast<double>(10 + steps_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) averages_[i].lerp_(parameters_[i].second, 1 - decay);
  }
  return norm;
}

void Optimizer::swap_average() {
  torch::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const Tensor current = parameters_[i].second.detach().clone();
    parameters_[i].second.copy_(averages_[i]);
    averages_[i].copy_(current);
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  state["optimizer.step"] = at::scalar_tensor(steps_, at::kLong);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    if (averaging_ > 0) state["optimizer." + name + ".average"] = averages_[i];
    const auto found = adam_->state().find(optimizer_state_key(tensor));
    if (found == adam_->state().end()) continue;  // no step yet, or never a gradient
    const auto& moments = static_cast<const torch::optim::AdamParamState&>(*found->second);
    state["optimizer." + name + ".step"] = at::scalar_tensor(moments.step(), at::kLong);
    state["optimizer." + name + ".mean"] = moments.exp_avg();
    state["optimizer." + name + ".square"] = moments.exp_avg_sq();
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state, const std::string& name) {
  steps_ = required(state, "optimizer.step", nullptr, name).item<std::int64_t>();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [key, tensor] = parameters_[i];
    if (averaging_ > 0) averages_[i].copy_(required(state, "optimizer." + key + ".average", &tensor, name));
    if (!state.contains("optimizer." + key + ".step")) continue;
    auto moments = std::make_unique<torch::optim::AdamParamState>();
    moments->step(required(state, "optimizer." + key + ".step", nullptr, name).item<std::int64_t>());
    moments->exp_avg(required(state, "optimizer." + key + ".mean", &tensor, name).clone());
    moments->exp_avg_sq(required(state, "optimizer." + key + ".square", &tensor, name).clone());
    adam_->state()[optimizer_state_key(tensor)] = std::move(moments);
  }
}

}  // namespace attend::train
