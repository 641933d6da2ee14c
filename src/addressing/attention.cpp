#include "attend/addressing/attention.h"

#include <cmath>

#include "addressing/normalize.h"
#include "addressing/recorded_read.h"
#include "attend/addressing/scores/cosine.h"
#include "attend/addressing/scores/general.h"
#include "attend/addressing/scores/location.h"
#include "attend/addressing/windows/local_m.h"
#include "attend/addressing/windows/local_p.h"
#include "attend/core/shapes.h"

namespace attend::addressing {

namespace {
constexpr auto attention_name = "attend::addressing::Attention";

Tensor uniform_parameter(at::IntArrayRef sizes, std::int64_t fan_in) {
  const double bound = std::sqrt(1.0 / static_cast<double>(fan_in));
  return torch::empty(sizes).uniform_(-bound, bound);
}

void check_options(std::int64_t query_size, std::int64_t key_size, const AttentionOptions& options) {
  if (query_size < 1 || key_size < 1)
    throw InvalidArgument(format("{}: expected positive sizes, got query_size {} and key_size {}", attention_name, query_size, key_size));
  const Score score = options.score;
  const bool compares_directly = score == Score::dot || score == Score::scaled_dot || score == Score::cosine;
  if (compares_directly && query_size != key_size)
    throw InvalidArgument(format("{}: score \"{}\" needs queries and keys of the same width, got {} and {}; use \"general\" or \"additive\"",
                                 attention_name, name_of(score), query_size, key_size));
  const auto at_least_one = [](const char* name, std::int64_t value) {
    if (value < 1) throw InvalidArgument(format("{}: expected {} ≥ 1, got {}", attention_name, name, value));
  };
  if (score == Score::additive) at_least_one("hidden", options.hidden);
  if (score == Score::location) at_least_one("positions", options.positions);
  if (score == Score::cosine && !std::isfinite(options.cosine_scale))
    throw InvalidArgument(format("{}: expected a finite cosine_scale, got {}", attention_name, options.cosine_scale));
  if (options.window == Window::local_p) at_least_one("window_width", options.window_width);
  if (options.window == Window::local_m && options.window_width < 0)
    throw InvalidArgument(format("{}: expected window_width ≥ 0, got {}", attention_name, options.window_width));
  if (options.window == Window::local_m && !(options.length_ratio > 0 && std::isfinite(options.length_ratio)))
    throw InvalidArgument(format("{}: expected a finite length_ratio > 0, got {}", attention_name, options.length_ratio));
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw InvalidArgument(format("{}: expected dropout from 0 to below 1, got {}", attention_name, options.dropout));
  ReadOptions how;
  how.normalizer = options.normalizer;
  how.alpha = options.alpha;
  how.expected = options.expected;
  check_normalizer(attention_name, how);
}
}  // namespace

AttentionImpl::AttentionImpl(std::int64_t query_size, std::int64_t key_size, AttentionOptions options)
    : query_size_(query_size), key_size_(key_size), options_(options) {
  check_options(query_size, key_size, options);
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
  if (compares() && options_.score == Score::location)
    location_ = register_parameter("location", uniform_parameter({options_.positions, query_size_}, query_size_));
  if (options_.window == Window::local_p) {
    centre_projection_ = register_parameter("centre_projection", uniform_parameter({query_size_, query_size_}, query_size_));
    centre_energy_ = register_parameter("centre_energy", uniform_parameter({query_size_}, query_size_));
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
    case Score::dot:
    case Score::scaled_dot:
    case Score::general:
    case Score::cosine:
    case Score::additive: break;  // of dot or additive form
    case Score::location: return location_score(query, key.size(2), typed(location_));
  }
  throw InvalidArgument(format("{}: unknown score", attention_name));
}

std::optional<DotForm> AttentionImpl::dot_form() const {
  switch (options_.score) {
    case Score::dot: return DotForm{};
    case Score::scaled_dot: return DotForm{1.0 / std::sqrt(static_cast<double>(key_size_))};
    case Score::general:
      if (!compares()) return std::nullopt;
      return general_form(weight_);
    case Score::cosine: return cosine_form(options_.cosine_scale);
    default: return std::nullopt;
  }
}

std::optional<AdditiveForm> AttentionImpl::additive_form() const {
  if (options_.score != Score::additive || !compares()) return std::nullopt;
  const auto terms = [this](const Tensor& query, const Tensor& key) {
    const auto typed = [&](const Tensor& parameter) { return parameter.to(query.scalar_type()); };
    return std::pair(at::matmul(query, typed(query_projection_).t()),                             // [B, 1, Lq, A]
                     at::matmul(key, typed(key_projection_).t()) + typed(bias_));                 // [B, 1, Lk, A]
  };
  return AdditiveForm{energy_, terms};
}

WindowTensors AttentionImpl::window(const Tensor& query, std::int64_t keys, const Mask& mask, const AttentionPlace& place) const {
  const auto typed = [&](const Tensor& parameter) { return parameter.to(query.scalar_type()); };
  switch (options_.window) {
    case Window::global: return {};
    case Window::local_m:
      return local_m_window(query.size(2), keys, {options_.window_width, options_.length_ratio, place.first_query}, query);
    case Window::local_p: {
      const Tensor centre = local_p_centre(query, typed(centre_projection_), typed(centre_energy_),
                                           key_lengths(mask, query.size(0), keys, query));        // [B, 1, Lq]
      return local_p_window(centre, keys, options_.window_width);
    }
  }
  throw InvalidArgument(format("{}: unknown window", attention_name));
}

std::string AttentionImpl::explain() const {
  ReadOptions how;
  how.normalizer = options_.normalizer;
  how.path = options_.path;
  return addressing::explain(how, dot_form() ? ScoreForm::dot : additive_form() ? ScoreForm::additive : ScoreForm::any);
}

AttentionResult AttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask, bool return_weights,
                                       const AttentionPlace& place) {
  check_shape(attention_name, "query", query, {{"B"}, {"Lq"}, {"Eq", query_size_}});
  check_shape(attention_name, "key", key, {{"B", query.size(0)}, {"Lk"}, {"Ek", key_size_}});
  check_shape(attention_name, "value", value, {{"B", query.size(0)}, {"Lk", key.size(1)}, {"Ev"}});
  if (compares() && options_.score == Score::location && key.size(1) > options_.positions)
    throw InvalidArgument(format("{}: expected at most {} keys, as many as the location score has positions, got key {}; train with more positions",
                                 attention_name, options_.positions, shape_text(key)));
  if (place.first_query < 0) throw InvalidArgument(format("{}: expected first_query ≥ 0, got {}", attention_name, place.first_query));
  ReadOptions how;
  how.normalizer = options_.normalizer;
  if (options_.window != Window::global) how.window = [&](const Tensor& q) { return window(q, key.size(1), mask, place); };
  how.renormalised = options_.window == Window::local_p && options_.window_renormalised;
  how.alpha = options_.alpha;
  how.draw = is_training() ? Draw::sample : Draw::mode;
  how.expected = options_.expected;
  how.dropout = is_training() ? options_.dropout : 0.0;
  how.dropout_origin.query = place.first_query;
  how.return_weights = return_weights;
  how.path = options_.path;
  const auto read_with = [&](const auto& compare) {
    return recorded_read(*this, "alignment", attention_name, query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1), compare, mask, how);  // [B, 1, Lq, Ev]
  };
  const std::optional<DotForm> dot = dot_form();
  const std::optional<AdditiveForm> additive = additive_form();
  AttentionResult result = dot        ? read_with(*dot)
                           : additive ? read_with(*additive)
                                      : read_with([this](const Tensor& q, const Tensor& k) { return score(q, k); });
  return {result.context.squeeze(1), result.weights, result.log_probability, result.entropy};
}

}  // namespace attend::addressing
