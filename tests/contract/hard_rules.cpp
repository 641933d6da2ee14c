// Rules 17 and 18: attention that reads one key.
#include <cmath>

#include "tests/contract/rules.h"
#include "tests/reference/normalizers.h"

namespace attend::contract {
namespace {

std::string only_if(bool fine, const std::string& problem) { return fine ? "" : problem; }

// Queries that look at the first component of the keys alone, so that the scaled scores are exact: those of `firsts`, for every query.
Problem problem_of_scores(const Subject& subject, const std::vector<double>& firsts, std::int64_t Lq) {
  const auto Lk = static_cast<std::int64_t>(firsts.size());
  Problem problem = make_problem(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = Lq, .Lk = Lk, .Dq = 4, .Dk = 4, .Dv = 3});
  problem.query = at::zeros_like(problem.query);
  problem.query.select(-1, 0).fill_(2);  // √Dk
  problem.key = problem.key.clone();
  problem.key.select(-1, 0).copy_(reference::tensor_of(firsts, {Lk}, problem.key.scalar_type()).expand({2, problem.sizes.Hkv, Lk}));
  return problem;
}

// Which key each row reads [B, H, Lq], from weights that are one-hot.
Tensor read_keys(Failures& failures, const std::string& what, const AttentionResult& result) {
  const bool one_hot = (result.weights.amax(-1) == 1).all().item<bool>() && (result.weights.sum(-1) == 1).all().item<bool>();
  note(failures, what, only_if(one_hot, "weights aren't one-hot"));
  return result.weights.argmax(-1);
}

void check_no_gradient_to_scores(Failures& failures, const Subject& subject, const Problem& problem) {
  const Differentiable at = differentiable(subject, problem);
  const AttentionResult result = run_at(at);
  const std::vector<Tensor> gradient = gradients(loss_of(result), at.inputs);
  note(failures, "gradients", only_if((gradient[0] == 0).all().item<bool>(), "something flows to the query"));
  note(failures, "gradients", only_if((gradient[1] == 0).all().item<bool>(), "something flows to the key"));
  note(failures, "gradients", only_if((gradient[2] != 0).any().item<bool>(), "nothing flows to the value that is read"));
}

}  // namespace

Failures hard_arg_max(const Subject& subject) {
  Failures failures;
  const auto reads = [&](const std::string& what, const std::vector<double>& firsts, std::vector<MaskPart> mask, std::int64_t wanted) {
    Problem problem = problem_of_scores(subject, firsts, 3);
    problem.mask = std::move(mask);
    const AttentionResult result = run(subject, problem);
    note(failures, what, only_if((read_keys(failures, what, result) == wanted).all().item<bool>(), format("another key than {} is read", wanted)));
    // the value itself, to the bit
    const Tensor value = problem.value.narrow(2, wanted, 1).expand_as(result.context);
    note(failures, what, only_if(result.context.equal(value), "context isn't that key's value"));
  };
  reads("one is best", {1, 3, 2, 0}, {}, 1);
  reads("two tie", {1, 2, 3, 0, 3}, {}, 2);
  reads("all tie", {2, 2, 2, 2, 2, 2, 2, 2, 2}, {}, 0);
  reads("the first of two that tie is hidden", {3, 1, 3, 3},
        {{.kind = MaskPart::Kind::keep, .shape = {1, 1, 1, 4}, .numbers = {0, 1, 1, 1}}}, 2);
  reads("a bias makes two tie", {1, 2, 0}, {{.kind = MaskPart::Kind::bias, .shape = {1, 1, 1, 3}, .numbers = {0, 0, 2}}}, 1);
  check_no_gradient_to_scores(failures, subject, make_problem(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = 3, .Lk = 5, .Dq = 3, .Dk = 3, .Dv = 4}));
  return failures;
}

namespace {

// Thousands of equal rows: each key must be drawn as often as its weight says.
void check_frequencies(Failures& failures, const Subject& subject) {
  const std::vector<double> scores = {0, 1, -1, 2};
  const Problem problem = problem_of_scores(subject, scores, 2000);
  const Tensor keys = read_keys(failures, "frequencies", run(subject, problem));
  const std::vector<double> p = reference::softmax_row(scores);
  const auto rows = static_cast<double>(keys.numel());
  double chi_squared = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double wanted = p[j] * rows, got = (keys == static_cast<std::int64_t>(j)).sum().item<double>();
    chi_squared += (got - wanted) * (got - wanted) / wanted;
  }
  // three degrees of freedom: 0.999 of all samples lie below the one, 0.999 above the other
  note(failures, "frequencies", only_if(chi_squared < 16.3 && chi_squared > 0.024, format("chi-squared {}", chi_squared)));
}

void check_probabilities(Failures& failures, const Subject& subject) {
  const Sizes sizes = fit(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = 4, .Lk = 5, .Dq = 3, .Dk = 3, .Dv = 2});
  const Problem problem = make_problem(subject, sizes, {empty_rows(sizes), lengths({5, 3})});
  const AttentionResult result = run(subject, problem);
  const Numbers query = reference::numbers(problem.query), key = reference::numbers(problem.key);
  const reference::PairScore score = make(subject, sizes).score({});
  Numbers log_probability, entropy;
  for (std::int64_t b = 0; b < sizes.B; ++b)
    for (std::int64_t h = 0; h < sizes.Hq; ++h)
      for (std::int64_t i = 0; i < sizes.Lq; ++i) {
        Numbers seen;
        for (std::int64_t j = 0; i % 3 != 1 && j < (b == 0 ? 5 : 3); ++j)
          seen.push_back(score(query.data() + ((b * sizes.Hq + h) * sizes.Lq + i) * sizes.Dq,
                               key.data() + ((b * sizes.Hkv + h / (sizes.Hq / sizes.Hkv)) * sizes.Lk + j) * sizes.Dk));
        const double share = reference::row_draw(drawn_seed(), b, h, i).share;
        log_probability.push_back(seen.empty() ? 0 : std::log(reference::softmax_row(seen)[reference::drawn_place(seen, share)]));
        entropy.push_back(seen.empty() ? 0 : reference::entropy_of(seen));
      }
  const reference::Tolerance near = tolerance(subject, sizes.Lk);
  note(failures, "probabilities", reference::difference("log_probability", reference::numbers(result.log_probability), log_probability, near));
  note(failures, "probabilities", reference::difference("entropy", reference::numbers(result.entropy), entropy, near));
}

}  // namespace

Failures hard_sampling(const Subject& subject) {
  Failures failures;
  check_frequencies(failures, subject);
  check_probabilities(failures, subject);
  check_no_gradient_to_scores(failures, subject, make_problem(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = 3, .Lk = 5, .Dq = 3, .Dk = 3, .Dv = 4}));
  return failures;
}

}  // namespace attend::contract
