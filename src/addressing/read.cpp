#include "attend/addressing/read.h"

#include <cmath>
#include <limits>

#include "addressing/finite.h"
#include "addressing/fused_additive.h"
#include "addressing/fused_dot_product.h"
#include "addressing/fused_step.h"
#include "addressing/normalize.h"
#include "attend/addressing/scores/additive.h"
#include "attend/addressing/scores/dot.h"
#include "attend/core/shapes.h"

namespace attend::addressing {
namespace {

// What keeps a call from the fused kernels, whatever its tensors; null: nothing.
const char* obstacle(const ReadOptions& options, ScoreForm form) {
  if (form == ScoreForm::any) return "no fused kernel of this mechanism exists in this version";
  if (form == ScoreForm::additive) return options.normalizer == Normalizer::uniform ? "a uniform read has no score to fuse" : nullptr;
  if (options.normalizer != Normalizer::softmax) return "no fused kernel of this normalizer exists in this version";
  return nullptr;
}

constexpr auto other_device = "its kernels run on the CPU";

bool wants_gradients(const Tensor& query, const Tensor& key, const Tensor& value) {
  return at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
}

// Packing the keys pays where several queries read them, and a panel of keys is to be filled; steps of decoding read them where they lie.
constexpr std::int64_t fewest_queries = 8, fewest_keys = 48;
bool pays(const Tensor& query, const Tensor& key, const Tensor& value, const ReadOptions& options) {
  const bool step = is_step(query, key) && !options.return_weights && !wants_gradients(query, key, value);
  return step || (query.size(2) >= fewest_queries && key.size(2) >= fewest_keys);
}

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

void check(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const ReadOptions& options) {
  check_shape(where, "query", query, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
  check_shape(where, "key", key, {{"B", query.size(0)}, {"Hkv"}, {"Lk"}, {"Dk"}});
  check_shape(where, "value", value, {{"B", query.size(0)}, {"Hkv", key.size(1)}, {"Lk", key.size(2)}, {"Dv"}});
  check_grouped_heads(where, query.size(1), key.size(1));
  check_floating(where, "query", query);
  if (query.scalar_type() == at::kFloat && is_half(key.scalar_type()) && value.scalar_type() == key.scalar_type()) {  // stored in 16 bits, computed in float32
    check_matches(where, "key", key, "query", query.to(key.scalar_type()));
    check_matches(where, "value", value, "key", key);
  } else {
    check_matches(where, "key", key, "query", query);
    check_matches(where, "value", value, "query", query);
  }
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw InvalidArgument(format("{}: expected dropout from 0 to 1, got {}", where, options.dropout));
  if (!(options.soft_cap >= 0 && std::isfinite(options.soft_cap)))
    throw InvalidArgument(format("{}: expected soft_cap ≥ 0, got {}", where, options.soft_cap));
  check_normalizer(where, options);
}

// Whether the fused kernels run. NotSupported where they should and can't.
bool chooses_fused(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const ReadOptions& options, ScoreForm form) {
  const char* reason = obstacle(options, form);
  if (reason == nullptr && !query.device().is_cpu()) reason = other_device;
  if (options.path == Path::fused && reason != nullptr)
    throw NotSupported(format("{}: path \"fused\" is impossible: {}; use \"automatic\" or \"composed\"", where, reason));
  return reason == nullptr && (options.path == Path::fused || (options.path == Path::automatic && (form == ScoreForm::additive || pays(query, key, value, options))));
}

bool all_finite(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& bias) {
  at::NoGradGuard no_gradient;
  return is_finite(query) && (key.is_same(query) || is_finite(key)) && (value.is_same(key) || is_finite(value)) && (!bias || is_finite(*bias));
}

// Which rows are NaN, and the inputs with everything that is not finite taken out.
struct Cleaned {
  Tensor query, key, value;
  std::optional<Tensor> bias;
  Tensor bad_weights, bad_context;  // bool [B, Hq, Lq, 1]
};

Cleaned clean(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Tensors& mask) {
  const std::int64_t heads = query.size(1), Lq = query.size(2);
  const Tensor good_query = finite_rows(query), good_key = finite_rows(key), good_value = finite_rows(value);
  const auto seen = [&](const Tensor& bad) {  // [B, Hq, 1 or Lq, Lk] → [B, Hq, Lq, 1]
    const Tensor visible = mask.keep ? bad & *mask.keep : bad;
    return visible.any(-1, /*keepdim=*/true).expand({query.size(0), heads, Lq, 1});
  };
  const auto per_query_head = [&](const Tensor& good) { return repeat_heads(good, heads).logical_not().unsqueeze(2); };
  Cleaned result{zero_rows(query, good_query), zero_rows(key, good_key), zero_rows(value, good_value), mask.bias, {}, {}};
  // a query that sees nothing gives 0 whatever it holds (as every row without a visible key)
  const Tensor any_key = at::ones({1, 1, 1, key.size(2)}, good_key.options());
  result.bad_weights = seen(per_query_head(good_key)) | (good_query.logical_not().unsqueeze(-1) & seen(any_key));
  if (mask.bias) {
    const Tensor bad_bias = at::isfinite(mask.bias->detach()).logical_not();
    result.bad_weights = result.bad_weights | seen(bad_bias);
    result.bias = mask.bias->masked_fill(bad_bias, 0.0);
  }
  result.bad_context = result.bad_weights | seen(per_query_head(good_value));
  return result;
}

void check_factors(const char* where, const Tensor& factors, const Mask::Sizes& sizes, const Tensor& query) {
  const std::int64_t full[4] = {sizes.B, sizes.H, sizes.Lq, sizes.Lk};
  bool fits = factors.defined() && factors.dim() == 4;
  for (int i = 0; i < 4 && fits; ++i) fits = factors.size(i) == full[i] || factors.size(i) == 1;
  if (!fits)
    throw InvalidArgument(format("{}: expected factors of the window that broadcast to [B, H, Lq, Lk] = {}, got {}", where,
                                 shape_text(at::IntArrayRef(full)), shape_text(factors)));
  check_matches(where, "factors of the window", factors, "query", query);
}

// Hides in `mask` what lies outside the window; its factors come back.
std::optional<Tensor> apply_window(const char* where, const WindowTensors& window, const Mask::Sizes& sizes, const Tensor& query,
                                   Mask::Tensors& mask) {
  if (window.keep) {
    const Tensor inside = *Mask::keep(*window.keep).tensors(where, sizes, query).keep;
    mask.keep = mask.keep ? *mask.keep & inside : inside;
  }
  if (window.factors) check_factors(where, *window.factors, sizes, query);
  return window.factors;
}

// How pairs are scored, and, where the fused kernels are to read it, the form that they take: at most one.
struct PairScores {
  const ScoreFunction& function;
  const DotForm* fused = nullptr;
  const AdditiveForm* additive = nullptr;

  ScoreForm form() const { return fused != nullptr ? ScoreForm::dot : additive != nullptr ? ScoreForm::additive : ScoreForm::any; }
};

// Empty where inputs are unknown and turn out not to be finite.
std::optional<Tensor> read_fused(const Tensor& query, const Tensor& key, const Tensor& value, const DotForm& score, const Mask::Spans& seen,
                                 const std::optional<Tensor>& factors, const ReadOptions& options, Inputs inputs) {
  const auto [q, k] = score.factors ? score.factors(query, key) : std::pair(query, key);
  FusedDotProductOptions how{score.scale, options.soft_cap, options.renormalised, {options.dropout, 0, options.dropout_origin}};
  if (options.dropout > 0) how.dropout.seed = draw_dropout_seed(options.generator);
  return fused_dot_product(q, k, value, seen, factors, how, inputs);                              // [B, Hq, Lq, Dv]
}

// A step of decoding. Empty: not such a call, or its input isn't finite. The query comes in float32 where keys and values are stored in 16 bits.
std::optional<Tensor> read_step(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const PairScores& score, const Mask& mask,
                                const ReadOptions& options) {
  if (score.fused == nullptr || options.return_weights || options.dropout > 0 || !is_step(query, key) || wants_gradients(query, key, value)) return {};
  if (score.fused->factors && key.scalar_type() != query.scalar_type()) return {};
  const Mask::Sizes sizes{query.size(0), query.size(1), query.size(2), key.size(2)};
  Mask::Spans seen = mask.spans(where, sizes, query);
  std::optional<Tensor> factors;
  if (options.window) factors = apply_window(where, options.window(query), sizes, query, seen.rest);
  const auto [q, k] = score.fused->factors ? score.fused->factors(query, key) : std::pair(query, key);
  if (wants_gradients(q, k, factors.value_or(q))) return {};
  return fused_step(q, k, value, seen, factors, {score.fused->scale, options.soft_cap, options.renormalised, {}});
}

// Without the weights, of finite inputs, masks are never made into tensors of all pairs. Empty: not such a call.
std::optional<Tensor> read_without_weights(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const PairScores& score, const Mask& mask,
                                           const ReadOptions& options) {
  if (score.fused == nullptr || options.return_weights) return {};
  const Mask::Sizes sizes{query.size(0), query.size(1), query.size(2), key.size(2)};
  Mask::Spans seen = mask.spans(where, sizes, query);
  if (seen.rest.bias && !is_finite(seen.rest.bias->detach())) return {};
  // the seed of dropout is drawn once, so that with dropout this is known beforehand
  if (options.dropout > 0 && !all_finite(query, key, value, {})) return {};
  std::optional<Tensor> factors;
  if (options.window) factors = apply_window(where, options.window(query), sizes, query, seen.rest);
  return read_fused(query, key, value, *score.fused, seen, factors, options, options.dropout > 0 ? Inputs::finite : Inputs::unknown);
}

struct Weighted {
  Tensor context, weights;
  Tensor log_probability, entropy;
};

Weighted read_fused_additive(const Tensor& query, const Tensor& key, const Tensor& value, const AdditiveForm& score, const Mask::Tensors& mask,
                             const std::optional<Tensor>& factors, const ReadOptions& options) {
  const auto [q, k] = score.terms(query, key);                                                    // [B, Hq, Lq, A], [B, Hq, Lk, A]
  FusedAdditiveOptions how{options.soft_cap, options.renormalised, {options.dropout, 0, options.dropout_origin}};
  if (options.dropout > 0) how.dropout.seed = draw_dropout_seed(options.generator);
  const FusedAdditive read = fused_additive(q, k, repeat_heads(value, query.size(1)), score.energy.to(q.scalar_type()), mask, factors, how);
  return {read.context, read.weights, {}, {}};
}

// Of normalisers that aren't fused themselves.
Tensor fused_scores(const AdditiveForm& score, const Tensor& query, const Tensor& key) {
  const auto [q, k] = score.terms(query, key);
  return fused_additive_score(q, k, score.energy.to(q.scalar_type()));                            // [B, Hq, Lq, Lk]
}

// Scores, soft cap, bias and mask, normaliser, the window's factors, dropout, weighted sum: in this order.
Weighted weigh(const Tensor& query, const Tensor& key, const Tensor& value, const PairScores& score, const Mask::Tensors& mask,
               const std::optional<Tensor>& factors, const ReadOptions& options) {
  if (score.additive != nullptr && options.normalizer == Normalizer::softmax)
    return read_fused_additive(query, key, value, *score.additive, mask, factors, options);
  Tensor fused_context;
  if (score.fused != nullptr) {
    fused_context = *read_fused(query, key, value, *score.fused, {{}, mask}, factors, options, Inputs::finite);  // [B, Hq, Lq, Dv]
    if (!options.return_weights) return {fused_context, {}, {}, {}};
  }
  // a uniform read compares nothing
  const bool compares = options.normalizer != Normalizer::uniform;
  Tensor scores = !compares                   ? at::zeros({query.size(0), query.size(1), query.size(2), key.size(2)}, query.options())
                  : score.additive != nullptr ? fused_scores(*score.additive, query, key)
                                              : score.function(query, key);                       // [B, Hq, Lq, Lk]
  if (options.soft_cap > 0) scores = (scores / options.soft_cap).tanh() * options.soft_cap;
  if (mask.bias) scores = scores + *mask.bias;
  const Normalized normalized = normalize(scores, mask.keep, options);
  Tensor weights = normalized.weights;                                                            // [B, Hq, Lq, Lk]
  if (factors) weights = weights * *factors;
  if (options.renormalised) weights = renormalised(weights);
  if (fused_context.defined()) return {fused_context, weights, {}, {}};
  Tensor used = weights;
  if (options.dropout > 0)
    used = weights * dropout_multipliers(weights.sizes(), options.dropout, draw_dropout_seed(options.generator), weights,
                                         options.dropout_origin);
  return {at::matmul(used, repeat_heads(value, query.size(1))), weights,                          // [B, Hq, Lq, Dv]
          normalized.log_probability, normalized.entropy};
}

AttentionResult read_pairs(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const PairScores& known, const Mask& mask,
                           const ReadOptions& options) {
  check(where, query, key, value, options);
  const PairScores score = chooses_fused(where, query, key, value, options, known.form()) ? known : PairScores{known.function};
  const at::ScalarType type = query.scalar_type();
  if (is_half(key.scalar_type())) {  // libtorch 1.13 has no half products on a CPU
    if (const std::optional<Tensor> context = read_step(where, query.to(at::kFloat), key, value, score, mask, options)) return {context->to(type), {}, {}, {}};
    AttentionResult wide = read_pairs(where, query.to(at::kFloat), key.to(at::kFloat), value.to(at::kFloat), known, mask, options);
    const auto narrow = [type](const Tensor& tensor) { return tensor.defined() ? tensor.to(type) : tensor; };
    return {wide.context.to(type), narrow(wide.weights), narrow(wide.log_probability), narrow(wide.entropy)};
  }
  if (const std::optional<Tensor> context = read_step(where, query, key, value, score, mask, options)) return {*context, {}, {}, {}};
  if (const std::optional<Tensor> context = read_without_weights(where, query, key, value, score, mask, options)) return {*context, {}, {}, {}};
  const Mask::Sizes sizes{query.size(0), query.size(1), query.size(2), key.size(2)};
  Mask::Tensors visible = mask.tensors(where, sizes, query);
  const bool finite = all_finite(query, key, value, visible.bias);
  std::optional<Tensor> factors;
  if (options.window)
    factors = apply_window(where, options.window(finite ? query : zero_rows(query, finite_rows(query))), sizes, query, visible);
  AttentionResult result;
  if (finite) {
    Weighted weighted = weigh(query, key, value, score, visible, factors, options);
    result = {weighted.context, options.return_weights ? weighted.weights : Tensor(), weighted.log_probability, weighted.entropy};
  } else {
    const Cleaned cleaned = clean(query, key, value, visible);
    visible.bias = cleaned.bias;
    Weighted weighted = weigh(cleaned.query, cleaned.key, cleaned.value, score, visible, factors, options);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    result.context = weighted.context.masked_fill(cleaned.bad_context, nan);
    if (options.return_weights) result.weights = weighted.weights.masked_fill(cleaned.bad_weights, nan);
    if (weighted.entropy.defined()) {
      result.log_probability = weighted.log_probability.masked_fill(cleaned.bad_weights.squeeze(-1), nan);
      result.entropy = weighted.entropy.masked_fill(cleaned.bad_weights.squeeze(-1), nan);
    }
  }
  return result;
}

}  // namespace

AttentionResult read(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const ScoreFunction& score,
                     const Mask& mask, const ReadOptions& options) {
  return read_pairs(where, query, key, value, {score}, mask, options);
}

AttentionResult read(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const DotForm& score, const Mask& mask,
                     const ReadOptions& options) {
  const auto factors = [&](const Tensor& q, const Tensor& k) {
    const std::pair<Tensor, Tensor> found = score.factors ? score.factors(q, k) : std::pair(q, k);
    check_shape(where, "query", found.first, {{"B"}, {"Hq"}, {"Lq"}, {"Dk"}});
    check_shape(where, "key", found.second, {{"B", found.first.size(0)}, {"Hkv"}, {"Lk"}, {"Dk", found.first.size(3)}});
    return found;
  };
  DotForm checked = score;
  if (score.factors)
    checked.factors = factors;
  else
    factors(query, key);
  const ScoreFunction pairs = [&](const Tensor& q, const Tensor& k) {
    const auto [own_q, own_k] = factors(q, k);
    return dot_score(own_q, own_k, score.scale, where);
  };
  return read_pairs(where, query, key, value, {pairs, &checked}, mask, options);
}

AttentionResult read(const char* where, const Tensor& query, const Tensor& key, const Tensor& value, const AdditiveForm& score, const Mask& mask,
                     const ReadOptions& options) {
  const auto terms = [&](const Tensor& q, const Tensor& k) {
    const std::pair<Tensor, Tensor> found = score.terms ? score.terms(q, k) : std::pair(q, k);
    check_shape(where, "energy", score.energy, {{"A"}});
    check_shape(where, "the query's term", found.first, {{"B", q.size(0)}, {"Hq", q.size(1)}, {"Lq", q.size(2)}, {"A", score.energy.size(0)}});
    check_shape(where, "the key's term", found.second, {{"B", q.size(0)}, {"Hq", q.size(1)}, {"Lk", k.size(2)}, {"A", score.energy.size(0)}});
    return found;
  };
  const AdditiveForm checked{score.energy, terms};
  const ScoreFunction pairs = [&](const Tensor& q, const Tensor& k) {
    const auto [own_q, own_k] = terms(q, k);
    return additive_score(own_q, own_k, score.energy.to(own_q.scalar_type()));
  };
  return read_pairs(where, query, key, value, {pairs, nullptr, &checked}, mask, options);
}

std::string explain(const ReadOptions& options, ScoreForm form) {
  if (options.path == Path::composed) return "composed: it was asked for";
  if (const char* reason = obstacle(options, form)) return std::string(options.path == Path::fused ? "refused: " : "composed: ") + reason;
  const char* const part = form == ScoreForm::additive && options.normalizer != Normalizer::softmax ? "; the score alone, this normalizer is composed" : "";
  if (options.path == Path::fused) return format("fused: it was asked for{}", part);
  if (form == ScoreForm::additive) return format("fused: on the CPU{}", part);
  return format("fused: on the CPU, for at least {} queries and {} keys, and for steps of decoding, without gradients and weights, of at most {} queries that share keys",
                fewest_queries, fewest_keys, most_step_queries);
}

}  // namespace attend::addressing
