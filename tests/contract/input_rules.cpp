// Rule 19: what is refused, in which words; and sizes of 0, which are not.
#include <limits>

#include "attend/addressing/attention.h"
#include "attend/base/error.h"
#include "attend/core/shapes.h"
#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

const Sizes sound{.B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lk = 5, .Dq = 3, .Dk = 3, .Dv = 4};

// Runs `call` and wants an exception of type E whose message begins with the mechanism's name and holds each of `parts`.
template <class E>
void refuses(Failures& failures, const std::string& what, const std::string& where, const std::vector<std::string>& parts,
             const std::function<void()>& call) {
  try {
    call();
    failures.push_back(what + ": was taken");
  } catch (const E& error) {
    const std::string message = error.what();
    if (message.find(where + ": expected ") != 0) failures.push_back(what + ": doesn't begin with \"" + where + ": expected\": " + message);
    for (const std::string& part : parts)
      if (message.find(part) == std::string::npos) failures.push_back(what + ": \"" + part + "\" is missing in: " + message);
  } catch (const std::exception& error) {
    failures.push_back(what + ": has another type of exception: " + error.what());
  }
}

// Tensors as the mechanism takes them.
struct Taken {
  Tensor query, key, value;
};

Taken taken_by(const Subject& subject, const Problem& problem) {
  if (!subject.mechanism->has.module) return {problem.query, problem.key, problem.value};
  return {problem.query.squeeze(1), problem.key.squeeze(1), problem.value.squeeze(1)};
}

// One more along a dimension.
Tensor longer(const Tensor& tensor, std::int64_t dimension) { return at::cat({tensor, tensor.narrow(dimension, 0, 1)}, dimension); }

void check_shapes(Failures& failures, const Subject& subject) {
  const Mechanism& mechanism = *subject.mechanism;
  const Sizes sizes = fit(subject, sound);
  const Instance instance = make(subject, sizes);
  const Taken good = taken_by(subject, make_problem(subject, sizes));
  const auto refused = [&](const std::string& what, const std::string& argument, const std::string& axes, const Tensor& bad,
                           std::vector<std::string> parts) {
    Taken call = good;
    (argument == "query" ? call.query : argument == "key" ? call.key : call.value) = bad;
    parts.push_back("expected " + argument + " " + axes);
    parts.push_back("got " + shape_text(bad));
    refuses<InvalidArgument>(failures, what, mechanism.where, parts, [&] { instance.run({call.query, call.key, call.value}); });
  };
  const std::int64_t length = good.query.dim() - 2;
  for (const auto& [argument, axes, tensor] : {std::tuple{"query", mechanism.query_axes, good.query},
                                               {"key", mechanism.key_axes, good.key},
                                               {"value", mechanism.value_axes, good.value}}) {
    const std::string name = argument;
    refused(name + " with a dimension too few", name, axes, tensor.select(0, 0), {});
    refused(name + " with a dimension too many", name, axes, tensor.unsqueeze(0), {});
    refused("undefined " + name, name, axes, Tensor(), {"an undefined tensor"});
    if (name != "query") refused(name + " with another batch", name, axes, longer(tensor, 0), {"B = 2"});
  }
  refused("value with another length", "value", mechanism.value_axes, longer(good.value, length), {"Lk = 5"});
  if (!mechanism.has.different_widths) refused("key with another width", "key", mechanism.key_axes, longer(good.key, -1), {" = 3"});
  if (mechanism.has.several_heads) refused("value with other heads", "value", mechanism.value_axes, longer(good.value, 1), {"Hkv = 2"});
  if (mechanism.has.module) refused("query with another width", "query", mechanism.query_axes, longer(good.query, -1), {"Eq = 3"});
}

void check_types(Failures& failures, const Subject& subject) {
  const std::string& where = subject.mechanism->where;
  const Sizes sizes = fit(subject, sound);
  const Instance instance = make(subject, sizes);
  const Taken good = taken_by(subject, make_problem(subject, sizes));
  const at::ScalarType other = subject.type == Type::float64 ? at::kFloat : at::kDouble;
  const auto type = [](at::ScalarType scalar) { return std::string(at::toString(scalar)); };
  refuses<InvalidArgument>(failures, "key of another type", where,
                           {"expected key of the type of query (" + type(scalar_type(subject.type)) + "), got " + type(other)}, [&] {
                             instance.run({good.query, good.key.to(other), good.value});
                           });
  refuses<InvalidArgument>(failures, "value of another type", where,
                           {"expected value of the type of query (" + type(scalar_type(subject.type)) + "), got " + type(other)}, [&] {
                             instance.run({good.query, good.key, good.value.to(other)});
                           });
  for (const at::ScalarType whole : {at::kLong, at::kInt, at::kBool, at::kComplexFloat})
    refuses<NotSupported>(failures, "tensors of type " + type(whole), where,
                          {"expected query of a floating-point type, got " + type(whole)}, [&] {
                            instance.run({good.query.to(whole), good.key.to(whole), good.value.to(whole)});
                          });
}

void check_lengths_and_masks(Failures& failures, const Subject& subject) {
  const std::string& where = subject.mechanism->where;
  const Sizes sizes = fit(subject, sound);
  const Instance instance = make(subject, sizes);
  const Taken good = taken_by(subject, make_problem(subject, sizes));
  const auto refused = [&](const std::string& what, const std::vector<std::int64_t>& lengths, const std::string& part) {
    refuses<InvalidArgument>(failures, what, where, {part}, [&] {
      instance.run({good.query, good.key, good.value, Mask::lengths(at::tensor(lengths, at::kLong))});
    });
  };
  refused("lengths of another batch", {5, 5, 5}, "expected lengths [B] with B = 2, got [3]");
  refused("a length beyond Lk", {5, 6}, "expected lengths from 0 to Lk = 5, got 5 to 6");
  refused("a negative length", {-1, 5}, "expected lengths from 0 to Lk = 5, got -1 to 5");
  const auto constructor = [&](const std::string& what, const std::string& name, const std::string& part,
                               const std::function<Mask()>& make_mask) {
    refuses<InvalidArgument>(failures, what, "attend::Mask::" + name, {part}, [&] { make_mask(); });
  };
  constructor("numbers as keep", "keep", "true = may be attended to", [] { return Mask::keep(at::ones({3, 5})); });
  constructor("integers as drop", "drop", "true = must not be attended to", [] { return Mask::drop(at::ones({3, 5}, at::kInt)); });
  constructor("booleans as bias", "bias", "added to the scores", [] { return Mask::bias(at::ones({3, 5}, at::kBool)); });
  constructor("undefined keep", "keep", "undefined", [] { return Mask::keep(Tensor()); });
  constructor("lengths of 32 bits", "lengths", "int64 tensor [B], got Int [2]", [] { return Mask::lengths(at::ones({2}, at::kInt)); });
  constructor("lengths with two dimensions", "lengths", "int64 tensor [B], got Long [2, 1]", [] {
    return Mask::lengths(at::ones({2, 1}, at::kLong));
  });
  constructor("a band that runs backwards", "band", "left ≥ 0 and right ≥ 0, got -1 and 0", [] { return Mask::band(-1, 0); });
}

void check_options(Failures& failures, const Subject& subject) {
  const std::string& where = subject.mechanism->where;
  const Sizes sizes = fit(subject, sound);
  const Problem problem = make_problem(subject, sizes);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](const std::string& what, const Settings& settings, const std::string& part) {
    refuses<InvalidArgument>(failures, what, where, {part}, [&] { run(subject, problem, settings); });
  };
  for (const double dropout : {-0.1, 1.5, nan}) {
    const auto call = [&] {
      const Instance instance = make(subject, sizes, {.dropout = dropout});
      instance.run({problem.query, problem.key, problem.value});
    };
    refuses<InvalidArgument>(failures, format("dropout {}", dropout), where, {"expected dropout from 0 to "}, call);
  }
  if (subject.mechanism->has.soft_cap)
    for (const double soft_cap : {-1.0, nan}) refused(format("soft cap {}", soft_cap), {.soft_cap = soft_cap}, "expected soft_cap ≥ 0");
  if (subject.mechanism->has.scale) refused("scale NaN", {.scale = nan}, "expected a finite scale");
}

void check_empty_sizes(Failures& failures, const Subject& subject) {
  const auto valid = [&](const std::string& what, const Sizes& wanted_sizes, std::vector<MaskPart> mask = {}) {
    const Sizes sizes = fit(subject, wanted_sizes);
    const Problem problem = make_problem(subject, sizes, std::move(mask));
    const Differentiable at = differentiable(subject, problem);
    const AttentionResult result =
        at.instance.run({at.problem.query, at.problem.key, at.problem.value, to_mask(problem.mask, subject.type)});
    const std::vector<std::int64_t> context = {sizes.B, sizes.Hq, sizes.Lq, sizes.Dv}, weights = {sizes.B, sizes.Hq, sizes.Lq, sizes.Lk};
    if (result.context.sizes() != context) failures.push_back(what + ": context " + shape_text(result.context));
    if (result.weights.sizes() != weights) failures.push_back(what + ": weights " + shape_text(result.weights));
    if (!(result.context == 0).all().item<bool>()) failures.push_back(what + ": context isn't 0");
    for (const Tensor& gradient : gradients(loss_of(result), at.inputs))
      if (!(gradient == 0).all().item<bool>()) failures.push_back(what + ": a gradient isn't 0");
  };
  for (const int with_mask : {0, 1}) {
    const auto mask = [&](const Sizes& sizes) {
      std::vector<double> full(static_cast<std::size_t>(sizes.B), static_cast<double>(sizes.Lk));
      return with_mask ? std::vector<MaskPart>{causal(), lengths(full), bias(fit(subject, sizes))} : std::vector<MaskPart>{};
    };
    const std::string suffix = with_mask ? ", with masks" : "";
    Sizes no_batch = sound, no_queries = sound, no_keys = sound, nothing = sound;
    no_batch.B = 0, no_queries.Lq = 0, no_keys.Lk = 0, nothing.B = nothing.Lq = nothing.Lk = 0;
    valid("B = 0" + suffix, no_batch, mask(no_batch));
    valid("Lq = 0" + suffix, no_queries, mask(no_queries));
    valid("Lk = 0" + suffix, no_keys, mask(no_keys));
    valid("all of them 0" + suffix, nothing, mask(nothing));
  }
}

}  // namespace

Failures bad_input(const Subject& subject) {
  Failures failures;
  check_shapes(failures, subject);
  check_types(failures, subject);
  check_lengths_and_masks(failures, subject);
  check_options(failures, subject);
  check_empty_sizes(failures, subject);
  return failures;
}

}  // namespace attend::contract
