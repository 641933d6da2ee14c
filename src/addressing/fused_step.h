// Dot-product reads of a few queries, as decoding makes them, by a kernel that reads keys and values where they lie. Private: read() decides when it runs.
#pragma once

#include <optional>

#include "addressing/fused_dot_product.h"

namespace attend::addressing {

// Whether so few queries share keys.
constexpr std::int64_t most_step_queries = 8;
bool is_step(const Tensor& query, const Tensor& key);

// What fused_dot_product() computes, without gradients and dropout. Keys and values may be float16 or bfloat16 where the query is float32. Empty where what comes out
// isn't finite, so that NaN or infinity may be in the input: their rules are read()'s. Results depend neither on the number of threads nor on strides.
std::optional<Tensor> fused_step(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Spans& seen, const std::optional<Tensor>& factors,
                                 const FusedDotProductOptions& options);

}  // namespace attend::addressing
