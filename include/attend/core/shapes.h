// The alphabet of sizes, and the checks that speak it.
//
//   B batch · H heads (Hq, Hkv where they differ) · Lq queries · Lk keys · D width per head (Dk, Dv) · E model width ·
//   A hidden width of an additive score · C channels · Y, X rows and columns of a picture · T time steps · V vocabulary
//
// Order: batch first, time second: [B, L, E]; per head [B, H, L, D]; pictures [B, C, Y, X]; weights [B, H, Lq, Lk].
#pragma once

#include <initializer_list>
#include <string>

#include "attend/base/api.h"
#include "attend/base/error.h"
#include "attend/core/libtorch.h"

namespace attend {

// "[2, 8, 10, 32]"
ATTEND_API std::string shape_text(at::IntArrayRef sizes);
ATTEND_API std::string shape_text(const Tensor& tensor);

// One named size that a tensor must have: {"Dk", 64}, or a size that is free: {"Lk"}.
struct NamedSize {
  static constexpr std::int64_t any = -1;
  const char* name;
  std::int64_t size = any;
};

// Checks the number of dimensions and the sizes of `tensor` at a public edge. InvalidArgument, for example
// "attend::addressing::dot_product: expected key [B, Hkv, Lk, Dk] with Dk = 64, got [2, 8, 10, 32]".
//   where     the function's full name
//   name      the argument's name
//   expected  one entry per dimension
ATTEND_API void check_shape(const char* where, const char* name, const Tensor& tensor, std::initializer_list<NamedSize> expected);

// Checks that `tensor` holds floating-point numbers of the type of `like` on its device. InvalidArgument otherwise.
ATTEND_API void check_matches(const char* where, const char* name, const Tensor& tensor, const char* like_name, const Tensor& like);

// Checks that each of Hkv key heads serves the same number of the Hq query heads. InvalidArgument otherwise.
ATTEND_API void check_grouped_heads(const char* where, std::int64_t Hq, std::int64_t Hkv);

// Checks that `tensor` holds floating-point numbers. NotSupported otherwise.
ATTEND_API void check_floating(const char* where, const char* name, const Tensor& tensor);

}  // namespace attend
