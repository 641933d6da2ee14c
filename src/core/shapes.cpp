#include "attend/core/shapes.h"

namespace attend {

std::string shape_text(at::IntArrayRef sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + "]";
}

std::string shape_text(const Tensor& tensor) { return tensor.defined() ? shape_text(tensor.sizes()) : "an undefined tensor"; }

namespace {

std::string expected_text(std::initializer_list<NamedSize> expected) {
  std::string names, sizes;
  for (const NamedSize& dimension : expected) {
    names += (names.empty() ? "" : ", ") + std::string(dimension.name);
    if (dimension.size != NamedSize::any) sizes += format("{}{} = {}", sizes.empty() ? " with " : ", ", dimension.name, dimension.size);
  }
  return "[" + names + "]" + sizes;
}

}  // namespace

void check_shape(const char* where, const char* name, const Tensor& tensor, std::initializer_list<NamedSize> expected) {
  bool fits = tensor.defined() && tensor.dim() == static_cast<std::int64_t>(expected.size());
  std::int64_t dimension = 0;
  for (const NamedSize& wanted : expected) {
    if (!fits) break;
    fits = wanted.size == NamedSize::any || tensor.size(dimension) == wanted.size;
    ++dimension;
  }
  if (!fits) throw InvalidArgument(format("{}: expected {} {}, got {}", where, name, expected_text(expected), shape_text(tensor)));
}

void check_grouped_heads(const char* where, std::int64_t Hq, std::int64_t Hkv) {
  if (Hkv == 0 || Hq % Hkv != 0)
    throw InvalidArgument(format("{}: expected Hq to be a multiple of Hkv, got Hq = {} and Hkv = {}", where, Hq, Hkv));
}

void check_floating(const char* where, const char* name, const Tensor& tensor) {
  if (!at::isFloatingType(tensor.scalar_type()))
    throw NotSupported(
        format("{}: expected {} of a floating-point type, got {}; convert it first", where, name, at::toString(tensor.scalar_type())));
}

void check_matches(const char* where, const char* name, const Tensor& tensor, const char* like_name, const Tensor& like) {
  if (tensor.scalar_type() != like.scalar_type())
    throw InvalidArgument(format("{}: expected {} of the type of {} ({}), got {}", where, name, like_name, at::toString(like.scalar_type()),
                                 at::toString(tensor.scalar_type())));
  if (tensor.device() != like.device())
    throw InvalidArgument(format("{}: expected {} on the device of {} ({}), got {}", where, name, like_name, like.device().str(),
                                 tensor.device().str()));
}

}  // namespace attend
