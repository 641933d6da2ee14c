#include "attend/addressing/multi_head.h"

#include <torch/nn/init.h>

#include <cmath>
#include <limits>

#include "addressing/finite.h"
#include "addressing/recorded_read.h"
#include "attend/addressing/dot_product.h"
#include "attend/core/shapes.h"

namespace attend::addressing {
namespace {

constexpr auto multi_head_name = "attend::addressing::MultiHead", learned_queries_name = "attend::addressing::LearnedQueries";

MultiHeadOptions filled_in(std::int64_t query_size, MultiHeadOptions options) {
  const auto refuse = [](const std::string& message) { throw InvalidArgument(format("{}: {}", multi_head_name, message)); };
  if (query_size < 1 || options.heads < 1) refuse(format("expected positive sizes, got query_size {} and heads {}", query_size, options.heads));
  if (options.key_heads == 0) options.key_heads = options.heads;
  if (options.key_heads < 0 || options.heads % options.key_heads != 0)
    refuse(format("expected heads to be a multiple of key_heads, got {} and {}", options.heads, options.key_heads));
  if (options.key_width == 0) {
    if (query_size % options.heads != 0)
      refuse(format("expected query_size to be a multiple of heads, got {} and {}; or set key_width", query_size, options.heads));
    options.key_width = query_size / options.heads;
  }
  if (options.value_width == 0) options.value_width = options.key_width;
  if (options.key_size == 0) options.key_size = query_size;
  if (options.value_size == 0) options.value_size = options.key_size;
  for (const auto& [name, value] : {std::pair{"key_width", options.key_width}, std::pair{"value_width", options.value_width},
                                    std::pair{"key_size", options.key_size}, std::pair{"value_size", options.value_size}})
    if (value < 1) refuse(format("expected {} ≥ 1, or 0 for its default, got {}", name, value));
  if (!(options.dropout >= 0 && options.dropout < 1)) refuse(format("expected dropout from 0 to below 1, got {}", options.dropout));
  if (!(options.soft_cap >= 0 && std::isfinite(options.soft_cap))) refuse(format("expected soft_cap ≥ 0, got {}", options.soft_cap));
  return options;
}

// [B, L, H·D] → [B, H, L, D]
Tensor in_heads(const Tensor& rows, std::int64_t heads) { return rows.view({rows.size(0), rows.size(1), heads, rows.size(2) / heads}).transpose(1, 2); }

// W x + b. A row of x that isn't finite is taken as zeros, so that it reaches no gradient of W, and comes out as NaN.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor typed_bias = bias.defined() ? bias.to(x.scalar_type()) : Tensor();
  const auto of = [&](const Tensor& rows) { return at::linear(rows, weight.to(x.scalar_type()), typed_bias); };
  if (is_finite(x.detach())) return of(x);
  const Tensor finite = finite_rows(x);                                                          // [B, L]
  return of(zero_rows(x, finite)).masked_fill(finite.logical_not().unsqueeze(2), std::numeric_limits<double>::quiet_NaN());
}

Tensor projected(const Tensor& x, const Tensor& weight, const Tensor& bias, std::int64_t heads) { return in_heads(linear(x, weight, bias), heads); }

// Linear maps of half types don't exist on the CPU of libtorch 1.13: they are computed in float32.
bool is_half(const Tensor& tensor) { return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16; }
Tensor wide(const Tensor& tensor) { return is_half(tensor) ? tensor.to(at::kFloat) : tensor; }

}  // namespace

MultiHeadImpl::MultiHeadImpl(std::int64_t query_size, MultiHeadOptions options) : query_size_(query_size), options_(filled_in(query_size, options)) { reset(); }

void MultiHeadImpl::reset() {
  const auto weight = [&](const char* name, std::int64_t to, std::int64_t from) {
    return register_parameter(name, torch::nn::init::xavier_uniform_(torch::empty({to, from})));
  };
  const auto bias = [&](const char* name, std::int64_t to) { return options_.bias ? register_parameter(name, torch::zeros({to})) : Tensor(); };
  const std::int64_t queries = options_.heads * options_.key_width, keys = options_.key_heads * options_.key_width;
  const std::int64_t values = options_.key_heads * options_.value_width;
  query_projection_ = weight("query_projection", queries, query_size_);
  key_projection_ = weight("key_projection", keys, options_.key_size);
  value_projection_ = weight("value_projection", values, options_.value_size);
  output_projection_ = weight("output_projection", query_size_, options_.heads * options_.value_width);
  query_bias_ = bias("query_bias", queries);
  key_bias_ = bias("key_bias", keys);
  value_bias_ = bias("value_bias", values);
  output_bias_ = bias("output_bias", query_size_);
}

void MultiHeadImpl::pretty_print(std::ostream& stream) const {
  stream << multi_head_name << "(query_size=" << query_size_ << ", heads=" << options_.heads << ", key_heads=" << options_.key_heads
         << ", key_width=" << options_.key_width << ", value_width=" << options_.value_width << ")";
}

KeyValue MultiHeadImpl::project(const Tensor& key, const Tensor& value) {
  check_shape(multi_head_name, "key", key, {{"B"}, {"Lk"}, {"Ek", options_.key_size}});
  check_shape(multi_head_name, "value", value, {{"B", key.size(0)}, {"Lk", key.size(1)}, {"Ev", options_.value_size}});
  check_floating(multi_head_name, "key", key);
  check_matches(multi_head_name, "value", value, "key", key);
  return {projected(wide(key), key_projection_, key_bias_, options_.key_heads).to(key.scalar_type()),        // [B, Hkv, Lk, Dk]
          projected(wide(value), value_projection_, value_bias_, options_.key_heads).to(key.scalar_type())};  // [B, Hkv, Lk, Dv]
}

AttentionResult MultiHeadImpl::read(const Tensor& query, const KeyValue& memory, const Mask& mask, bool return_weights, std::int64_t first_query) {
  return read_as("alignment", query, memory, mask, return_weights, first_query);
}

AttentionResult MultiHeadImpl::read_as(const char* kind, const Tensor& query, const KeyValue& memory, const Mask& mask, bool return_weights,
                                       std::int64_t first_query) {
  check_shape(multi_head_name, "query", query, {{"B"}, {"Lq"}, {"E", query_size_}});
  check_floating(multi_head_name, "query", query);
  if (first_query < 0) throw InvalidArgument(format("{}: expected first_query ≥ 0, got {}", multi_head_name, first_query));
  ReadOptions how;
  how.soft_cap = options_.soft_cap;
  how.dropout = is_training() ? options_.dropout : 0.0;
  how.dropout_origin.query = first_query;
  how.return_weights = return_weights;
  how.path = options_.path;
  const Tensor heads = projected(wide(query), query_projection_, query_bias_, options_.heads).to(query.scalar_type());  // [B, Hq, Lq, Dk]
  const DotForm score{1.0 / std::sqrt(static_cast<double>(options_.key_width))};
  const AttentionResult result = recorded_read(*this, kind, multi_head_name, heads, memory.key, memory.value, score, mask, how);  // context [B, Hq, Lq, Dv]
  const Tensor side_by_side = wide(result.context).transpose(1, 2).reshape({query.size(0), query.size(1), options_.heads * options_.value_width});
  const Tensor output = linear(side_by_side, output_projection_, output_bias_).to(query.scalar_type());  // [B, Lq, E]
  return {output, result.weights, {}, {}};
}

AttentionResult MultiHeadImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask, bool return_weights) {
  return read_as(key.is_same(query) ? "self" : "alignment", query, project(key, value), mask, return_weights, 0);
}

AttentionResult MultiHeadImpl::self(const Tensor& input, const Mask& mask, bool return_weights) { return forward(input, input, input, mask, return_weights); }

LearnedQueriesImpl::LearnedQueriesImpl(std::int64_t count, std::int64_t key_size, Path path) : count_(count), key_size_(key_size), path_(path) {
  if (count < 1 || key_size < 1)
    throw InvalidArgument(format("{}: expected positive sizes, got count {} and key_size {}", learned_queries_name, count, key_size));
  reset();
}

void LearnedQueriesImpl::reset() {
  queries_ = register_parameter("queries", torch::randn({count_, key_size_}) / std::sqrt(static_cast<double>(key_size_)));
}

void LearnedQueriesImpl::pretty_print(std::ostream& stream) const { stream << learned_queries_name << "(count=" << count_ << ", key_size=" << key_size_ << ")"; }

AttentionResult LearnedQueriesImpl::forward(const Tensor& key, const Tensor& value, const Mask& mask, bool return_weights) {
  check_shape(learned_queries_name, "key", key, {{"B"}, {"Lk"}, {"Ek", key_size_}});
  check_shape(learned_queries_name, "value", value, {{"B", key.size(0)}, {"Lk", key.size(1)}, {"Ev"}});
  ReadOptions how;
  how.return_weights = return_weights;
  how.path = path_;
  const Tensor query = queries_.to(key.scalar_type()).expand({key.size(0), 1, count_, key_size_});  // [B, 1, M, Ek]
  const AttentionResult result = recorded_read(*this, "alignment", learned_queries_name, query, key.unsqueeze(1), value.unsqueeze(1), DotForm{}, mask, how);  // [B, 1, M, Ev]
  return {result.context.reshape({key.size(0), count_ * value.size(2)}), result.weights, {}, {}};
}

}  // namespace attend::addressing
