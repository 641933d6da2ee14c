// PyTorch's GRU and LSTM over padded batches, outputs, last states and gradients.
#include "attend/base/error.h"
#include "attend/core/tensor_file.h"
#include "attend/layers/recurrent.h"
#include "tests/reference/tensors.h"
#include "tests/vectors/vector_set.h"

namespace attend::vectors {
namespace {

constexpr std::string_view parameter_prefix = "parameter.";

std::vector<std::string> parameter_names(const io::SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const auto& [name, view] : file.tensors())
    if (name.rfind(parameter_prefix, 0) == 0) names.push_back(name.substr(parameter_prefix.size()));
  return names;
}

layers::Cell cell_of(const io::SafetensorsFile& file) {
  const std::string& op = file.meta("op");
  if (op == "GRU") return layers::Cell::gru;
  if (op == "LSTM") return layers::Cell::lstm;
  throw InvalidData("not understood: op \"" + op + "\"");
}

Tensor lengths_of(const io::Value& attribute) {
  if (attribute.is_null()) return {};
  std::vector<std::int64_t> lengths;
  for (const io::Value& length : attribute.as_list()) lengths.push_back(length.as_integer());
  return at::tensor(lengths, at::kLong);
}

}  // namespace

std::vector<std::string> check_torch_recurrent(const io::SafetensorsFile& file) {
  Case from(file);
  const Tensor source = from.required_tensor("input.source").set_requires_grad(true);
  NamedTensors parameters;
  for (const std::string& name : parameter_names(file)) parameters[name] = from.required_tensor("parameter." + name);
  layers::RecurrentOptions options{.cell = cell_of(file), .bidirectional = parameters.contains("weight_ih_l0_reverse")};
  if (const io::Value layers = from.attribute("layers"); !layers.is_null()) options.layers = layers.as_integer();
  const std::int64_t H = from.required_tensor("parameter.weight_hh_l0").size(1);
  layers::Recurrent network(source.size(2), H, options);
  network->to(source.scalar_type());
  load_module_tensors(*network, parameters, file.path().string());

  const layers::RecurrentResult result = network(source, lengths_of(from.attribute("lengths")));
  std::map<std::string, Tensor> outputs{{"output", result.output}, {"hidden", result.state.hidden.transpose(0, 1)}};
  if (result.state.cell.defined()) outputs["cell"] = result.state.cell.transpose(0, 1);
  const reference::Type type = reference::type_of(source);
  Tensor loss = at::zeros({}, source.options());
  for (const auto& [name, output] : outputs) {
    from.expect(name, output, from.required_tensor("output." + name), reference::tolerance(type, source.size(2) + H));
    if (const std::optional<Tensor> cotangent = from.tensor("cotangent." + name)) loss = loss + (output * *cotangent).sum();
  }
  loss.backward();
  const reference::Tolerance near = reference::gradient_tolerance(type, source.size(0) * source.size(1));
  from.expect("gradient of source", source.grad(), from.required_tensor("gradient.source"), near);
  for (const auto& item : network->named_parameters())
    from.expect("gradient of " + item.key(), item.value().grad(), from.required_tensor("gradient.parameter." + item.key()), near);
  return from.finish();
}

}  // namespace attend::vectors
