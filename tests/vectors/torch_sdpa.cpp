// PyTorch's scaled_dot_product_attention, output and gradients.
#include "attend/addressing/dot_product.h"
#include "attend/base/error.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

Mask causal_mask(const io::Value& alignment) {
  if (alignment.is_null()) return {};
  if (alignment.as_text() == "upper_left") return Mask::causal(Align::upper_left);
  if (alignment.as_text() == "lower_right") return Mask::causal(Align::lower_right);
  throw InvalidData("not understood: causal \"" + alignment.as_text() + "\"");
}

}  // namespace

std::vector<std::string> check_torch_sdpa(const io::SafetensorsFile& file) {
  Case from(file);
  std::map<std::string, Tensor> inputs;
  for (const char* name : {"query", "key", "value"}) inputs[name] = from.required_tensor(std::string("input.") + name);
  const std::optional<Tensor> given_mask = from.tensor("input.mask");
  if (given_mask && given_mask->is_floating_point()) inputs["mask"] = *given_mask;
  for (auto& [name, input] : inputs) input.requires_grad_(true);

  Mask mask = causal_mask(from.attribute("causal"));
  if (given_mask) mask = mask & (given_mask->is_floating_point() ? Mask::bias(inputs["mask"]) : Mask::keep(*given_mask));
  from.attribute("mask");  // a name for the reader; what counts is the tensor
  addressing::DotProductOptions options;
  if (const io::Value scale = from.attribute("scale"); !scale.is_null()) options.scale = scale.as_number();

  const std::int64_t Lk = inputs["key"].size(2);
  for (const Path path : {Path::composed, Path::fused}) {
    options.read.path = path;
    const Tensor context = addressing::dot_product(inputs["query"], inputs["key"], inputs["value"], mask, options).context;
    const reference::Type type = reference::type_of(context);
    from.expect("context", context, from.required_tensor("output.context"), reference::tolerance(type, Lk));
    const std::optional<Tensor> cotangent = from.tensor("cotangent.context");
    if (!cotangent) continue;
    (context * *cotangent).sum().backward();
    for (auto& [name, input] : inputs) {
      if (const std::optional<Tensor> gradient = from.tensor("gradient." + name))
        from.expect("gradient of " + name, input.grad(), *gradient, reference::gradient_tolerance(type, Lk));
      input.mutable_grad() = Tensor();
    }
  }
  return from.finish();
}

}  // namespace attend::vectors
