// PyTorch's MultiheadAttention, output, weights and gradients.
#include "attend/addressing/multi_head.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

Mask multi_head_mask(Case& from) {
  Mask mask;
  if (const io::Value given = from.attribute("lengths"); !given.is_null()) {
    std::vector<std::int64_t> lengths;
    for (const io::Value& length : given.as_list()) lengths.push_back(length.as_integer());
    mask = Mask::lengths(at::tensor(lengths, at::kLong));
  }
  return from.attribute("causal").as_bool() ? mask & Mask::causal() : mask;
}

// Theirs as ours: three projections in one tensor, or each by itself.
struct Projections {
  Tensor query, key, value;
};
Projections projections(Case& from, const std::string& prefix) {
  if (const std::optional<Tensor> together = from.tensor(prefix + "in_proj_weight")) {
    const std::vector<Tensor> parts = together->chunk(3);
    return {parts[0], parts[1], parts[2]};
  }
  return {from.required_tensor(prefix + "q_proj_weight"), from.required_tensor(prefix + "k_proj_weight"), from.required_tensor(prefix + "v_proj_weight")};
}

// By our names.
std::map<std::string, Tensor> parameters_of(Case& from, const std::string& prefix, bool bias) {
  const Projections weights = projections(from, prefix);
  std::map<std::string, Tensor> all = {{"query_projection", weights.query},
                                       {"key_projection", weights.key},
                                       {"value_projection", weights.value},
                                       {"output_projection", from.required_tensor(prefix + "out_proj.weight")}};
  if (!bias) return all;
  const std::vector<Tensor> biases = from.required_tensor(prefix + "in_proj_bias").chunk(3);
  all["query_bias"] = biases[0], all["key_bias"] = biases[1], all["value_bias"] = biases[2];
  all["output_bias"] = from.required_tensor(prefix + "out_proj.bias");
  return all;
}

}  // namespace

std::vector<std::string> check_torch_multi_head(const io::SafetensorsFile& file) {
  Case from(file);
  const bool bias = from.attribute("bias").as_bool();
  std::map<std::string, Tensor> inputs;
  for (const char* name : {"query", "key", "value"}) inputs[name] = from.required_tensor(std::string("input.") + name).set_requires_grad(true);
  addressing::MultiHead module(inputs["query"].size(2), addressing::MultiHeadOptions{.heads = from.attribute("heads").as_integer(),
                                                                                    .key_size = inputs["key"].size(2),
                                                                                    .value_size = inputs["value"].size(2),
                                                                                    .bias = bias});
  module->to(inputs["query"].scalar_type());
  auto ours = module->named_parameters();
  for (const auto& [name, tensor] : parameters_of(from, "parameter.", bias)) {
    const torch::NoGradGuard no_gradient;
    ours[name].copy_(tensor);
  }
  const AttentionResult result = module(inputs["query"], inputs["key"], inputs["value"], multi_head_mask(from), true);
  const std::int64_t terms = inputs["key"].size(1) + inputs["query"].size(2);
  const reference::Type type = reference::type_of(result.context);
  from.expect("context", result.context, from.required_tensor("output.context"), reference::tolerance(type, terms));
  from.expect("weights", result.weights, from.required_tensor("output.weights"), reference::tolerance(type, terms));
  ((result.context * from.required_tensor("cotangent.context")).sum() + (result.weights * from.required_tensor("cotangent.weights")).sum()).backward();
  const reference::Tolerance near = reference::gradient_tolerance(type, terms);
  for (const auto& [name, input] : inputs) from.expect("gradient of " + name, input.grad(), from.required_tensor("gradient." + name), near);
  for (const auto& [name, wanted] : parameters_of(from, "gradient.parameter.", bias)) from.expect("gradient of " + name, ours[name].grad(), wanted, near);
  return from.finish();
}

}  // namespace attend::vectors
