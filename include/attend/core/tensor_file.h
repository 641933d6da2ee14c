// Tensors and parameters in safetensors files.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/io/safetensors.h"

namespace attend {

using NamedTensors = std::map<std::string, Tensor>;

// Writes tensors (of any device, made contiguous) and metadata as io::write_safetensors does. NotSupported for types that the container lacks.
ATTEND_API void save_tensors(const std::filesystem::path& file, const NamedTensors& tensors,
                             const std::map<std::string, std::string>& metadata);

// A copy of one tensor of a file, on the CPU.
ATTEND_API Tensor tensor_of(const io::TensorView& view);

// All parameters and buffers of a module by their paths. The tensors share the module's memory.
ATTEND_API NamedTensors module_tensors(const torch::nn::Module& module);

// Copies `tensors` into the parameters and buffers of the same names. InvalidData "NAME: …" where one is missing, superfluous, or of another shape:
// the module is then left as it was. `name` says where the tensors came from.
ATTEND_API void load_module_tensors(torch::nn::Module& module, const NamedTensors& tensors, const std::string& name);

}  // namespace attend
