// Problems for the rules: random tensors, masks said once and read twice (by the library and by the reference), and what a run gave.
#pragma once

#include <string>
#include <vector>

#include "tests/contract/mechanism.h"
#include "tests/reference/attention.h"
#include "tests/reference/tolerance.h"

namespace attend::contract {

using reference::MaskPart;
using reference::Sizes;

// What a rule is checked on: one column of the matrix.
struct Subject {
  const Mechanism* mechanism;
  Path path;
  Type type;
};
std::string name_of(const Subject& subject);
bool is_half(Type type);

// What went wrong, one text each. Empty: the rule holds.
using Failures = std::vector<std::string>;
void note(Failures& failures, const std::string& what, const std::string& problem);  // nothing where `problem` is empty

struct Settings {
  std::optional<double> scale = {};
  double soft_cap = 0, dropout = 0;
};

struct Problem {
  Sizes sizes;
  Tensor query, key, value;  // [B, Hq, Lq, Dq], [B, Hkv, Lk, Dk], [B, Hkv, Lk, Dv], already rounded to the type
  std::vector<MaskPart> mask;
  std::int64_t first_query = 0;
  addressing::DropoutOrigin origin = {};  // where it begins in a larger one
};

// The sizes as far as the mechanism has them: one head, heads that are not grouped, one width for queries and keys.
Sizes fit(const Subject& subject, Sizes sizes);
// Numbers from N(0, spread²), so that softmax is peaky.
Problem make_problem(const Subject& subject, const Sizes& sizes, std::vector<MaskPart> mask = {}, std::uint64_t seed = 1,
                     double spread = 1.5);
// The same, of the first seed at which no number, moved as far as difference quotients move it, changes which keys have weight: there, weights that
// may be 0 have no derivative.
Problem make_smooth_problem(const Subject& subject, const Sizes& sizes, std::vector<MaskPart> mask, double spread);
at::Generator make_generator(std::uint64_t seed);

// Parts of masks. `full` says which of [B, H, Lq, Lk] are full; the others are 1.
struct Full {
  bool B = true, H = true, Lq = true, Lk = true;
};
MaskPart keep(const Sizes& sizes, Full full = {}, std::uint64_t seed = 2);
MaskPart drop(const Sizes& sizes, Full full = {}, std::uint64_t seed = 3);
// Multiples of 1/4, exact in every type; `hidden` of them, by share, are minus infinity.
MaskPart bias(const Sizes& sizes, Full full = {}, double hidden = 0, std::uint64_t seed = 4);
MaskPart lengths(std::vector<double> lengths);
MaskPart causal(bool upper_left = false);
MaskPart band(std::int64_t left, std::int64_t right, bool upper_left = false);
// Rows of queries whose place mod 3 is 1 see nothing.
MaskPart empty_rows(const Sizes& sizes);

Mask to_mask(const std::vector<MaskPart>& parts, Type type);

Instance make(const Subject& subject, const Sizes& sizes, const Settings& settings = {});
AttentionResult run(const Subject& subject, const Problem& problem, const Settings& settings = {}, bool return_weights = true);

// Seed of the generator that calls with dropout get, and what the library draws from it.
inline constexpr std::uint64_t generator_seed = 99;
// The first, or the one after `skipped` others.
std::uint64_t drawn_seed(int skipped = 0);

reference::Outcome wanted(const Subject& subject, const Problem& problem, const Settings& settings = {});

// Runs the mechanism and compares context and weights with the reference; NaN exactly where the reference has it.
void compare(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem, const Settings& settings = {});

std::string difference(const std::string& name, const Tensor& got, const Tensor& wanted, const reference::Tolerance& tolerance,
                       reference::NaN allowed = reference::NaN::nowhere);
reference::Tolerance tolerance(const Subject& subject, std::int64_t Lk);
// Of two results, each of which may be that far off.
reference::Tolerance tolerance_between(const Subject& subject, std::int64_t Lk);

// Inputs as leaves that gradients are taken with respect to: query, key, value, then the parameters.
struct Differentiable {
  Instance instance;
  Problem problem;
  std::vector<Tensor> inputs;
};
Differentiable differentiable(const Subject& subject, const Problem& problem, const Settings& settings = {});
// Σ cotangent · context + Σ cotangent · weights, leaving out what is NaN; with fixed random cotangents.
Tensor loss_of(const AttentionResult& result);
// Dropout begins from the same state of the generator in each call.
AttentionResult run_at(const Differentiable& at, const Settings& settings = {});
// 0 where nothing flows to an input.
std::vector<Tensor> gradients(const Tensor& of, const std::vector<Tensor>& inputs, bool create_graph = false);
// The same loss of the reference, differentiated by five-point difference quotients.
std::vector<Numbers> reference_gradients(const Differentiable& at, const Settings& settings = {});

}  // namespace attend::contract
