// Between libtorch's tensors and the plain numbers of the references.
#pragma once

#include <vector>

#include "attend/core/libtorch.h"
#include "tests/reference/tolerance.h"

namespace attend::reference {

inline at::ScalarType scalar_type(Type type) {
  switch (type) {
    case Type::float16:
      return at::kHalf;
    case Type::bfloat16:
      return at::kBFloat16;
    case Type::float32:
      return at::kFloat;
    case Type::float64:
      return at::kDouble;
  }
  return at::kDouble;
}

inline Type type_of(const Tensor& tensor) {
  for (const Type type : {Type::float16, Type::bfloat16, Type::float32})
    if (tensor.scalar_type() == scalar_type(type)) return type;
  return Type::float64;
}

// The elements, row by row.
inline std::vector<double> numbers(const Tensor& tensor) {
  const Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

inline Tensor tensor_of(const std::vector<double>& elements, at::IntArrayRef shape, at::ScalarType type) {
  return at::from_blob(const_cast<double*>(elements.data()), shape, at::kDouble).clone().to(type);
}

}  // namespace attend::reference
