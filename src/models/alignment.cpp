#include "attend/models/alignment.h"

#include <cmath>

#include "attend/addressing/additive.h"
#include "attend/core/recording.h"
#include "attend/core/shapes.h"

namespace attend::models {

namespace {
constexpr auto alignment_name = "attend::models::Alignment";
}

AlignmentImpl::AlignmentImpl(std::int64_t query_size, std::int64_t memory_size, std::int64_t hidden)
    : query_size_(query_size), memory_size_(memory_size), hidden_(hidden) {
  if (query_size < 1 || memory_size < 1 || hidden < 1)
    throw InvalidArgument(format("{}: expected positive sizes, got query_size {}, memory_size {}, hidden {}", alignment_name, query_size,
                                 memory_size, hidden));
  reset();
}

void AlignmentImpl::reset() {
  const auto uniform = [](at::IntArrayRef sizes, std::int64_t fan_in) {
    const double bound = std::sqrt(1.0 / static_cast<double>(fan_in));
    return torch::empty(sizes).uniform_(-bound, bound);
  };
  query_projection_ = register_parameter("query_projection", uniform({hidden_, query_size_}, query_size_));
  key_projection_ = register_parameter("key_projection", uniform({hidden_, memory_size_}, memory_size_));
  bias_ = register_parameter("bias", torch::zeros({hidden_}));
  energy_ = register_parameter("energy", uniform({hidden_}, hidden_));
}

void AlignmentImpl::pretty_print(std::ostream& stream) const {
  stream << alignment_name << "(query_size=" << query_size_ << ", memory_size=" << memory_size_ << ", hidden=" << hidden_ << ")";
}

Tensor AlignmentImpl::keys(const Tensor& memory) {
  check_shape(alignment_name, "memory", memory, {{"B"}, {"Lk"}, {"Dk", memory_size_}});
  return at::linear(memory, key_projection_, bias_);                                              // [B, Lk, A]
}

Tensor AlignmentImpl::forward(const Tensor& query, const Tensor& keys, const Tensor& memory, const Mask& mask) {
  check_shape(alignment_name, "query", query, {{"B"}, {"Lq"}, {"Dq", query_size_}});
  check_shape(alignment_name, "keys", keys, {{"B", query.size(0)}, {"Lk"}, {"A", hidden_}});
  check_shape(alignment_name, "memory", memory, {{"B", query.size(0)}, {"Lk", keys.size(1)}, {"Dk", memory_size_}});
  const Tensor projected = at::matmul(query, query_projection_.t());                              // [B, Lq, A]
  addressing::ReadOptions how;
  how.return_weights = Recording::wants(*this);
  const AttentionResult result = addressing::additive(projected.unsqueeze(1), keys.unsqueeze(1), memory.unsqueeze(1), energy_, mask, how);
  if (how.return_weights) Recording::report(*this, "alignment", result.weights, {"batch", "head", "query", "key"});
  return result.context.squeeze(1);                                                               // [B, Lq, Dk]
}

}  // namespace attend::models
