#include "tests/vectors/attention_module.h"

#include "attend/base/error.h"
#include "tests/reference/tensors.h"

namespace attend::vectors {
namespace {

Mask memory_mask(Case& from) {
  std::vector<std::int64_t> lengths;
  const io::Value list = from.attribute("lengths");
  for (const io::Value& length : list.as_list()) lengths.push_back(length.as_integer());
  return Mask::lengths(at::tensor(lengths, at::kLong));
}

}  // namespace

ModuleCase::ModuleCase(Case& from, const std::string& query_name, const std::string& memory_name) : from_(from), mask_(memory_mask(from)) {
  query = leaf(query_name);
  memory = leaf(memory_name);
  loss_ = at::zeros({}, query.options().requires_grad(false));
  terms_ = memory.size(0) * memory.size(1);
}

Tensor ModuleCase::leaf(const std::string& input) {
  return leaves_[input] = from_.required_tensor("input." + input).set_requires_grad(true);
}

Tensor ModuleCase::parameter(const std::string& theirs) {
  return leaves_["parameter." + theirs] = from_.required_tensor("parameter." + theirs).set_requires_grad(true);
}

void ModuleCase::make(addressing::Score score, std::int64_t hidden) {
  module_ = addressing::Attention(query.size(2), memory.size(2), addressing::AttentionOptions{.score = score, .hidden = hidden});
  module_->to(query.scalar_type());
}

void ModuleCase::load(const std::string& ours, const std::string& theirs, const std::function<Tensor(const Tensor&)>& as_ours) {
  const torch::NoGradGuard no_gradient;
  Tensor to = module_->named_parameters()[ours];
  const Tensor value = as_ours(from_.required_tensor("parameter." + theirs));
  if (to.sizes() != value.sizes()) throw InvalidData("not understood: the shape of parameter " + theirs);
  to.copy_(value);
  loaded_[ours] = {theirs, as_ours};
}

void ModuleCase::clear(const std::string& ours) {
  const torch::NoGradGuard no_gradient;
  module_->named_parameters()[ours].zero_();
}

AttentionResult ModuleCase::run() { return module_(query, memory, memory, mask_, /*return_weights=*/true); }

void ModuleCase::expect(const std::string& output, const Tensor& got) {
  from_.expect(output, got, from_.required_tensor("output." + output), reference::tolerance(reference::type_of(got), memory.size(1)));
  loss_ = loss_ + (got * from_.required_tensor("cotangent." + output)).sum();
}

void ModuleCase::expect_gradients() {
  loss_.backward();
  // a parameter's gradient is a sum over the places of all rows
  const reference::Tolerance near = reference::gradient_tolerance(reference::type_of(query), terms_);
  for (const auto& [name, tensor] : leaves_)
    from_.expect("gradient of " + name, tensor.grad(), from_.required_tensor("gradient." + name), near);
  for (const auto& [ours, loaded] : loaded_)
    from_.expect("gradient of " + ours, module_->named_parameters()[ours].grad(),
                 loaded.as_ours(from_.required_tensor("gradient.parameter." + loaded.theirs)), near);
}

}  // namespace attend::vectors
