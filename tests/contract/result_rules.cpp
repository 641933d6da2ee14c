// Rules 8, 9, 11, 12, 20 and 21: what comes back.
#include "attend/addressing/read.h"
#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/core/shapes.h"
#include "tests/contract/rules.h"

namespace attend::contract {
namespace {

const Sizes grouped_sizes{.B = 2, .Hq = 6, .Hkv = 2, .Lq = 4, .Lk = 5, .Dq = 3, .Dk = 5, .Dv = 4};

std::string unless(bool fine, const std::string& problem) { return fine ? "" : problem; }

// Whether running with or without weights gives the same context.
void check_context_with_and_without(Failures& failures, const std::string& what, const Subject& subject, const Problem& problem,
                                    const Settings& settings) {
  const AttentionResult with = run(subject, problem, settings, true), without = run(subject, problem, settings, false);
  note(failures, what, difference("context", with.context, without.context, tolerance_between(subject, problem.sizes.Lk)));
  note(failures, what, unless(with.weights.defined(), "weights were asked for, but not returned"));
  note(failures, what, unless(!without.weights.defined(), "weights were returned, but not asked for"));
}

// Of two modules one is chosen: its weights are recorded, and nothing else.
void check_recording(Failures& failures, const Subject& subject, const Problem& problem) {
  const Instance chosen = make(subject, problem.sizes), other = make(subject, problem.sizes);
  const auto model = std::make_shared<torch::nn::Module>("model");
  model->register_module("chosen", chosen.module);
  model->register_module("other", other.module);
  const Call call{problem.query, problem.key, problem.value, to_mask(problem.mask, subject.type), /*return_weights=*/false};
  Recording recording(*model, {.modules = {"chosen"}, .heads = {0}});
  for (const Instance& instance : {chosen, other}) instance.run(call);
  const std::vector<Recording::Item> items = recording.take();
  note(failures, "recording", unless(items.size() == 1 && items[0].module == "chosen" && items[0].kind == "alignment", "other items"));
  if (items.size() == 1)
    note(failures, "recording",
         difference("weights", items[0].tensor, run(subject, problem).weights, tolerance_between(subject, problem.sizes.Lk)));
}

}  // namespace

Failures returned_weights(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, grouped_sizes);
  const auto holds = [&](const std::string& what, std::vector<MaskPart> mask, const Settings& settings) {
    const Problem problem = make_problem(subject, sizes, std::move(mask));
    const Tensor weights = run(subject, problem, settings).weights;
    note(failures, what,
         unless(weights.sizes() == at::IntArrayRef({sizes.B, sizes.Hq, sizes.Lq, sizes.Lk}), "shape " + shape_text(weights)));
    note(failures, what, unless((weights >= 0).all().item<bool>(), "a weight is negative"));
    const Tensor sums = weights.to(at::kDouble).sum(-1);
    const reference::Tolerance near = tolerance(subject, sizes.Lk);
    for (const double sum : reference::numbers(sums))
      note(failures, what,
           unless(sum == 0 || reference::is_near(sum, 1, near) || (!subject.mechanism->has.whole_rows && sum > 0 && sum < 1),
                  format("a row sums to {}", sum)));
    // each head's own, before dropout: those of the reference
    note(failures, what, reference::difference("weights", reference::numbers(weights), wanted(subject, problem, settings).weights, near));
  };
  holds("plain", {}, {});
  holds("with dropout", {}, {.dropout = 0.5});
  holds("with empty rows and dropout", {empty_rows(sizes), lengths({5, 2})}, {.dropout = 0.5});
  return failures;
}

Failures weights_on_request(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, grouped_sizes);
  const Problem problem = make_problem(subject, sizes, {keep(sizes), causal()});
  check_context_with_and_without(failures, "plain", subject, make_problem(subject, sizes), {});
  check_context_with_and_without(failures, "masked", subject, problem, {});
  check_context_with_and_without(failures, "with dropout", subject, problem, {.dropout = 0.5});

  if (subject.mechanism->has.module) check_recording(failures, subject, problem);
  // the weights of chosen query rows, without the others
  const Tensor all = run(subject, make_problem(subject, sizes)).weights;
  Problem rows = make_problem(subject, sizes);
  rows.query = rows.query.narrow(2, 1, 2);
  rows.sizes.Lq = 2;
  rows.first_query = 1;
  rows.origin.query = 1;
  note(failures, "two query rows",
       difference("weights", run(subject, rows).weights, all.narrow(2, 1, 2), tolerance_between(subject, sizes.Lk)));

  // which path runs can be asked, and one that is impossible is refused with its reason
  addressing::ReadOptions options;
  options.path = subject.path;
  const addressing::ScoreForm form = subject.mechanism->has.form;
  const std::string explained = addressing::explain(options, form);
  note(failures, "explain", unless(explained.find(form != addressing::ScoreForm::any && subject.path != Path::composed ? "fused: " : "composed: ") == 0, explained));
  options.path = Path::fused;
  const bool can_fuse = addressing::explain(options, form).find("refused: ") != 0;
  try {
    const AttentionResult fused = run({subject.mechanism, Path::fused, subject.type}, problem);
    note(failures, "path fused", unless(can_fuse, "ran, though explain() says that it is impossible"));
    note(failures, "path fused", difference("context", fused.context, run(subject, problem).context, tolerance_between(subject, sizes.Lk)));
  } catch (const NotSupported& error) {
    const std::string message = error.what();
    note(failures, "path fused",
         unless(!can_fuse && message.find(subject.mechanism->where + ": path \"fused\" is impossible: ") == 0, message));
  }
  return failures;
}

Failures heads(const Subject& subject) {
  Failures failures;
  const bool grouped = subject.mechanism->has.grouped_heads;
  for (const auto& [Hq, Hkv] : {std::pair{6, 2}, std::pair{6, 3}, std::pair{4, 1}, std::pair{3, 3}}) {
    Sizes sizes = grouped_sizes;
    sizes.Hq = Hq, sizes.Hkv = Hkv;
    compare(failures, std::to_string(Hq) + " query heads, " + std::to_string(Hkv) + " key heads", subject, make_problem(subject, sizes));
  }
  const Sizes sizes = fit(subject, grouped_sizes);
  const Problem problem = make_problem(subject, sizes, {bias(sizes)});
  const AttentionResult all = run(subject, problem);
  for (std::int64_t h = 0; h < sizes.Hq; ++h) {
    const std::int64_t memory = h / (sizes.Hq / sizes.Hkv);
    Problem one = problem;
    one.query = problem.query.narrow(1, h, 1), one.key = problem.key.narrow(1, memory, 1), one.value = problem.value.narrow(1, memory, 1);
    one.sizes.Hq = one.sizes.Hkv = 1;
    one.origin.head = h;
    const Tensor own_bias = reference::tensor_of(problem.mask[0].numbers, problem.mask[0].shape, scalar_type(subject.type)).narrow(1, h, 1);
    one.mask = {{.kind = MaskPart::Kind::bias, .shape = own_bias.sizes().vec(), .numbers = reference::numbers(own_bias)}};
    note(failures, "head " + std::to_string(h) + " alone",
         difference("context", run(subject, one).context, all.context.narrow(1, h, 1), tolerance_between(subject, sizes.Lk)));
  }
  if (!grouped) return failures;
  try {
    const auto part = [&](std::int64_t count, const Tensor& like) { return like.narrow(1, 0, 1).expand({2, count, -1, -1}); };
    make(subject, sizes).run({part(6, problem.query), part(4, problem.key), part(4, problem.value)});
    note(failures, "6 query heads over 4", "was taken");
  } catch (const InvalidArgument& error) {
    const std::string expected = subject.mechanism->where + ": expected Hq to be a multiple of Hkv, got Hq = 6 and Hkv = 4";
    note(failures, "6 query heads over 4", unless(error.what() == expected, error.what()));
  }
  return failures;
}

Failures widths_and_scale(const Subject& subject) {
  Failures failures;
  for (const std::int64_t Dk : {1, 3, 16})
    for (const std::int64_t Dv : {1, 5, 16})
      compare(failures, "Dk " + std::to_string(Dk) + format(", Dv {}", Dv), subject,
              make_problem(subject, {.B = 2, .Hq = 2, .Hkv = 1, .Lq = 3, .Lk = 5, .Dq = Dk, .Dk = Dk + 1, .Dv = Dv}));
  if (subject.mechanism->has.scale)
    for (const double scale : {1.0, 0.37, -0.5, 0.0})
      compare(failures, format("scale {}", scale), subject, make_problem(subject, grouped_sizes), {.scale = scale});
  return failures;
}

Failures memory_layout(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, {.B = 3, .Hq = 4, .Hkv = 2, .Lq = 4, .Lk = 5, .Dq = 3, .Dk = 3, .Dv = 4});
  const Problem plain = make_problem(subject, sizes, {keep(sizes), bias(sizes)});
  const auto same = [&](const std::string& what, const Problem& other, const Mask& mask, const Mask& plain_mask, const Problem& expected) {
    const AttentionResult got = make(subject, sizes).run({other.query, other.key, other.value, mask});
    const AttentionResult want =
        make(subject, sizes).run({expected.query.contiguous(), expected.key.contiguous(), expected.value.contiguous(), plain_mask});
    note(failures, what, difference("context", got.context, want.context, tolerance_between(subject, sizes.Lk)));
    note(failures, what, difference("weights", got.weights, want.weights, tolerance_between(subject, sizes.Lk)));
  };
  const auto each = [](Problem problem, const auto& change) {
    problem.query = change(problem.query), problem.key = change(problem.key), problem.value = change(problem.value);
    return problem;
  };
  const Mask mask = to_mask(plain.mask, subject.type);
  const auto transposed = [](const Tensor& x) { return x.transpose(1, 2).contiguous().transpose(1, 2); };
  const auto width_first = [](const Tensor& x) { return x.transpose(2, 3).contiguous().transpose(2, 3); };
  const auto every_second = [](const Tensor& x) { return at::stack({x, x + 1}, -1).select(-1, 0); };
  const auto one_for_all = [](const Tensor& x) { return x.narrow(0, 0, 1).expand_as(x); };
  const auto one_token = [](const Tensor& x) { return x.narrow(2, 0, 1).expand_as(x); };
  same("heads inside, as a projection leaves them", each(plain, transposed), mask, mask, plain);
  same("widths outermost", each(plain, width_first), mask, mask, plain);
  same("every second number", each(plain, every_second), mask, mask, plain);
  same("expanded over the batch", each(plain, one_for_all), mask, mask, each(plain, one_for_all));
  same("expanded over tokens", each(plain, one_token), mask, mask, each(plain, one_token));

  const auto tensor = [&](const MaskPart& part, at::ScalarType type) { return reference::tensor_of(part.numbers, part.shape, type); };
  const Tensor allowed = tensor(plain.mask[0], at::kBool), added = tensor(plain.mask[1], scalar_type(subject.type));
  same("masks with keys outermost", plain, Mask::keep(width_first(allowed)) & Mask::bias(width_first(added)), mask, plain);
  const Tensor lengths_of_rows = at::tensor({5, 9, 2, 9, 4}, at::kLong).slice(0, 0, 5, 2);
  same("lengths with a stride", plain, Mask::lengths(lengths_of_rows), Mask::lengths(lengths_of_rows.contiguous()), plain);
  return failures;
}

Failures result_shapes(const Subject& subject) {
  Failures failures;
  const Sizes sizes = fit(subject, grouped_sizes);
  const Problem problem = make_problem(subject, sizes);
  const bool module = subject.mechanism->has.module;
  const auto taken = [&](const Tensor& tensor) { return module ? tensor.squeeze(1) : tensor; };  // modules take [B, L, E]
  const AttentionResult result = make(subject, sizes).run({taken(problem.query), taken(problem.key), taken(problem.value)});
  const std::vector<std::int64_t> context =
      module ? std::vector<std::int64_t>{sizes.B, sizes.Lq, sizes.Dv} : std::vector<std::int64_t>{sizes.B, sizes.Hq, sizes.Lq, sizes.Dv};
  const std::vector<std::int64_t> weights = {sizes.B, sizes.Hq, sizes.Lq, sizes.Lk};
  note(failures, "context", unless(result.context.sizes() == context, shape_text(result.context)));
  note(failures, "weights", unless(result.weights.sizes() == weights, shape_text(result.weights)));
  for (const Tensor& tensor : {result.context, result.weights}) {
    note(failures, "type", unless(tensor.scalar_type() == scalar_type(subject.type), at::toString(tensor.scalar_type())));
    note(failures, "device", unless(tensor.device() == problem.query.device(), tensor.device().str()));
  }
  return failures;
}

}  // namespace attend::contract
