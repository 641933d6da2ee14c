// Rules 1 to 7: which keys a query sees.
#include <cmath>
#include <limits>

#include "attend/base/error.h"
#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

const Sizes usual{.B = 2, .Hq = 4, .Hkv = 2, .Lq = 5, .Lk = 7, .Dq = 3, .Dk = 5, .Dv = 4};

std::string text_of(bool yes, const std::string& problem) { return yes ? "" : problem; }

}  // namespace

Failures named_masks(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, usual);
  const auto holds = [&](const std::string& what, std::vector<MaskPart> mask) {
    compare(failures, what, subject, make_problem(subject, sizes, std::move(mask)));
  };
  holds("no mask", {});
  holds("keep", {keep(sizes)});
  holds("drop", {drop(sizes)});
  holds("lengths", {lengths({4, 7})});
  holds("causal", {causal()});
  holds("band", {band(2, 1)});
  holds("band of one key", {band(0, 0)});
  holds("bias", {bias(sizes)});
  holds("bias that hides keys", {bias(sizes, {}, 0.3)});
  holds("bias of zeros and ones", {{.kind = MaskPart::Kind::bias, .shape = {1, 1, 1, 7}, .numbers = {0, 1, 1, 0, 0, 1, 0}}});
  holds("keep & drop", {keep(sizes), drop(sizes)});
  holds("bias & bias", {bias(sizes), bias(sizes, {.H = false}, 0.2, 8)});
  holds("keep & lengths & causal & band & bias", {keep(sizes), lengths({6, 5}), causal(), band(3, 2), bias(sizes, {}, 0.1)});
  return failures;
}

Failures mask_shapes(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, usual);
  for (int full = 0; full < 16; ++full) {
    const Full dimensions{(full & 1) != 0, (full & 2) != 0, (full & 4) != 0, (full & 8) != 0};
    const std::string what = format("dimensions {}", full);
    compare(failures, what, subject, make_problem(subject, sizes, {keep(sizes, dimensions)}));
    compare(failures, what, subject, make_problem(subject, sizes, {drop(sizes, dimensions), bias(sizes, dimensions, 0.2)}));
  }
  MaskPart flat_keep = keep(sizes, {.B = false, .H = false}), flat_bias = bias(sizes, {.B = false, .H = false});
  flat_keep.shape = flat_bias.shape = {sizes.Lq, sizes.Lk};
  compare(failures, "[Lq, Lk]", subject, make_problem(subject, sizes, {flat_keep, flat_bias}));

  const Problem problem = make_problem(subject, sizes);
  const Instance instance = make(subject, sizes);
  const std::string full = format("[{}, {}, 5, 7]", sizes.B, sizes.Hq);
  const auto refused = [&](const std::vector<std::int64_t>& shape, const std::string& got) {
    for (const Mask& mask : {Mask::keep(at::ones(shape, at::kBool)), Mask::bias(at::zeros(shape, problem.query.options()))}) try {
        instance.run({problem.query, problem.key, problem.value, mask});
        note(failures, got, "a mask of this shape was taken");
      } catch (const InvalidArgument& error) {
        const std::string message = error.what();
        note(failures, got,
             text_of(message.find(subject.mechanism->where + ": expected a ") == 0 && message.find(full) != std::string::npos &&
                         message.find("got " + got) != std::string::npos,
                     "both shapes missing in: " + message));
      }
  };
  refused({2, 5, 7}, "[2, 5, 7]; three dimensions are ambiguous");
  refused({5, 6}, "[5, 6]");  // shorter than Lk
  refused({2, 1, 5, 6}, "[2, 1, 5, 6]");
  refused({2, 1, 5, 8}, "[2, 1, 5, 8]");
  refused({3, 1, 5, 7}, "[3, 1, 5, 7]");
  refused({1, 3, 5, 7}, "[1, 3, 5, 7]");
  refused({1, 7}, "[1, 7]");  // two dimensions are [Lq, Lk] in full
  refused({5, 1}, "[5, 1]");
  refused({7}, "[7]");
  refused({1, 1, 1, 5, 7}, "[1, 1, 1, 5, 7]");
  return failures;
}

namespace {

// Decoding with a cache: the last queries of a causal self-attention, and each one alone, are rows of the whole.
void check_cache(Failures& failures, const Subject& subject) {
  Sizes sizes = fit(subject, {.B = 2, .Hq = 2, .Hkv = 2, .Lq = 6, .Lk = 6, .Dq = 3, .Dk = 3, .Dv = 4});
  const Problem whole = make_problem(subject, sizes, {causal()});
  const AttentionResult all = run(subject, whole);
  const auto part_is_rows = [&](const std::string& what, std::int64_t first, std::int64_t count, std::int64_t seen) {
    Problem part = whole;
    part.query = whole.query.narrow(2, first, count);
    part.key = whole.key.narrow(2, 0, seen);
    part.value = whole.value.narrow(2, 0, seen);
    part.sizes.Lq = count, part.sizes.Lk = seen;
    part.first_query = first;
    part.origin.query = first;
    const AttentionResult result = run(subject, part);
    const reference::Tolerance near = tolerance_between(subject, sizes.Lk);
    note(failures, what, difference("context", result.context, all.context.narrow(2, first, count), near));
    note(failures, what, difference("weights", result.weights, all.weights.narrow(2, first, count).narrow(3, 0, seen), near));
  };
  part_is_rows("two queries after a cache of four keys", 4, 2, 6);
  for (std::int64_t i = 0; i < sizes.Lq; ++i) part_is_rows(format("step {}", i), i, 1, i + 1);
}

}  // namespace

Failures causal_alignment(const Subject& subject) {
  Failures failures;
  for (const std::int64_t Lq : {1, 3, 6, 9})
    for (const bool upper_left : {false, true}) {
      const Sizes sizes{.B = 2, .Hq = 2, .Hkv = 1, .Lq = Lq, .Lk = 6, .Dq = 3, .Dk = 5, .Dv = 4};
      const std::string what = std::string(upper_left ? "upper left" : "lower right") + ", Lq " + std::to_string(Lq) + ", Lk 6";
      compare(failures, "causal, " + what, subject, make_problem(subject, sizes, {causal(upper_left)}));
      compare(failures, "band, " + what, subject, make_problem(subject, sizes, {band(2, 0, upper_left)}));
      compare(failures, "wide band, " + what, subject, make_problem(subject, sizes, {band(0, 3, upper_left)}));
    }
  if (!subject.mechanism->has.length) check_cache(failures, subject);  // else a step with fewer keys is another problem
  return failures;
}

Failures order_of_steps(const Subject& subject) {
  Failures failures;
  const Mechanism::Features& has = subject.mechanism->has;
  const Sizes sizes = fit(subject, usual);
  const double soft_cap = has.soft_cap ? 1.5 : 0;
  const std::optional<double> scale = has.scale ? std::optional(0.7) : std::nullopt;
  const std::vector<MaskPart> mask = {bias(sizes, {}, 0.2), lengths({5, 7}), keep(sizes, {.H = false})};
  const Problem problem = make_problem(subject, sizes, mask, 1, 3.0);
  compare(failures, "everything at once", subject, problem, {.scale = scale, .soft_cap = soft_cap, .dropout = 0.4});
  compare(failures, "without dropout", subject, problem, {.scale = scale, .soft_cap = soft_cap});
  compare(failures, "without soft cap", subject, problem, {.scale = scale});
  if (has.soft_cap) {
    compare(failures, "soft cap alone", subject, make_problem(subject, sizes, {}, 2, 3.0), {.soft_cap = 0.5});
    compare(failures, "soft cap and bias", subject, make_problem(subject, sizes, {bias(sizes)}, 2, 3.0), {.soft_cap = 0.5});
  }
  return failures;
}

namespace {

// Exactly 0 in rows that see nothing, in results and in gradients of the first and second order; finite everywhere.
void check_zero_rows(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem,
                     const Settings& settings = {}) {
  const Tensor empty = reference::tensor_of(wanted(subject, problem, settings).weights,
                                            {problem.sizes.B, problem.sizes.Hq, problem.sizes.Lq, problem.sizes.Lk}, at::kDouble)
                           .sum(-1) == 0;
  note(failures, what, text_of(empty.any().item<bool>(), "no row of this problem is empty"));
  const auto zero_there = [&](const char* name, const Tensor& tensor) {
    const Tensor rows = tensor.detach().index({empty});
    note(failures, what, text_of((rows == 0).all().item<bool>(), std::string(name) + " of an empty row isn't 0"));
    note(failures, what, text_of(at::isfinite(tensor.detach()).all().item<bool>(), std::string(name) + " isn't finite"));
  };
  const Differentiable at = differentiable(subject, problem, settings);
  const AttentionResult result = run_at(at, settings);
  zero_there("context", result.context);
  zero_there("weights", result.weights);
  const std::vector<Tensor> first = gradients(loss_of(result), at.inputs, /*create_graph=*/true);
  zero_there("gradient of the query", first[0]);
  Tensor sum = at::zeros({}, at::kDouble);
  for (const Tensor& gradient : first) sum = sum + gradient.to(at::kDouble).square().sum();
  const std::vector<Tensor> second = gradients(sum, at.inputs);
  zero_there("second gradient of the query", second[0]);
  for (std::size_t i = 0; i < first.size(); ++i)
    note(failures, what + format(", input {}", i),
         text_of((at::isfinite(first[i]) & at::isfinite(second[i])).all().item<bool>(), "a gradient isn't finite"));
  compare(failures, what, subject, problem, settings);
}

}  // namespace

Failures empty_row(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = 6, .Lk = 4, .Dq = 3, .Dk = 5, .Dv = 4});
  const auto zero = [&](const std::string& what, std::vector<MaskPart> mask, const Settings& settings = {}) {
    check_zero_rows(failures, what, subject, make_problem(subject, sizes, std::move(mask)), settings);
  };
  MaskPart hiding = bias(sizes, {.B = false, .H = false});
  for (std::size_t e = 0; e < 8; ++e) hiding.numbers[e] = -infinity;
  zero("rows of keep", {empty_rows(sizes)});
  zero("length 0", {lengths({0, 3})});
  zero("all lengths 0", {lengths({0, 0})});
  zero("causal, more queries than keys", {causal()});
  zero("bias of minus infinity", {hiding});
  zero("by combination only", {lengths({1, 2}), band(0, 0, true)});
  zero("with dropout", {empty_rows(sizes)}, {.dropout = 0.3});
  if (subject.mechanism->has.soft_cap) zero("with soft cap", {empty_rows(sizes)}, {.soft_cap = 2});
  return failures;
}

namespace {

// Puts `poison` at one element of a [B, H, L, D] tensor.
void put(Tensor& tensor, std::int64_t b, std::int64_t position, double poison) {
  tensor = tensor.clone();
  tensor.select(0, b).select(1, position).select(-1, 1).fill_(poison);
}

Tensor with_zeros(const Tensor& tensor) { return at::where(at::isfinite(tensor), tensor, at::zeros({}, tensor.options())); }

// Values and gradients of a poisoned problem: NaN rows where the reference has them, everything else as if the entries were 0.
void check_poisoned(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem,
                    bool with_gradients = true) {
  compare(failures, what, subject, problem);
  if (!with_gradients) return;
  const Differentiable poisoned = differentiable(subject, problem);
  const std::vector<Tensor> got = gradients(loss_of(run_at(poisoned)), poisoned.inputs);
  const std::vector<Numbers> expected = reference_gradients(poisoned);
  reference::Tolerance near = reference::gradient_tolerance(subject.type, problem.sizes.Lk);
  near.absolute += reference::difference_quotient_tolerance().absolute;
  near.relative += reference::difference_quotient_tolerance().relative;
  for (std::size_t i = 0; i < got.size(); ++i)
    note(failures, what, reference::difference(format("gradient of input {}", i), reference::numbers(got[i]), expected[i], near));
}

// One tensor is query, key and value; its last token is NaN and is a query as well.
void check_poisoned_self_attention(Failures& failures, const Subject& subject) {
  const Sizes sizes = fit(subject, {.B = 1, .Hq = 2, .Hkv = 2, .Lq = 4, .Lk = 4, .Dq = 3, .Dk = 3, .Dv = 3});
  Problem problem = make_problem(subject, sizes, {causal()});
  const auto gradient_at = [&](const Tensor& start) {
    const Tensor x = start.detach().clone().requires_grad_(true);
    const AttentionResult result = make(subject, sizes).run({x, x, x, to_mask(problem.mask, subject.type)});
    // rows but the last one, which is NaN in one of the two runs only
    const AttentionResult rows{result.context.narrow(2, 0, 3), result.weights.narrow(2, 0, 3)};
    note(failures, "self-attention", text_of(at::isfinite(rows.context.detach()).all().item<bool>(), "NaN reached an earlier row"));
    return gradients(loss_of(rows), {x})[0];
  };
  put(problem.query, 0, 3, nan);
  note(failures, "self-attention with a NaN token",
       difference("gradient", gradient_at(problem.query), gradient_at(with_zeros(problem.query)),
                  reference::gradient_tolerance(subject.type, 4)));
}

// Blocks that are hidden whole at the start of a row.
void check_long_rows(Failures& failures, const Subject& subject) {
  const Sizes sizes = fit(subject, {.B = 1, .Hq = 2, .Hkv = 1, .Lq = 4, .Lk = 200, .Dq = 3, .Dk = 3, .Dv = 3});
  MaskPart late = keep(sizes, {.B = false, .H = false, .Lq = false});
  for (std::size_t j = 0; j < 150; ++j) late.numbers[j] = 0;
  Problem problem = make_problem(subject, sizes, {late});
  compare(failures, "150 of 200 keys hidden at the start", subject, problem);
  put(problem.key, 0, 3, nan);
  put(problem.value, 0, 140, infinity);
  compare(failures, "the same, with NaN and infinity among the hidden", subject, problem);
  compare(failures, "band, causal and lengths together", subject,
          make_problem(subject, sizes, {band(60, 3), causal(), lengths({198}), keep(sizes)}));
}

}  // namespace

Failures masked_is_unseen(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = 4, .Lk = 4, .Dq = 2, .Dk = 2, .Dv = 2});
  for (const double poison : {nan, infinity, -infinity}) {
    const std::string name = std::isnan(poison) ? "NaN" : poison > 0 ? "infinity" : "minus infinity";
    const auto poisoned = [&](const std::string& what, std::vector<MaskPart> mask, std::int64_t query, std::int64_t key,
                              std::int64_t value) {
      Problem problem = make_smooth_problem(subject, sizes, std::move(mask), 1.5);
      if (query >= 0) put(problem.query, 1, query, poison);
      if (key >= 0) put(problem.key, 1, key, poison);
      if (value >= 0) put(problem.value, 1, value, poison);
      // what a gradient meets doesn't depend on the sign of infinity
      check_poisoned(failures, name + ", " + what, subject, problem, poison != -infinity);
    };
    poisoned("causal, last key and value", {causal()}, -1, 3, 3);
    poisoned("causal, last token, also as a query", {causal()}, 3, 3, 3);
    poisoned("a value that some rows see", {causal()}, -1, -1, 2);
    poisoned("a query", {}, 2, -1, -1);
    poisoned("a query that sees nothing", {empty_rows(sizes)}, 1, -1, -1);
    poisoned("padding", {lengths({4, 2})}, -1, 3, 2);
    poisoned("hidden by a bias", {{.kind = MaskPart::Kind::bias, .shape = {1, 1, 1, 4}, .numbers = {0, 1, -infinity, 0.5}}}, -1, 2, 2);
    poisoned("no mask at all", {}, -1, 0, -1);
  }
  MaskPart bad_bias = bias(sizes);
  bad_bias.numbers[5] = nan, bad_bias.numbers[18] = infinity;
  check_poisoned(failures, "a bias that isn't finite", subject, make_smooth_problem(subject, sizes, {bad_bias}, 1.5));
  check_poisoned(failures, "the same, partly hidden", subject, make_smooth_problem(subject, sizes, {bad_bias, causal()}, 1.5));
  check_poisoned_self_attention(failures, subject);
  check_long_rows(failures, subject);
  return failures;
}

namespace {

Tensor padded(const Tensor& tensor, std::int64_t before, std::int64_t after, std::uint64_t seed) {
  const auto junk = [&](std::int64_t length) {
    std::vector<std::int64_t> shape = tensor.sizes().vec();
    shape[2] = length;
    return (at::randn(shape, make_generator(seed), at::kDouble) * 20).to(tensor.scalar_type());
  };
  return at::cat({junk(before), tensor, junk(after)}, 2);
}

MaskPart window(std::int64_t before, std::int64_t length, std::int64_t after) {
  MaskPart part{.kind = MaskPart::Kind::keep, .shape = {1, 1, 1, before + length + after}};
  for (std::int64_t j = 0; j < part.shape[3]; ++j) part.numbers.push_back(j >= before && j < before + length);
  return part;
}

}  // namespace

Failures padding_invariance(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, {.B = 3, .Hq = 4, .Hkv = 2, .Lq = 3, .Lk = 5, .Dq = 3, .Dk = 5, .Dv = 4});
  const Problem plain = make_problem(subject, sizes);
  const AttentionResult alone = run(subject, plain);
  const reference::Tolerance near = tolerance_between(subject, 12);
  const auto unchanged = [&](const std::string& what, std::int64_t before, std::int64_t after, MaskPart mask) {
    Problem wide = plain;
    wide.query = padded(plain.query, before, after, 51);
    wide.key = padded(plain.key, before, after, 52);
    wide.value = padded(plain.value, before, after, 53);
    wide.mask = {std::move(mask)};
    wide.sizes.Lq += before + after, wide.sizes.Lk += before + after;
    wide.origin.query = -before;
    const AttentionResult result = run(subject, wide);
    note(failures, what, difference("context", result.context.narrow(2, before, sizes.Lq), alone.context, near));
    const Tensor rows = result.weights.narrow(2, before, sizes.Lq);
    note(failures, what, difference("weights", rows.narrow(3, before, sizes.Lk), alone.weights, near));
    const Tensor outside = at::cat({rows.narrow(3, 0, before), rows.narrow(3, before + sizes.Lk, after)}, 3);
    note(failures, what, text_of((outside == 0).all().item<bool>(), "padding has weight"));
  };
  unchanged("padded right, by lengths", 0, 4, lengths({5, 5, 5}));
  if (!subject.mechanism->has.length) unchanged("padded right, by keep", 0, 4, window(0, 5, 4));
  if (!subject.mechanism->has.places) {
    unchanged("padded left", 3, 0, window(3, 5, 0));
    unchanged("padded on both sides", 3, 4, window(3, 5, 4));
  }
  for (std::int64_t b = 0; b < sizes.B; ++b) {
    Problem one = plain;
    one.query = plain.query.narrow(0, b, 1), one.key = plain.key.narrow(0, b, 1), one.value = plain.value.narrow(0, b, 1);
    one.sizes.B = 1;
    one.origin.batch = b;
    const AttentionResult result = run(subject, one);
    note(failures, "batch of one", difference("context", result.context, alone.context.narrow(0, b, 1), near));
    note(failures, "batch of one", difference("weights", result.weights, alone.weights.narrow(0, b, 1), near));
  }
  const std::vector<double> lengths_of_rows = {2, 5, 3};
  compare(failures, "different lengths", subject, make_problem(subject, sizes, {lengths(lengths_of_rows)}));
  return failures;
}

}  // namespace attend::contract
