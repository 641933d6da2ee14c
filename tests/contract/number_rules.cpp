// Rules 13 to 16: derivatives, accuracy, repeatability, dropout.
#include <cmath>

#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

const Sizes tiny{.B = 2, .Hq = 2, .Hkv = 1, .Lq = 3, .Lk = 4, .Dq = 3, .Dk = 2, .Dv = 2};

void check_first_order(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem,
                       const Settings& settings) {
  const Differentiable at = differentiable(subject, problem, settings);
  const std::vector<Tensor> got = gradients(loss_of(run_at(at, settings)), at.inputs);
  const std::vector<Numbers> expected = reference_gradients(at, settings);
  reference::Tolerance near = reference::gradient_tolerance(subject.type, problem.sizes.Lk);
  near.absolute += reference::difference_quotient_tolerance().absolute;
  near.relative += reference::difference_quotient_tolerance().relative;
  for (std::size_t i = 0; i < got.size(); ++i)
    note(failures, what, reference::difference(format("gradient of input {}", i), reference::numbers(got[i]), expected[i], near));
}

// gradient · direction of a loss that isn't linear in the result, mixed with another term of the inputs.
Tensor gradient_along(const Differentiable& at, const std::vector<Tensor>& directions, const Settings& settings, bool create_graph) {
  const AttentionResult result = run_at(at, settings);
  const Tensor loss = loss_of(result) + result.context.square().sum() + result.weights.pow(3).sum();
  const std::vector<Tensor> first = gradients(loss, at.inputs, create_graph);
  Tensor sum = at::zeros({}, at::kDouble);
  for (std::size_t i = 0; i < first.size(); ++i) sum = sum + (first[i] * (directions[i] + at.inputs[i].sin())).sum();
  return sum;
}

// The second derivative along a direction, by autograd and as a difference quotient of gradients.
void check_second_order(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem,
                        const Settings& settings) {
  const Differentiable at = differentiable(subject, problem, settings);
  std::vector<Tensor> directions, start;
  for (const Tensor& input : at.inputs) {
    directions.push_back(at::randn(input.sizes(), make_generator(70 + directions.size()), at::kDouble));
    start.push_back(input.detach().clone());
  }
  const std::vector<Tensor> second = gradients(gradient_along(at, directions, settings, true), at.inputs);
  double analytic = 0;
  for (std::size_t i = 0; i < second.size(); ++i) analytic += (second[i] * directions[i]).sum().item<double>();
  const auto value_at = [&](double offset) {
    for (std::size_t i = 0; i < start.size(); ++i) {
      const torch::NoGradGuard no_gradient;
      Tensor(at.inputs[i]).copy_(start[i] + offset * directions[i]);
    }
    return gradient_along(at, directions, settings, false).item<double>();
  };
  constexpr double step = 1e-3;
  const double quotient = (8 * (value_at(step) - value_at(-step)) - (value_at(2 * step) - value_at(-2 * step))) / (12 * step);
  note(failures, what, reference::difference("second derivative", {analytic}, {quotient}, reference::difference_quotient_tolerance()));
}

}  // namespace

Failures derivatives(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, tiny);
  const auto holds = [&](const std::string& what, std::vector<MaskPart> mask, const Settings& settings = {}) {
    const Problem problem = make_smooth_problem(subject, sizes, std::move(mask), 1.0);
    check_first_order(failures, what, subject, problem, settings);
    if (subject.type == Type::float64) check_second_order(failures, what, subject, problem, settings);
  };
  holds("plain", {});
  holds("masked", {keep(sizes), causal(), bias(sizes)});
  holds("with empty rows", {empty_rows(sizes), lengths({4, 0})});
  holds("with dropout", {lengths({4, 3})}, {.dropout = 0.3});
  if (subject.mechanism->has.soft_cap) holds("with soft cap", {band(2, 0)}, {.soft_cap = 1.5});
  // half types are computed in float32: one rounding at the end, however long the sums
  if (is_half(subject.type)) {
    const Sizes wide{.B = 1, .Hq = 2, .Hkv = 1, .Lq = 4, .Lk = 129, .Dq = 32, .Dk = 32, .Dv = 8};
    compare(failures, "long sums of half numbers", subject, make_problem(subject, wide, {}, 3, 1.0));
  }
  return failures;
}

Failures accuracy(const Subject& subject) {
  Failures failures;
  for (const std::int64_t Lk : {1, 2, 17, 64, 257})
    compare(failures, format("Lk {}", Lk), subject,
            make_problem(subject, {.B = 1, .Hq = 2, .Hkv = 1, .Lq = 3, .Lk = Lk, .Dq = 5, .Dk = 3, .Dv = 3}, {}, 4, 2.0));
  // scores beyond what exp() takes: one key wins by far, in each row and in each window of one
  const Sizes steep = fit(subject, {.B = 1, .Hq = 2, .Hkv = 1, .Lq = 3, .Lk = 9, .Dq = 4, .Dk = 4, .Dv = 3});
  MaskPart thousands{.kind = MaskPart::Kind::bias, .shape = {1, 1, steep.Lq, steep.Lk}};
  for (std::int64_t e = 0; e < steep.Lq * steep.Lk; ++e) thousands.numbers.push_back(1000.0 * static_cast<double>((4 * e + e / steep.Lk) % steep.Lk - 4));
  compare(failures, "scores of thousands", subject, make_problem(subject, steep, {thousands}));
  return failures;
}

namespace {

struct Everything {
  AttentionResult result;
  std::vector<Tensor> gradient;
};

Everything run_both_ways(const Subject& subject, const Problem& problem, const Settings& settings) {
  const Differentiable at = differentiable(subject, problem, settings);
  const AttentionResult result = run_at(at, settings);
  return {result, gradients(loss_of(result), at.inputs)};
}

void compare_runs(Failures& failures, const std::string& what, const Everything& got, const Everything& wanted,
                  const reference::Tolerance& near, const reference::Tolerance& gradient_near) {
  note(failures, what, difference("context", got.result.context, wanted.result.context, near));
  note(failures, what, difference("weights", got.result.weights, wanted.result.weights, near));
  for (std::size_t i = 0; i < got.gradient.size(); ++i)
    note(failures, what, difference(format("gradient of input {}", i), got.gradient[i], wanted.gradient[i], gradient_near));
}

class ThreadsGuard {
 public:
  ~ThreadsGuard() { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

}  // namespace

Failures repeatability(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, {.B = 3, .Hq = 4, .Hkv = 2, .Lq = 19, .Lk = 70, .Dq = 5, .Dk = 7, .Dv = 8});
  const Problem problem = make_problem(subject, sizes, {lengths({70, 41, 8}), causal()}, 1, 1.0);
  const Settings settings{.dropout = 0.2};
  reference::Tolerance gradient_near = reference::gradient_tolerance(subject.type, sizes.Lk);
  gradient_near = {2 * gradient_near.absolute, 2 * gradient_near.relative};
  const ThreadsGuard guard;
  std::vector<Everything> by_threads;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    by_threads.push_back(run_both_ways(subject, problem, settings));
    if (threads == 3) continue;  // more than the cores of a small machine: slow, and no news
    const Everything again = run_both_ways(subject, problem, settings);
    compare_runs(failures, format("the same run again, threads {}", threads), again, by_threads.back(), {0, 0}, {0, 0});
  }
  for (const Everything& other : {by_threads[1], by_threads[2]})
    compare_runs(failures, "other threads", other, by_threads[0], tolerance_between(subject, sizes.Lk), gradient_near);
  return failures;
}

namespace {

// Which weights of a call were kept, and which there were: with one-hot values the context shows it.
struct Kept {
  Tensor kept, there;  // [B, H, Lq, Lk]: 1 or 0

  Kept narrow(std::int64_t dimension, std::int64_t start, std::int64_t length) const {
    return {kept.narrow(dimension, start, length), there.narrow(dimension, start, length)};
  }
};

Kept multipliers_of(const Subject& subject, const Sizes& sizes, double dropout, std::vector<MaskPart> mask,
                      const addressing::DropoutOrigin& origin = {}) {
  Problem problem = make_problem(subject, sizes, std::move(mask), 5, 0.5);
  problem.value = at::eye(sizes.Lk).to(problem.value.scalar_type()).expand({sizes.B, sizes.Hkv, sizes.Lk, sizes.Lk});
  Call call{problem.query, problem.key, problem.value, to_mask(problem.mask, subject.type)};
  call.generator = make_generator(generator_seed);
  call.origin = origin;
  const AttentionResult result = make(subject, sizes, {.dropout = dropout}).run(call);
  return {(result.context > 0).to(at::kDouble), (result.weights > 0).to(at::kDouble)};
}

void check_pattern(Failures& failures, const Subject& subject) {
  const Sizes small = fit(subject, {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 5, .Lk = 11, .Dq = 3, .Dk = 3, .Dv = 11});
  const Kept pattern = multipliers_of(subject, small, 0.5, {});
  const auto same_places = [&](const std::string& what, const Kept& other, const Kept& wanted) {
    const Tensor both = other.there * wanted.there;  // windows of other queries may lie elsewhere
    if (!both.any().item<bool>()) note(failures, what, "no weight is in both");
    note(failures, what, difference("kept", other.kept * both, wanted.kept * both, {0, 0}));
  };
  for (const std::int64_t padding : {1, 2, 8}) {
    Sizes wide = small;
    wide.B += padding, wide.Lq += padding, wide.Lk += padding, wide.Dv = wide.Lk;
    std::vector<double> all(static_cast<std::size_t>(wide.B), 11.0);
    const Kept kept = multipliers_of(subject, wide, 0.5, {lengths(all)});
    same_places(format("padded by {}", padding), kept.narrow(0, 0, 2).narrow(2, 0, 5).narrow(3, 0, 11), pattern);
  }
  if (!subject.mechanism->has.origin) return;
  Sizes part = small;
  part.B = 1, part.Lq = 2;
  const Kept second = multipliers_of(subject, part, 0.5, {}, {.batch = 1, .query = 3});
  same_places("a part of the batch and of the queries", second, pattern.narrow(0, 1, 1).narrow(2, 3, 2));
  part.Lk = part.Dv = 6;
  const Kept keys = multipliers_of(subject, part, 0.5, {}, {.batch = 1, .query = 3, .key = 5});
  same_places("a part of the keys", keys, pattern.narrow(0, 1, 1).narrow(2, 3, 2).narrow(3, 5, 6));
}

void check_generator(Failures& failures, const Subject& subject) {
  const Problem problem = make_problem(subject, {.B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lk = 5, .Dq = 3, .Dk = 3, .Dv = 2});
  const int seeds = make(subject, problem.sizes).seeds;
  const auto state_after = [&](double dropout) {
    Call call{problem.query, problem.key, problem.value};
    call.generator = make_generator(generator_seed);
    make(subject, problem.sizes, {.dropout = dropout}).run(call);
    return call.generator->get_state();
  };
  at::Generator generator = make_generator(generator_seed);
  for (int i = 0; i < seeds; ++i) addressing::draw_dropout_seed(generator);
  if (!state_after(0).equal(generator.get_state())) failures.emplace_back("a call without dropout draws another seed from the generator");
  addressing::draw_dropout_seed(generator);
  if (!state_after(0.5).equal(generator.get_state())) failures.emplace_back("a call with dropout doesn't draw exactly one seed for it");
}

}  // namespace

Failures counted_dropout(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 5, .Lk = 11, .Dq = 3, .Dk = 5, .Dv = 4});
  for (const double dropout : {0.1, 0.5, 0.9}) {
    const std::string what = format("dropout {}", dropout);
    compare(failures, what, subject, make_problem(subject, sizes), {.dropout = dropout});
    compare(failures, what + ", masked", subject, make_problem(subject, sizes, {keep(sizes), lengths({11, 7})}), {.dropout = dropout});
  }
  if (!subject.mechanism->has.module) {
    const Tensor context = run(subject, make_problem(subject, sizes), {.dropout = 1}).context;
    if (!(context == 0).all().item<bool>()) failures.emplace_back("dropout 1 leaves something");
  }
  if (subject.mechanism->has.dense) check_pattern(failures, subject);
  check_generator(failures, subject);
  return failures;
}

}  // namespace attend::contract
