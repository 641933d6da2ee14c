#include "tests/contract/problem.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace attend::contract {
namespace {

std::vector<std::int64_t> mask_shape(const Sizes& sizes, const Full& full) {
  return {full.B ? sizes.B : 1, full.H ? sizes.Hq : 1, full.Lq ? sizes.Lq : 1, full.Lk ? sizes.Lk : 1};
}

MaskPart random_part(MaskPart::Kind kind, const std::vector<std::int64_t>& shape, std::uint64_t seed, double threshold) {
  const Tensor chosen = at::rand(shape, make_generator(seed), at::kDouble) < threshold;
  return {.kind = kind, .shape = shape, .numbers = reference::numbers(chosen)};
}

Mask mask_of_part(const MaskPart& part, Type type) {
  const Align align = part.upper_left ? Align::upper_left : Align::lower_right;
  const auto tensor = [&](at::ScalarType scalar) { return reference::tensor_of(part.numbers, part.shape, scalar); };
  switch (part.kind) {
    case MaskPart::Kind::keep:
      return Mask::keep(tensor(at::kBool));
    case MaskPart::Kind::drop:
      return Mask::drop(tensor(at::kBool));
    case MaskPart::Kind::lengths:
      return Mask::lengths(tensor(at::kLong));
    case MaskPart::Kind::causal:
      return part.upper_left ? Mask::causal(Align::upper_left) : Mask::causal();
    case MaskPart::Kind::band:
      return Mask::band(part.left, part.right, align);
    case MaskPart::Kind::bias:
      return Mask::bias(tensor(scalar_type(type)));
  }
  return {};
}

Tensor random_normal(at::IntArrayRef shape, std::uint64_t seed) { return at::randn(shape, make_generator(seed), at::kDouble); }

// Fixed numbers for Σ cotangent · x.
Tensor cotangent(const Tensor& like, std::uint64_t seed) { return random_normal(like.sizes(), seed).to(like.scalar_type()); }

double weighted_sum(const Numbers& values, const Numbers& factors) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) sum += factors[i] * values[i];
  return sum;
}

}  // namespace

bool is_half(Type type) { return type == Type::float16 || type == Type::bfloat16; }

std::string name_of(const Subject& subject) {
  return subject.mechanism->name + " " + std::string(name_of(subject.path)) + " " + reference::name_of(subject.type);
}

void note(Failures& failures, const std::string& what, const std::string& problem) {
  if (!problem.empty()) failures.push_back(what + ": " + problem);
}

Sizes fit(const Subject& subject, Sizes sizes) {
  const Mechanism::Features& has = subject.mechanism->has;
  if (!has.several_heads) sizes.Hq = 1;
  if (!has.grouped_heads) sizes.Hkv = sizes.Hq;
  if (!has.different_widths) sizes.Dk = sizes.Dq;
  return sizes;
}

at::Generator make_generator(std::uint64_t seed) { return at::detail::createCPUGenerator(seed); }

Problem make_problem(const Subject& subject, const Sizes& wanted_sizes, std::vector<MaskPart> mask, std::uint64_t seed, double spread) {
  const Sizes sizes = fit(subject, wanted_sizes);
  const auto random = [&](at::IntArrayRef shape, std::uint64_t offset) {
    return (random_normal(shape, seed * 1000 + offset) * spread).to(scalar_type(subject.type));
  };
  return {sizes, random({sizes.B, sizes.Hq, sizes.Lq, sizes.Dq}, 1), random({sizes.B, sizes.Hkv, sizes.Lk, sizes.Dk}, 2),
          random({sizes.B, sizes.Hkv, sizes.Lk, sizes.Dv}, 3), std::move(mask), 0};
}

namespace {

std::vector<bool> support(const Subject& subject, const Problem& problem) {
  std::vector<bool> weighs;
  for (const double weight : wanted(subject, problem).weights) weighs.push_back(weight != 0);
  return weighs;
}

bool is_smooth(const Subject& subject, Problem problem) {
  constexpr double farthest = 8e-3;
  const std::vector<bool> here = support(subject, problem);
  for (Tensor* input : {&problem.query, &problem.key}) {
    const Tensor start = *input;
    for (std::int64_t e = 0; e < start.numel(); ++e)
      for (const double offset : {farthest, -farthest}) {
        *input = start.to(at::kDouble).clone();
        input->view(-1)[e] += offset;
        if (support(subject, problem) != here) return false;
      }
    *input = start;
  }
  return true;
}

}  // namespace

Problem make_smooth_problem(const Subject& subject, const Sizes& sizes, std::vector<MaskPart> mask, double spread) {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    Problem problem = make_problem(subject, sizes, mask, seed, spread);
    if (subject.mechanism->has.dense || is_smooth(subject, problem)) return problem;
  }
  throw std::logic_error("no seed below 100 gives a smooth problem");
}

MaskPart keep(const Sizes& sizes, Full full, std::uint64_t seed) {
  return random_part(MaskPart::Kind::keep, mask_shape(sizes, full), seed, 0.6);
}

MaskPart drop(const Sizes& sizes, Full full, std::uint64_t seed) {
  return random_part(MaskPart::Kind::drop, mask_shape(sizes, full), seed, 0.4);
}

MaskPart bias(const Sizes& sizes, Full full, double hidden, std::uint64_t seed) {
  const std::vector<std::int64_t> shape = mask_shape(sizes, full);
  const Tensor steps = (random_normal(shape, seed) * 8).round() / 4;
  const Tensor gone = at::rand(shape, make_generator(seed + 1), at::kDouble) < hidden;
  return {.kind = MaskPart::Kind::bias,
          .shape = shape,
          .numbers = reference::numbers(steps.masked_fill(gone, -std::numeric_limits<double>::infinity()))};
}

MaskPart lengths(std::vector<double> lengths) {
  const auto count = static_cast<std::int64_t>(lengths.size());
  return {.kind = MaskPart::Kind::lengths, .shape = {count}, .numbers = std::move(lengths)};
}

MaskPart causal(bool upper_left) { return {.kind = MaskPart::Kind::causal, .upper_left = upper_left}; }

MaskPart band(std::int64_t left, std::int64_t right, bool upper_left) {
  return {.kind = MaskPart::Kind::band, .left = left, .right = right, .upper_left = upper_left};
}

MaskPart empty_rows(const Sizes& sizes) {
  MaskPart part{.kind = MaskPart::Kind::keep, .shape = {1, 1, sizes.Lq, 1}};
  for (std::int64_t i = 0; i < sizes.Lq; ++i) part.numbers.push_back(i % 3 == 1 ? 0 : 1);
  return part;
}

Mask to_mask(const std::vector<MaskPart>& parts, Type type) {
  Mask mask;
  for (const MaskPart& part : parts) mask = mask & mask_of_part(part, type);
  return mask;
}

Instance make(const Subject& subject, const Sizes& sizes, const Settings& settings) {
  return subject.mechanism->make({.type = subject.type,
                                  .path = subject.path,
                                  .Dq = sizes.Dq,
                                  .Dk = sizes.Dk,
                                  .scale = settings.scale,
                                  .soft_cap = settings.soft_cap,
                                  .dropout = settings.dropout});
}

namespace {

Call call_of(Type type, const Problem& problem, const Settings& settings, bool return_weights) {
  Call call{.query = problem.query, .key = problem.key, .value = problem.value, .mask = to_mask(problem.mask, type)};
  call.return_weights = return_weights;
  call.first_query = problem.first_query;
  call.origin = problem.origin;
  if (settings.dropout > 0) call.generator = make_generator(generator_seed);
  return call;
}

std::vector<Numbers> numbers_of(const std::vector<Tensor>& tensors) {
  std::vector<Numbers> result;
  for (const Tensor& tensor : tensors) result.push_back(reference::numbers(tensor));
  return result;
}

reference::Outcome wanted_at(const Instance& instance, const Problem& problem, const std::vector<Numbers>& inputs,
                             const Settings& settings) {
  const std::vector<Numbers> parameters(inputs.begin() + 3, inputs.end());
  const auto of_parameters = [&](const auto& make) { return make ? make(parameters) : decltype(make(parameters)){}; };
  return reference::attention(problem.sizes, inputs[0], inputs[1], inputs[2], of_parameters(instance.score), problem.mask,
                              {.place_score = of_parameters(instance.place_score),
                               .window = of_parameters(instance.window),
                               .first_query = problem.first_query,
                               .soft_cap = settings.soft_cap,
                               .dropout = settings.dropout,
                               .seed = drawn_seed(instance.seeds),
                               .normalize = instance.normalize});
}

}  // namespace

AttentionResult run(const Subject& subject, const Problem& problem, const Settings& settings, bool return_weights) {
  return make(subject, problem.sizes, settings).run(call_of(subject.type, problem, settings, return_weights));
}

std::uint64_t drawn_seed(int skipped) {
  const at::Generator generator = make_generator(generator_seed);
  for (int i = 0; i < skipped; ++i) addressing::draw_dropout_seed(generator);
  return static_cast<std::uint64_t>(addressing::draw_dropout_seed(generator));
}

reference::Outcome wanted(const Subject& subject, const Problem& problem, const Settings& settings) {
  const Instance instance = make(subject, problem.sizes, settings);
  std::vector<Tensor> inputs = {problem.query, problem.key, problem.value};
  inputs.insert(inputs.end(), instance.parameters.begin(), instance.parameters.end());
  return wanted_at(instance, problem, numbers_of(inputs), settings);
}

void compare(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem, const Settings& settings) {
  const reference::Outcome outcome = wanted(subject, problem, settings);
  const AttentionResult result = run(subject, problem, settings);
  const reference::Tolerance near = tolerance(subject, problem.sizes.Lk);
  using reference::NaN;
  note(failures, what, reference::difference("context", reference::numbers(result.context), outcome.context, near, NaN::where_wanted));
  note(failures, what, reference::difference("weights", reference::numbers(result.weights), outcome.weights, near, NaN::where_wanted));
}

std::string difference(const std::string& name, const Tensor& got, const Tensor& wanted, const reference::Tolerance& tolerance,
                       reference::NaN allowed) {
  if (!got.defined() || !wanted.defined()) return name + ": undefined";
  return reference::difference(name, reference::numbers(got), reference::numbers(wanted), tolerance, allowed);
}

reference::Tolerance tolerance(const Subject& subject, std::int64_t Lk) { return reference::tolerance(subject.type, Lk); }

reference::Tolerance tolerance_between(const Subject& subject, std::int64_t Lk) {
  const reference::Tolerance one = tolerance(subject, Lk);
  return {2 * one.absolute, 2 * one.relative};
}

Differentiable differentiable(const Subject& subject, const Problem& problem, const Settings& settings) {
  Differentiable result{make(subject, problem.sizes, settings), problem, {}};
  for (Tensor* tensor : {&result.problem.query, &result.problem.key, &result.problem.value}) {
    *tensor = tensor->detach().clone().requires_grad_(true);
    result.inputs.push_back(*tensor);
  }
  for (Tensor& parameter : result.instance.parameters) result.inputs.push_back(parameter.requires_grad_(true));
  return result;
}

Tensor loss_of(const AttentionResult& result) {
  const auto sum = [](const Tensor& tensor, std::uint64_t seed) {
    const Tensor there = at::where(tensor.detach().isnan(), at::zeros({}, tensor.options()), tensor);
    return (there.to(at::kDouble) * cotangent(tensor, seed).to(at::kDouble)).sum();
  };
  return sum(result.context, 31) + sum(result.weights, 32);
}

AttentionResult run_at(const Differentiable& at, const Settings& settings) {
  return at.instance.run(call_of(reference::type_of(at.problem.query), at.problem, settings, true));
}

std::vector<Tensor> gradients(const Tensor& of, const std::vector<Tensor>& inputs, bool create_graph) {
  std::vector<Tensor> result(inputs.size());
  if (of.requires_grad()) result = torch::autograd::grad({of}, inputs, {}, create_graph, create_graph, /*allow_unused=*/true);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!result[i].defined()) result[i] = at::zeros_like(inputs[i]);
  return result;
}

std::vector<Numbers> reference_gradients(const Differentiable& at, const Settings& settings) {
  std::vector<Numbers> inputs = numbers_of(at.inputs), result = inputs;
  const Sizes& sizes = at.problem.sizes;
  const auto options = at.problem.query.options().requires_grad(false);
  const auto factors = [&](at::IntArrayRef shape, std::uint64_t seed) {
    return reference::numbers(cotangent(at::empty(shape, options), seed));
  };
  const Numbers of_context = factors({sizes.B, sizes.Hq, sizes.Lq, sizes.Dv}, 31),
                of_weights = factors({sizes.B, sizes.Hq, sizes.Lq, sizes.Lk}, 32);
  const auto loss = [&] {
    const reference::Outcome outcome = wanted_at(at.instance, at.problem, inputs, settings);
    return weighted_sum(outcome.context, of_context) + weighted_sum(outcome.weights, of_weights);
  };
  constexpr double step = 1e-3;
  for (std::size_t n = 0; n < inputs.size(); ++n)
    for (std::size_t e = 0; e < inputs[n].size(); ++e) {
      const double here = inputs[n][e];
      const auto loss_at = [&](double offset) {
        inputs[n][e] = here + offset;
        return loss();
      };
      const double near = loss_at(step) - loss_at(-step), far = loss_at(2 * step) - loss_at(-2 * step);
      result[n][e] = (8 * near - far) / (12 * step);
      inputs[n][e] = here;
    }
  return result;
}

}  // namespace attend::contract
