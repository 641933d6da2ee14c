#include "attend/core/tensor_file.h"

#include <cstring>

#include "attend/base/edit_distance.h"
#include "attend/core/shapes.h"

namespace attend {
namespace {

struct TypePair {
  at::ScalarType torch;
  io::ElementType file;
};
constexpr TypePair type_pairs[] = {
    {at::kBool, io::ElementType::boolean},  {at::kByte, io::ElementType::uint8},      {at::kChar, io::ElementType::int8},
    {at::kShort, io::ElementType::int16},   {at::kInt, io::ElementType::int32},       {at::kLong, io::ElementType::int64},
    {at::kHalf, io::ElementType::float16},  {at::kBFloat16, io::ElementType::bfloat16}, {at::kFloat, io::ElementType::float32},
    {at::kDouble, io::ElementType::float64},
};

io::ElementType file_type(at::ScalarType type) {
  for (const TypePair& pair : type_pairs)
    if (pair.torch == type) return pair.file;
  throw NotSupported(format("attend::save_tensors: the file format has no type for {}", at::toString(type)));
}

at::ScalarType torch_type(io::ElementType type) {
  for (const TypePair& pair : type_pairs)
    if (pair.file == type) return pair.torch;
  throw NotSupported("attend::tensor_of: unknown element type");
}

}  // namespace

void save_tensors(const std::filesystem::path& file, const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<Tensor> kept;  // own the memory that the views point to
  std::map<std::string, io::TensorView> views;
  for (const auto& [name, tensor] : tensors) {
    kept.push_back(tensor.detach().to(at::kCPU).contiguous());
    const Tensor& data = kept.back();
    views[name] = {file_type(data.scalar_type()), data.sizes().vec(),
                   std::span(static_cast<const std::byte*>(data.data_ptr()), static_cast<std::size_t>(data.nbytes()))};
  }
  io::write_safetensors(file, views, metadata);
}

Tensor tensor_of(const io::TensorView& view) {
  const Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(torch_type(view.type)));
  if (!view.bytes.empty()) std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

NamedTensors module_tensors(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) tensors[item.key()] = item.value();
  return tensors;
}

void load_module_tensors(torch::nn::Module& module, const NamedTensors& tensors, const std::string& name) {
  const NamedTensors own = module_tensors(module);
  std::vector<std::string> own_names;
  for (const auto& [key, tensor] : own) own_names.push_back(key);
  for (const auto& [key, tensor] : tensors)
    if (!own.contains(key))
      throw InvalidData(format("{}: has the tensor \"{}\", which this model doesn't have{}", name, key, did_you_mean(key, own_names)));
  for (const auto& [key, tensor] : own) {
    const auto found = tensors.find(key);
    if (found == tensors.end()) throw InvalidData(format("{}: lacks the tensor \"{}\" of this model", name, key));
    if (found->second.sizes() != tensor.sizes())
      throw InvalidData(format("{}: expected the tensor \"{}\" {}, got {}; recipe or vocabulary don't belong to this file", name, key,
                               shape_text(tensor), shape_text(found->second)));
  }
  // only now, so that a file which is refused leaves the module as it was
  const torch::NoGradGuard no_gradient;
  for (const auto& [key, tensor] : own) tensor.copy_(tensors.at(key));
}

}  // namespace attend
