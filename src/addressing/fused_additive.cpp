#include "addressing/fused_additive.h"

#include <algorithm>
#include <vector>

#include "addressing/normalize.h"
#include "attend/addressing/scores/additive.h"
#include "core/fused_operation.h"
#include "kernels/additive_scores.h"
#include "kernels/soft_read.h"

namespace attend::addressing {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t queries_at_once = kernels::additive_block_queries;
static_assert(queries_at_once == kernels::soft_read_block_queries);

struct AdditivePairs {
  Tensor query, key, energy;  // [B, H, Lq, A], [B, H, Lk, A], [A]; rows close

  std::int64_t batch() const { return query.size(0); }
  std::int64_t heads() const { return query.size(1); }
  std::int64_t queries() const { return query.size(2); }
  std::int64_t keys() const { return key.size(2); }
  std::int64_t hidden() const { return query.size(3); }
  std::int64_t all_heads() const { return query.size(0) * query.size(1); }
  std::int64_t blocks() const { return (query.size(2) + queries_at_once - 1) / queries_at_once; }
};

struct AdditiveInput {
  AdditivePairs pairs;
  Tensor value;                // [B, H, Lk, Dv]
  Tensor keep, bias, factors;  // expanded to [B, H, Lq, Lk], rows close; undefined where there is none
  FusedAdditiveOptions options;

  kernels::SoftReadSizes read_sizes() const { return {value.size(2), value.size(3)}; }
};

// --- what all passes know of a head --------------------------------------------------------------------------------------------------

kernels::AdditiveSizes score_sizes(const AdditivePairs& pairs) { return {pairs.keys(), pairs.hidden(), 0}; }

// How many keys, from the first, some query of `first` … first + count − 1 may see.
std::int64_t seen_keys(const AdditiveInput& input, std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count) {
  const std::int64_t keys = input.pairs.keys();
  if (!input.keep.defined()) return keys;
  const Rows<const bool> keep(input.keep);
  std::int64_t seen = 0;
  for (std::int64_t i = first; i < first + (keep.row == 0 ? 1 : count); ++i) {
    const bool* row = keep.at(b, h, i);
    std::int64_t last = keys;
    while (last > seen && !row[last - 1]) --last;
    seen = last;
  }
  return seen;
}

template <class T>
kernels::SoftReadRules<T> rules_of(const AdditiveInput& input, std::int64_t b, std::int64_t h, std::int64_t first) {
  kernels::SoftReadRules<T> rules;
  rules.soft_cap = input.options.soft_cap, rules.renormalised = input.options.renormalised;
  if (input.keep.defined()) {
    const Rows<const bool> keep(input.keep);
    rules.keep = keep.at(b, h, first), rules.keep_stride = keep.row;
  }
  if (input.bias.defined()) {
    const Rows<const T> bias(input.bias);
    rules.bias = bias.at(b, h, first), rules.bias_stride = bias.row;
  }
  if (input.factors.defined()) {
    const Rows<const T> factors(input.factors);
    rules.factors = factors.at(b, h, first), rules.factors_stride = factors.row;
  }
  const DropoutDraw& dropout = input.options.dropout;
  rules.dropout = dropout.probability, rules.seed = static_cast<std::uint64_t>(dropout.seed);
  rules.batch = static_cast<std::uint32_t>(dropout.origin.batch + b), rules.head = static_cast<std::uint32_t>(dropout.origin.head + h);
  rules.first_row = static_cast<std::uint32_t>(dropout.origin.query + first), rules.first_column = dropout.origin.key;
  return rules;
}

// Calls each(b, h, first query, count) for all blocks of queries.
template <class F>
void for_blocks(const AdditivePairs& pairs, const F& each) {
  const std::int64_t blocks = pairs.blocks();
  in_parallel(pairs.all_heads() * blocks, [&](std::int64_t task) {
    const std::int64_t head = task / blocks, first = task % blocks * queries_at_once;
    each(head / pairs.heads(), head % pairs.heads(), first, std::min(queries_at_once, pairs.queries() - first));
  });
}

// --- forward -------------------------------------------------------------------------------------------------------------------------

// The keys' exponentials, of all heads.
template <class T>
struct KeyExponentials {
  Tensor panels, largest;  // [B · H, size], [B · H, Lk]

  explicit KeyExponentials(const AdditivePairs& pairs) {
    const kernels::AdditiveSizes sizes = score_sizes(pairs);
    panels = at::empty({pairs.all_heads(), kernels::additive_exponentials_size<T>(sizes)}, pairs.query.options());
    largest = at::empty({pairs.all_heads(), sizes.keys}, pairs.query.options());
    const Rows<const T> key(pairs.key);
    constexpr std::int64_t chunk = 16;
    const std::int64_t chunks = (sizes.keys + chunk - 1) / chunk;
    in_parallel(pairs.all_heads() * chunks, [&](std::int64_t task) {
      const std::int64_t head = task / chunks, first = task % chunks * chunk;
      kernels::additive_exponentials(sizes, first, std::min(chunk, sizes.keys - first), key.at(head / pairs.heads(), head % pairs.heads(), 0), key.row,
                                     panels.data_ptr<T>() + head * panels.size(1), largest.data_ptr<T>() + head * sizes.keys);
    });
  }
};

template <class T>
kernels::AdditiveScores<T> score_block(const AdditivePairs& pairs, const KeyExponentials<T>& exponentials, std::int64_t b, std::int64_t h, std::int64_t first,
                                       std::int64_t count) {
  const Rows<const T> query(pairs.query), key(pairs.key);
  const std::int64_t head = b * pairs.heads() + h;
  kernels::AdditiveScores<T> block;
  block.queries = count, block.keys = pairs.keys();
  block.query = query.at(b, h, first), block.query_stride = query.row;
  block.key = key.at(b, h, 0), block.key_stride = key.row;
  block.exponentials = exponentials.panels.template data_ptr<T>() + head * exponentials.panels.size(1);
  block.largest = exponentials.largest.template data_ptr<T>() + head * pairs.keys();
  block.energy = pairs.energy.data_ptr<T>();
  return block;
}

template <class T>
Tensor forward_scores(const AdditivePairs& pairs) {
  const kernels::AdditiveSizes sizes = score_sizes(pairs);
  const Tensor scores = at::empty({pairs.batch(), pairs.heads(), pairs.queries(), pairs.keys()}, pairs.query.options());
  const Rows<T> out(scores);
  const KeyExponentials<T> exponentials(pairs);
  for_blocks(pairs, [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count) {
    kernels::AdditiveScores<T> block = score_block(pairs, exponentials, b, h, first, count);
    block.scores = out.at(b, h, first), block.scores_stride = out.row;
    block.scratch = thread_scratch<T>(kernels::additive_scores_scratch_size<T>(sizes));
    kernels::additive_scores(sizes, block);
  });
  return scores;
}

struct AdditiveOutput {
  Tensor context;        // [B, H, Lq, Dv]
  Tensor weights;        // [B, H, Lq, Lk]: the probabilities themselves where there are no factors
  Tensor probabilities;  // [B, H, Lq, Lk]
  Tensor capped;         // [B, H, Lq, Lk]; undefined without a soft cap
};

template <class T>
AdditiveOutput forward_read(const AdditiveInput& input) {
  const AdditivePairs& pairs = input.pairs;
  const kernels::AdditiveSizes sizes = score_sizes(pairs);
  const kernels::SoftReadSizes read_sizes = input.read_sizes();
  const auto per_pair = [&] { return at::empty({pairs.batch(), pairs.heads(), pairs.queries(), pairs.keys()}, pairs.query.options()); };
  AdditiveOutput output;
  output.context = at::empty({pairs.batch(), pairs.heads(), pairs.queries(), read_sizes.values}, pairs.query.options());
  output.probabilities = per_pair();
  output.weights = input.factors.defined() ? per_pair() : output.probabilities;
  if (input.options.soft_cap > 0) output.capped = per_pair();
  const Rows<T> context(output.context), probabilities(output.probabilities), weights(output.weights);
  const Rows<T> capped = output.capped.defined() ? Rows<T>(output.capped) : Rows<T>();
  const Rows<const T> value(input.value);
  const std::int64_t stride = kernels::soft_read_stride(sizes.keys), score_scratch = kernels::additive_scores_scratch_size<T>(sizes);
  const KeyExponentials<T> exponentials(pairs);
  for_blocks(pairs, [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count) {
    T* const scores = thread_scratch<T>(queries_at_once * stride + kernels::soft_read_scratch_size(read_sizes) + score_scratch);
    T* const read_scratch = scores + queries_at_once * stride;
    kernels::AdditiveScores<T> block = score_block(pairs, exponentials, b, h, first, count);
    block.keys = seen_keys(input, b, h, first, count);
    block.scores = scores, block.scores_stride = stride;
    block.scratch = read_scratch + kernels::soft_read_scratch_size(read_sizes);
    kernels::additive_scores(sizes, block);
    kernels::SoftRead<T> read;
    read.queries = count, read.keys = block.keys;
    read.scores = scores;
    read.rules = rules_of<T>(input, b, h, first);
    read.value = value.at(b, h, 0), read.value_stride = value.row;
    read.probabilities = probabilities.at(b, h, first), read.capped = capped.at(b, h, first);
    read.weights = input.factors.defined() ? weights.at(b, h, first) : nullptr;
    read.context = context.at(b, h, first), read.context_stride = context.row;
    read.scratch = read_scratch;
    kernels::soft_read(read_sizes, read);
  });
  return output;
}

// --- backward ------------------------------------------------------------------------------------------------------------------------

struct AdditiveGradients {
  Tensor query, key, value, energy, bias, factors;
};

// From gradients of scores [B, H, Lq, Lk], contiguous.
template <class T>
void backward_scores(const AdditivePairs& pairs, const Tensor& scores_gradient, AdditiveGradients& gradients) {
  const kernels::AdditiveSizes sizes = score_sizes(pairs);
  const auto options = pairs.query.options();
  gradients.query = at::empty(pairs.query.sizes(), options);
  gradients.key = at::empty(pairs.key.sizes(), options);
  const Tensor of_energy = at::empty({pairs.all_heads(), sizes.hidden}, options);                 // of each head
  const Rows<const T> query(pairs.query), key(pairs.key);
  const std::int64_t units = kernels::additive_units<T>(), parts = (sizes.hidden + units - 1) / units;
  in_parallel(pairs.all_heads() * parts, [&](std::int64_t task) {
    const std::int64_t head = task / parts, b = head / pairs.heads(), h = head % pairs.heads();
    kernels::AdditiveScoresBackward<T> block;
    block.queries = pairs.queries(), block.keys = sizes.keys, block.first_unit = task % parts * units;
    block.query = query.at(b, h, 0), block.query_stride = query.row;
    block.key = key.at(b, h, 0), block.key_stride = key.row;
    block.energy = pairs.energy.data_ptr<T>();
    block.scores_gradient = scores_gradient.data_ptr<T>() + head * pairs.queries() * sizes.keys, block.scores_gradient_stride = sizes.keys;
    block.query_gradient = gradients.query.template data_ptr<T>() + head * pairs.queries() * sizes.hidden;
    block.key_gradient = gradients.key.template data_ptr<T>() + head * sizes.keys * sizes.hidden;
    block.energy_gradient = of_energy.data_ptr<T>() + head * sizes.hidden;
    block.scratch = thread_scratch<T>(kernels::additive_backward_scratch_size<T>(pairs.queries(), sizes.keys));
    kernels::additive_scores_backward(sizes, block);
  });
  gradients.energy = at::zeros({sizes.hidden}, options);
  T* const sum = gradients.energy.template data_ptr<T>();
  for (std::int64_t head = 0; head < pairs.all_heads(); ++head)  // in one order, whatever the threads
    for (std::int64_t a = 0; a < sizes.hidden; ++a) sum[a] += of_energy.data_ptr<T>()[head * sizes.hidden + a];
}

// Gradients of values, from what they were read with [B, H, Lq, Lk].
template <class T>
Tensor backward_values(const AdditiveInput& input, const Tensor& used, const Tensor& context_gradient) {
  const kernels::SoftReadSizes sizes = input.read_sizes();
  const AdditivePairs& pairs = input.pairs;
  const Tensor gradient = at::empty(input.value.sizes(), input.value.options());
  const Rows<const T> upstream(context_gradient);
  constexpr std::int64_t chunk = 16;
  const std::int64_t chunks = (sizes.keys + chunk - 1) / chunk;
  in_parallel(pairs.all_heads() * chunks, [&](std::int64_t task) {
    const std::int64_t head = task / chunks;
    kernels::SoftReadValues<T> block;
    block.queries = pairs.queries(), block.first_key = task % chunks * chunk, block.count = std::min(chunk, sizes.keys - block.first_key);
    block.used = used.data_ptr<T>() + head * pairs.queries() * sizes.keys;
    block.context_gradient = upstream.at(head / pairs.heads(), head % pairs.heads(), 0), block.context_gradient_stride = upstream.row;
    block.value_gradient = gradient.data_ptr<T>() + head * sizes.keys * sizes.values;
    kernels::soft_read_value_gradient(sizes, block);
  });
  return gradient;
}

// Upstream gradients are undefined where there are none.
template <class T>
AdditiveGradients backward_read(const AdditiveInput& input, const AdditiveOutput& output, const Tensor& of_context, const Tensor& of_weights) {
  const AdditivePairs& pairs = input.pairs;
  const kernels::SoftReadSizes sizes = input.read_sizes();
  const auto per_pair = [&](bool wanted) { return wanted ? at::empty(output.probabilities.sizes(), pairs.query.options()) : Tensor(); };
  const auto rows = [](const Tensor& tensor) { return tensor.defined() ? Rows<T>(tensor) : Rows<T>(); };
  const auto wanted = [](const Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  AdditiveGradients gradients;
  gradients.bias = per_pair(wanted(input.bias)), gradients.factors = per_pair(wanted(input.factors));
  const bool used_are_probabilities = !input.factors.defined() && input.options.dropout.probability == 0;
  const Tensor scores = per_pair(true), used = per_pair(!used_are_probabilities);                 // [B, H, Lq, Lk]
  const Tensor upstream = of_context.defined() ? with_close_rows(of_context) : Tensor(), weights_upstream = of_weights.defined() ? of_weights.contiguous() : Tensor();
  const Rows<T> of_scores(scores), of_bias = rows(gradients.bias), of_factors = rows(gradients.factors), used_rows = rows(used);
  const Rows<T> of_contexts = rows(upstream), of_all_weights = rows(weights_upstream), probabilities(output.probabilities), capped = rows(output.capped);
  const Rows<const T> value(input.value);
  for_blocks(pairs, [&](std::int64_t b, std::int64_t h, std::int64_t first, std::int64_t count) {
    kernels::SoftReadBackward<T> block;
    block.queries = count, block.keys = seen_keys(input, b, h, first, count);
    block.rules = rules_of<T>(input, b, h, first);
    block.probabilities = probabilities.at(b, h, first), block.capped = capped.at(b, h, first);
    block.value = value.at(b, h, 0), block.value_stride = value.row;
    block.context_gradient = of_contexts.at(b, h, first), block.context_gradient_stride = of_contexts.row;
    block.weights_gradient = of_all_weights.at(b, h, first);
    block.scores_gradient = of_scores.at(b, h, first);
    block.bias_gradient = of_bias.at(b, h, first), block.factors_gradient = of_factors.at(b, h, first);
    block.used = used_rows.at(b, h, first);
    block.scratch = thread_scratch<T>(kernels::soft_read_scratch_size(sizes));
    kernels::soft_read_backward(sizes, block);
  });
  if (upstream.defined()) gradients.value = backward_values<T>(input, used_are_probabilities ? output.probabilities : used, upstream);
  backward_scores<T>(pairs, scores, gradients);
  return gradients;
}

// --- composed: what a second derivative is computed with -----------------------------------------------------------------------------

FusedAdditive composed_read(const AdditiveInput& input) {
  Tensor scores = additive_score(input.pairs.query, input.pairs.key, input.pairs.energy);         // [B, H, Lq, Lk]
  if (input.options.soft_cap > 0) scores = (scores / input.options.soft_cap).tanh() * input.options.soft_cap;
  if (input.bias.defined()) scores = scores + input.bias;
  Tensor weights = normalize(scores, input.keep.defined() ? std::optional<Tensor>(input.keep) : std::nullopt, {}).weights;
  if (input.factors.defined()) weights = weights * input.factors;
  if (input.options.renormalised) weights = renormalised(weights);
  Tensor used = weights;
  const DropoutDraw& dropout = input.options.dropout;
  if (dropout.probability > 0) used = weights * dropout_multipliers(weights.sizes(), dropout.probability, dropout.seed, weights, dropout.origin);
  return {at::matmul(used, input.value), weights};                                                // [B, H, Lq, Dv]
}

// Gradients that can be differentiated again.
AdditiveGradients composed_gradients(const AdditiveInput& input, const Tensor& of_context, const Tensor& of_weights) {
  const FusedAdditive read = composed_read(input);
  std::vector<Tensor> outputs, upstream;
  for (const auto& [output, gradient] : {std::pair(read.context, of_context), std::pair(read.weights, of_weights)})
    if (gradient.defined() && output.requires_grad()) outputs.push_back(output), upstream.push_back(gradient);
  if (outputs.empty()) return {};
  const std::vector<Tensor> found = differentiable_gradients(
      outputs, upstream, {input.pairs.query, input.pairs.key, input.value, input.pairs.energy, input.bias, input.factors});
  return {found[0], found[1], found[2], found[3], found[4], found[5]};
}

// --- as operations of autograd -------------------------------------------------------------------------------------------------------

// Inputs in order: query, key, value, energy, keep, bias, factors. libtorch takes no undefined inputs here: what isn't there is an empty tensor.
class FusedAdditiveRead : public torch::autograd::Function<FusedAdditiveRead> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& energy, const Tensor& keep,
                               const Tensor& bias, const Tensor& factors, const FusedAdditiveOptions& options) {
    const AdditiveInput input = input_of({query, key, value, energy, keep, bias, factors}, options);
    const AdditiveOutput output = query.scalar_type() == at::kDouble ? forward_read<double>(input) : forward_read<float>(input);
    context->save_for_backward({query, key, value, energy, keep, bias, factors, output.probabilities, output.capped});
    context->set_materialize_grads(false);
    auto& data = context->saved_data;
    data["soft_cap"] = options.soft_cap, data["renormalised"] = options.renormalised;
    data["dropout"] = options.dropout.probability, data["seed"] = options.dropout.seed;
    const DropoutOrigin& origin = options.dropout.origin;
    data["origin"] = std::vector<std::int64_t>{origin.batch, origin.head, origin.query, origin.key};
    return {output.context, output.weights};
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const std::vector<std::int64_t> origin = data["origin"].toIntVector();
    const FusedAdditiveOptions options{data["soft_cap"].toDouble(), data["renormalised"].toBool(),
                                       {data["dropout"].toDouble(), data["seed"].toInt(), {origin[0], origin[1], origin[2], origin[3]}}};
    const AdditiveInput input = input_of(saved, options);
    AdditiveGradients all;
    if (at::GradMode::is_enabled())
      all = composed_gradients(input, upstream[0], upstream[1]);
    else if (input.value.scalar_type() == at::kDouble)
      all = backward_read<double>(input, {{}, {}, saved[7], saved[8]}, upstream[0], upstream[1]);
    else
      all = backward_read<float>(input, {{}, {}, saved[7], saved[8]}, upstream[0], upstream[1]);
    return {all.query, all.key, all.value, all.energy, Tensor(), all.bias, all.factors, Tensor()};
  }

 private:
  static AdditiveInput input_of(const variable_list& saved, const FusedAdditiveOptions& options) {
    const auto optional = [](const Tensor& tensor) { return tensor.dim() == 4 ? tensor : Tensor(); };
    return {{saved[0], saved[1], saved[3]}, saved[2], optional(saved[4]), optional(saved[5]), optional(saved[6]), options};
  }
};

class FusedAdditiveScore : public torch::autograd::Function<FusedAdditiveScore> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& energy) {
    context->save_for_backward({query, key, energy});
    const AdditivePairs pairs{query, key, energy};
    return query.scalar_type() == at::kDouble ? forward_scores<double>(pairs) : forward_scores<float>(pairs);
  }

  static variable_list backward(AutogradContext* context, variable_list upstream) {
    const variable_list saved = context->get_saved_variables();
    const AdditivePairs pairs{saved[0], saved[1], saved[2]};
    if (at::GradMode::is_enabled()) return differentiable_gradients({additive_score(saved[0], saved[1], saved[2])}, {upstream[0]}, saved);
    AdditiveGradients all;
    if (pairs.query.scalar_type() == at::kDouble)
      backward_scores<double>(pairs, upstream[0].contiguous(), all);
    else
      backward_scores<float>(pairs, upstream[0].contiguous(), all);
    return {all.query, all.key, all.energy};
  }
};

}  // namespace

FusedAdditive fused_additive(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& energy, const Mask::Tensors& mask,
                             const std::optional<Tensor>& factors, const FusedAdditiveOptions& options) {
  const auto wide = [&](const std::optional<Tensor>& tensor) { return tensor ? expanded(*tensor, query, key.size(2)) : Tensor(); };
  const Tensor keep = wide(mask.keep), bias = wide(mask.bias), wide_factors = wide(factors);
  if (query.numel() == 0 || key.numel() == 0 || value.numel() == 0)  // nothing to read, or nobody to read it
    return composed_read({{query, key, energy}, value, keep, bias, wide_factors, options});
  const Tensor none = at::empty({0}, query.options());
  const auto or_none = [&](const Tensor& tensor) { return tensor.defined() ? tensor : none; };
  const variable_list read = FusedAdditiveRead::apply(with_close_rows(query), with_close_rows(key), with_close_rows(value), energy.contiguous(), or_none(keep),
                                                      or_none(bias), or_none(wide_factors), options);
  return {read[0], read[1]};
}

Tensor fused_additive_score(const Tensor& query, const Tensor& key, const Tensor& energy) {
  if (query.numel() == 0 || key.numel() == 0) return additive_score(query, key, energy);
  return FusedAdditiveScore::apply(with_close_rows(query), with_close_rows(key), energy.contiguous());
}

}  // namespace attend::addressing
