#include "attend/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "attend/core/shapes.h"

namespace attend::train {
namespace {

constexpr auto optimizer_name = "attend::train::Optimizer";
constexpr std::int64_t slot_unit = 16;  // elements: slots begin on a cache line

const Tensor& required(const NamedTensors& state, const std::string& key, const Tensor* like, const std::string& name) {
  const auto found = state.find(key);
  if (found == state.end()) throw InvalidData(format("{}: lacks \"{}\": this checkpoint belongs to another model", name, key));
  if (like != nullptr && found->second.sizes() != like->sizes())
    throw InvalidData(format("{}: expected \"{}\" {}, got {}: this checkpoint belongs to another model", name, key, shape_text(*like),
                             shape_text(found->second)));
  return found->second;
}

}  // namespace

Optimizer::Optimizer(const torch::nn::Module& model, const TrainOptions& options) : options_(options) {
  torch::NoGradGuard no_gradient;
  std::int64_t size = 0;
  for (const auto& item : model.named_parameters()) {
    const Tensor& parameter = item.value();
    if (std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.parameter.is_same(parameter); })) continue;
    check_floating(optimizer_name, item.key().c_str(), parameter);
    if (!slots_.empty()) check_matches(optimizer_name, item.key().c_str(), parameter, slots_.front().name.c_str(), slots_.front().parameter);
    const std::int64_t length = (parameter.numel() + slot_unit - 1) / slot_unit * slot_unit;
    slots_.push_back({item.key(), parameter, size, size + length});
    size += length;
  }
  parameters_ = at::zeros({size}, slots_.empty() ? at::TensorOptions(at::kFloat) : slots_.front().parameter.detach().options());
  for (Slot& slot : slots_) {
    const Tensor place = part(parameters_, slot);
    place.copy_(slot.parameter);
    slot.parameter.set_data(place);
  }
  gradients_ = at::zeros_like(parameters_);
  if (options_.averaging > 0) averages_ = parameters_.clone();
  moment_names_ = options_.optimizer == OptimizerName::adam ? std::vector<std::string>{"mean", "square"} : std::vector<std::string>{"momentum"};
  for (std::size_t i = 0; i < moment_names_.size(); ++i) moments_.push_back(at::zeros_like(parameters_));
}

Tensor Optimizer::part(const Tensor& buffer, const Slot& slot) const {
  return buffer.slice(0, slot.begin, slot.begin + slot.parameter.numel()).view(slot.parameter.sizes());
}

void Optimizer::zero_gradients() {
  for (Slot& slot : slots_) slot.parameter.mutable_grad() = Tensor();
}

// Gradients become parts of one buffer; where there is none, 0.
void Optimizer::gather_gradients() {
  for (Slot& slot : slots_) {
    const Tensor place = part(gradients_, slot);
    const Tensor& gradient = slot.parameter.grad();
    slot.has_gradient = gradient.defined();
    if (!slot.has_gradient) {
      place.zero_();
    } else if (gradient.data_ptr() != place.data_ptr()) {
      place.copy_(gradient);
      slot.parameter.mutable_grad() = place;
    }
  }
}

double Optimizer::step(double learning_rate) {
  torch::NoGradGuard no_gradient;
  gather_gradients();
  const double norm = gradients_.norm().item<double>();
  if (!std::isfinite(norm)) return norm;  // the caller stops; the parameters stay as they are
  const double clip_factor = options_.clip > 0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1.0;
  ++steps_;
  for (Slot& slot : slots_) slot.updates += slot.has_gradient;
  // neighbours that have been updated as often are one range
  for (auto first = slots_.begin(); first != slots_.end();) {
    const auto last = std::find_if(first, slots_.end(), [&](const Slot& slot) {
      return slot.has_gradient != first->has_gradient || slot.updates != first->updates;
    });
    update(first->begin, std::prev(last)->end, first->has_gradient ? first->updates : 0, learning_rate, clip_factor);
    first = last;
  }
  return norm;
}

// `updates`: how many these parameters have had, this one included; 0: they have no gradient, and only their average moves.
void Optimizer::update(std::int64_t begin, std::int64_t end, std::int64_t updates, double learning_rate, double clip_factor) {
  const auto here = [&](const Tensor& buffer) { return buffer.slice(0, begin, end); };
  const Tensor parameter = here(parameters_);                                                     // [end − begin], as all below
  if (updates > 0) {
    Tensor gradient = here(gradients_);
    if (clip_factor < 1) gradient.mul_(clip_factor);
    if (options_.weight_decay > 0) gradient = gradient.add(parameter, options_.weight_decay);
    if (options_.optimizer == OptimizerName::sgd) {
      parameter.sub_(here(moments_[0]).mul_(options_.momentum).add_(gradient), learning_rate);
    } else {
      const double n = static_cast<double>(updates);
      const Tensor mean = here(moments_[0]).mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
      const Tensor square = here(moments_[1]).mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
      const Tensor scale = square.sqrt().div_(std::sqrt(1 - std::pow(options_.beta2, n))).add_(options_.epsilon);
      parameter.addcdiv_(mean, scale, -learning_rate / (1 - std::pow(options_.beta1, n)));
    }
  }
  if (!averages_.defined()) return;
  // the average of few steps would be mostly the random start: let it follow closely at first
  const double decay = std::min(options_.averaging, static_cast<double>(1 + steps_) / static_cast<double>(10 + steps_));
  here(averages_).mul_(decay).add_(parameter, 1 - decay);  // lerp_() takes one number at a time
}

void Optimizer::swap_average() {
  if (!averages_.defined()) return;
  torch::NoGradGuard no_gradient;
  const Tensor current = parameters_.clone();
  parameters_.copy_(averages_);
  averages_.copy_(current);
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  state["optimizer.step"] = at::scalar_tensor(steps_, at::kLong);
  for (const Slot& slot : slots_) {
    const std::string prefix = "optimizer." + slot.name + ".";
    if (averages_.defined()) state[prefix + "average"] = part(averages_, slot);
    if (slot.updates == 0) continue;  // no step yet, or never a gradient
    state[prefix + "step"] = at::scalar_tensor(slot.updates, at::kLong);
    for (std::size_t i = 0; i < moments_.size(); ++i) state[prefix + moment_names_[i]] = part(moments_[i], slot);
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state, const std::string& name) {
  torch::NoGradGuard no_gradient;
  steps_ = required(state, "optimizer.step", nullptr, name).item<std::int64_t>();
  for (Slot& slot : slots_) {
    const std::string prefix = "optimizer." + slot.name + ".";
    if (averages_.defined()) part(averages_, slot).copy_(required(state, prefix + "average", &slot.parameter, name));
    const bool updated = state.contains(prefix + "step");
    slot.updates = updated ? state.at(prefix + "step").item<std::int64_t>() : 0;
    for (std::size_t i = 0; i < moments_.size(); ++i) {
      const Tensor place = part(moments_[i], slot);
      if (updated)
        place.copy_(required(state, prefix + moment_names_[i], &slot.parameter, name));
      else
        place.zero_();
    }
  }
}

}  // namespace attend::train
