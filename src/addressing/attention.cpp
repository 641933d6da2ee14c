#include "attend/addressing/attention.h"

#include <cmath>

#include "attend/addressing/scores/additive.h"
#include "attend/addressing/scores/dot.h"
#include "attend/addressing/scores/general.h"
#include "attend/core/recording.h"
#include "attend/core/shapes.h"

namespace attend::addressing {

namespace {
constexpr auto attention_name = "attend::addressing::Attention";

Tensor uniform_parameter(at::IntArrayRef sizes, std::int64_t fan_in) {
  const double bound = std::sqrt(1.0 / static_cast<double>(fan_in));
  return torch::empty(sizes).uniform_(-bound, bound);
}
}  // namespace

AttentionImpl::AttentionImpl(std::int64_t query_size, std::int64_t key_size, AttentionOptions options)
    : query_size_(query_size), key_size_(key_size), options_(options) {
  if (query_size < 1 || key_size < 1)
    throw InvalidArgument(format("{}: expected positive sizes, got query_size {} and key_size {}", attention_name, query_size, key_size));
  const bool compares_directly = options.score == Score::dot || options.score == Score::scaled_dot;
  if (compares_directly && query_size != key_size)
    throw InvalidArgument(format("{}: score \"{}\" needs queries and keys of the same width, got {} and {}; use \"general\" or \"additive\"",
                                 attention_name, name_of(options.score), query_size, key_size));
  if (options.score == Score::additive && options.hidden < 1)
    throw InvalidArgument(format("{}: expected hidden ≥ 1, got {}", attention_name, options.hidden));
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw InvalidArgument(format("{}: expected dropout from 0 to below 1, got {}", attention_name, options.dropout));
  if (options.normalizer == Normalizer::entmax && !(options.alpha > 1 && std::isfinite(options.alpha)))
    throw InvalidArgument(
        format("{}: expected alpha above 1, got {}; what alpha = 1 stands for is normalizer \"softmax\"", attention_name, options.alpha));
  if (!(options.expected >= 0 && options.expected <= 1))
    throw InvalidArgument(format("{}: expected a probability from 0 to 1 in `expected`, got {}", attention_name, options.expected));
  reset();
}

void AttentionImpl::reset() {
  if (compares() && options_.score == Score::general)
    weight_ = register_parameter("weight", uniform_parameter({query_size_, key_size_}, key_size_));
  if (compares() && options_.score == Score::additive) {
    query_projection_ = register_parameter("query_projection", uniform_parameter({options_.hidden, query_size_}, query_size_));
    key_projection_ = register_parameter("key_projection", uniform_parameter({options_.hidden, key_size_}, key_size_));
    bias_ = register_parameter("bias", torch::zeros({options_.hidden}));
    energy_ = register_parameter("energy", uniform_parameter({options_.hidden}, options_.hidden));
  }
}

void AttentionImpl::pretty_print(std::ostream& stream) const {
  stream << attention_name << "(query_size=" << query_size_ << ", key_size=" << key_size_ << ", score=" << name_of(options_.score)
         << ", normalizer=" << name_of(options_.normalizer) << ", window=" << name_of(options_.window) << ")";
}

Tensor AttentionImpl::score(const Tensor& query, const Tensor& key) const {
  // reduced types arrive here in float32
  const auto typed = [&](const Tensor& parameter) { return parameter.to(query.scalar_type()); };
  switch (options_.score) {
    case Score::dot: return dot_score(query, key);
    case Score::scaled_dot: return dot_score(query, key, 1.0 / std::sqrt(static_cast<double>(key_size_)));
    case Score::general: return general_score(query, key, typed(weight_));
    case Score::additive:
      return additive_score(at::matmul(query, typed(query_projection_).t()),                      // [B, 1, Lq, A]
                            at::matmul(key, typed(key_projection_).t()) + typed(bias_),           // [B, 1, Lk, A]
                            typed(energy_));
  }
  throw InvalidArgument(format("{}: unknown score", attention_name));
}

AttentionResult AttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask, bool return_weights) {
  check_shape(attention_name, "query", query, {{"B"}, {"Lq"}, {"Eq", query_size_}});
  check_shape(attention_name, "key", key, {{"B", query.size(0)}, {"Lk"}, {"Ek", key_size_}});
  check_shape(attention_name, "value", value, {{"B", query.size(0)}, {"Lk", key.size(1)}, {"Ev"}});
  const bool recorded = Recording::wants(*this);
  ReadOptions how;
  how.normalizer = options_.normalizer;
  how.alpha = options_.alpha;
  how.draw = is_training() ? Draw::sample : Draw::mode;
  how.expected = options_.expected;
  how.dropout = is_training() ? options_.dropout : 0.0;
  how.return_weights = return_weights || recorded;
  how.path = options_.path;
  const auto compare = [this](const Tensor& q, const Tensor& k) { return score(q, k); };
  AttentionResult result =
      read(attention_name, query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1), compare, mask, how);  // [B, 1, Lq, Ev]
  if (recorded) Recording::report(*this, "alignment", result.weights, {"batch", "head", "query", "key"});
  return {result.context.squeeze(1), return_weights ? result.weights : Tensor(), result.log_probability, result.entropy};
}

}  // namespace attend::addressing
