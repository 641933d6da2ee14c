// Rule 10: local windows.
#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

const Sizes windowed{.B = 2, .Hq = 4, .Hkv = 2, .Lq = 6, .Lk = 9, .Dq = 3, .Dk = 5, .Dv = 4};

// Exactly 0 where the definition has nothing, something where it has something.
void check_zeros(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem) {
  const Tensor got = run(subject, problem).weights;
  const Tensor expected = reference::tensor_of(wanted(subject, problem).weights, got.sizes(), at::kDouble);
  if (!(got.index({expected == 0}) == 0).all().item<bool>()) failures.push_back(what + ": there is weight outside the window");
  // a half type has no numbers for what is very small
  if (!is_half(subject.type) && !(got.index({expected > 0}) > 0).all().item<bool>())
    failures.push_back(what + ": a key within the window has no weight");
}

// Parts of the queries that say where they start are rows of the whole.
void check_steps(Failures& failures, const Subject& subject) {
  const Sizes sizes = fit(subject, windowed);
  const Problem whole = make_problem(subject, sizes, {lengths({9, 6})});
  const AttentionResult all = run(subject, whole);
  const reference::Tolerance near = tolerance_between(subject, sizes.Lk);
  const auto part_is_rows = [&](std::int64_t first, std::int64_t count) {
    Problem part = whole;
    part.query = whole.query.narrow(2, first, count);
    part.sizes.Lq = count;
    part.first_query = first;
    const std::string what = "queries from " + std::to_string(first);
    const AttentionResult result = run(subject, part);
    note(failures, what, difference("context", result.context, all.context.narrow(2, first, count), near));
    note(failures, what, difference("weights", result.weights, all.weights.narrow(2, first, count), near));
    compare(failures, what, subject, part);
  };
  for (std::int64_t i = 0; i < sizes.Lq; ++i) part_is_rows(i, 1);
  part_is_rows(2, 3);
}

// A row with padding reads what it would without.
void check_length(Failures& failures, const Subject& subject) {
  const Sizes sizes = fit(subject, windowed);
  const Problem padded = make_problem(subject, sizes, {lengths({9, 5})});
  Problem alone = padded;
  const auto second = [](const Tensor& tensor) { return tensor.narrow(0, 1, 1); };
  alone.query = second(padded.query), alone.key = second(padded.key).narrow(2, 0, 5), alone.value = second(padded.value).narrow(2, 0, 5);
  alone.sizes.B = 1, alone.sizes.Lk = 5;
  alone.mask = {};
  const reference::Tolerance near = tolerance_between(subject, sizes.Lk);
  const AttentionResult got = run(subject, padded), wanted_row = run(subject, alone);
  note(failures, "a row with padding", difference("context", second(got.context), wanted_row.context, near));
  note(failures, "a row with padding", difference("weights", second(got.weights).narrow(3, 0, 5), wanted_row.weights, near));
}

}  // namespace

Failures local_windows(const Subject& subject) {
  Failures failures;
  for (const auto& [Lq, Lk] : {std::pair{1, 1}, std::pair{6, 9}, std::pair{3, 40}, std::pair{12, 4}}) {
    Sizes sizes = windowed;
    sizes.Lq = Lq, sizes.Lk = Lk;
    const std::string what = std::to_string(Lq) + " queries, " + std::to_string(Lk) + " keys";
    const Problem problem = make_problem(subject, sizes);
    compare(failures, what, subject, problem);
    check_zeros(failures, what, subject, problem);
  }
  const Sizes sizes = fit(subject, windowed);
  for (const std::vector<MaskPart>& mask :
       {std::vector{lengths({7, 3})}, std::vector{lengths({9, 4}), lengths({8, 6})}, std::vector{keep(sizes), causal(), lengths({9, 8})}}) {
    const Problem problem = make_problem(subject, sizes, mask);
    compare(failures, "masked", subject, problem);
    check_zeros(failures, "masked", subject, problem);
    compare(failures, "masked, with dropout", subject, problem, {.dropout = 0.4});
  }
  check_steps(failures, subject);
  check_length(failures, subject);
  return failures;
}

}  // namespace attend::contract
