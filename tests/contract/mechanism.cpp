#include "tests/contract/mechanism.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <functional>

#include "attend/addressing/additive.h"
#include "attend/addressing/attention.h"
#include "attend/addressing/dot_product.h"
#include "attend/addressing/scores/cosine.h"
#include "attend/addressing/scores/dot.h"
#include "attend/addressing/scores/general.h"
#include "attend/addressing/scores/location.h"
#include "tests/contract/problem.h"
#include "tests/reference/normalizers.h"

namespace attend::contract {
namespace {

using addressing::Normalizer, addressing::Score, addressing::ScoreForm, addressing::Window;

constexpr auto general_name = "attend::addressing::read(general)", cosine_name = "attend::addressing::read(cosine)",
               location_name = "attend::addressing::read(location)", normalizer_name = "attend::addressing::read(normalizer)";
constexpr double contract_alpha = 1.25;
constexpr std::int64_t hidden_width = 4;  // of the module's additive score
constexpr std::int64_t positions = 260;   // of the location score: as many keys as the longest problem has
constexpr double cosine_scale = 6;

addressing::ReadOptions read_options(const Setup& setup, const Call& call) {
  addressing::ReadOptions options;
  options.soft_cap = setup.soft_cap;
  options.dropout = setup.dropout;
  options.generator = call.generator;
  options.dropout_origin = call.origin;
  options.return_weights = call.return_weights;
  options.path = setup.path;
  return options;
}

Tensor random_parameter(at::IntArrayRef sizes, std::uint64_t seed, at::ScalarType type) {
  return at::randn(sizes, at::detail::createCPUGenerator(seed), at::kDouble).to(type);
}

Instance make_dot_product(const Setup& setup) {
  const auto run = [setup](const Call& call) {
    return addressing::dot_product(call.query, call.key, call.value, call.mask, {.scale = setup.scale, .read = read_options(setup, call)});
  };
  const double scale = setup.scale.value_or(1 / std::sqrt(static_cast<double>(setup.Dq)));
  return {run, {}, [setup, scale](const std::vector<Numbers>&) { return reference::dot(setup.Dq, scale); }};
}

Instance make_general(const Setup& setup) {
  const Tensor weight = random_parameter({setup.Dq, setup.Dk}, 5, scalar_type(setup.type));
  const auto run = [setup, weight](const Call& call) {
    return addressing::read(general_name, call.query, call.key, call.value, addressing::general_form(weight), call.mask, read_options(setup, call));
  };
  return {run, {weight}, [setup](const std::vector<Numbers>& parameters) { return reference::general(parameters[0], setup.Dq, setup.Dk); }};
}

Instance make_additive_by(Normalizer normalizer, const Setup& setup) {
  const Tensor weight = random_parameter({setup.Dq}, 6, scalar_type(setup.type)) * 2;
  const auto run = [setup, weight, normalizer](const Call& call) {
    addressing::ReadOptions options = read_options(setup, call);
    options.normalizer = normalizer;
    return addressing::additive(call.query, call.key, call.value, weight, call.mask, options);
  };
  return {run, {weight}, [](const std::vector<Numbers>& parameters) { return reference::additive(parameters[0]); }};
}

Instance make_additive(const Setup& setup) { return make_additive_by(Normalizer::softmax, setup); }

Instance make_cosine(const Setup& setup) {
  const auto run = [setup](const Call& call) {
    return addressing::read(cosine_name, call.query, call.key, call.value, addressing::cosine_form(cosine_scale), call.mask, read_options(setup, call));
  };
  return {run, {}, [setup](const std::vector<Numbers>&) { return reference::cosine(setup.Dq, cosine_scale); }};
}

Instance make_location(const Setup& setup) {
  const Tensor weight = random_parameter({positions, setup.Dq}, 8, scalar_type(setup.type));
  const auto run = [setup, weight](const Call& call) {
    const auto score = [&](const Tensor& query, const Tensor& key) {
      return addressing::location_score(query, key.size(2), weight.to(query.scalar_type()));
    };
    return addressing::read(location_name, call.query, call.key, call.value, score, call.mask, read_options(setup, call));
  };
  return {.run = run, .parameters = {weight}, .place_score = [setup](const std::vector<Numbers>& parameters) {
            return reference::location(parameters[0], setup.Dq);
          }};
}

// The module draws from the default generator, which is given the call's state for as long as it runs.
class DefaultGeneratorGuard {
 public:
  explicit DefaultGeneratorGuard(std::optional<at::Generator> generator) : generator_(std::move(generator)) {
    if (generator_) default_.set_state(generator_->get_state());
  }
  ~DefaultGeneratorGuard() {
    if (generator_) generator_->set_state(default_.get_state());
  }

 private:
  std::optional<at::Generator> generator_;
  at::Generator default_ = at::detail::getDefaultCPUGenerator();
};

AttentionResult run_module(addressing::Attention& module, const Call& call) {
  const DefaultGeneratorGuard guard(call.generator);
  const addressing::AttentionPlace place{call.first_query};
  if (call.query.dim() != 4) return module->forward(call.query, call.key, call.value, call.mask, call.return_weights, place);
  AttentionResult result =
      module->forward(call.query.squeeze(1), call.key.squeeze(1), call.value.squeeze(1), call.mask, call.return_weights, place);
  return {result.context.unsqueeze(1), result.weights};
}

reference::PairScore module_score(const Setup& setup, Score score, const std::vector<Numbers>& parameters) {
  switch (score) {
    case Score::dot:
      return reference::dot(setup.Dq, 1);
    case Score::scaled_dot:
      return reference::dot(setup.Dq, 1 / std::sqrt(static_cast<double>(setup.Dq)));
    case Score::general:
      return reference::general(parameters[0], setup.Dq, setup.Dk);
    case Score::additive:
      return reference::projected_additive(parameters[0], parameters[1], parameters[2], parameters[3]);
    case Score::cosine:
      return reference::cosine(setup.Dq, cosine_scale);
    case Score::location:
      return {};
  }
  return {};
}

// What a line of the table says of the module.
struct ModuleForm {
  Score score;
  bool different_widths = true;
  Window window = Window::global;
  std::int64_t window_width = 2;
  bool renormalised = false;
};

// The parameters of a window come after those of the score.
reference::LocalWindow module_window(const ModuleForm& form, const std::vector<Numbers>& parameters) {
  const std::size_t count = parameters.size();
  if (form.window == Window::local_m) return reference::local_m(static_cast<double>(form.window_width), 1);
  if (form.window == Window::local_p)
    return reference::local_p(parameters[count - 2], parameters[count - 1], static_cast<double>(form.window_width), form.renormalised);
  return {};
}

std::function<Instance(const Setup&)> make_module(const ModuleForm& form) {
  return [form](const Setup& setup) -> Instance {
    addressing::Attention module(setup.Dq, setup.Dk,
                                 addressing::AttentionOptions{.score = form.score,
                                                              .window = form.window,
                                                              .hidden = hidden_width,
                                                              .cosine_scale = cosine_scale,
                                                              .positions = positions,
                                                              .window_width = form.window_width,
                                                              .window_renormalised = form.renormalised,
                                                              .dropout = setup.dropout,
                                                              .path = setup.path});
    const at::ScalarType type = setup.type == Type::float64 ? at::kDouble : at::kFloat;
    module->to(type);
    module->train(setup.dropout > 0);
    std::vector<Tensor> parameters = module->parameters();
    const torch::NoGradGuard no_gradient;
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(random_parameter(parameters[i].sizes(), 7 + i, type));
    return {[module](const Call& call) mutable { return run_module(module, call); }, parameters,
            [setup, form](const std::vector<Numbers>& numbers) { return module_score(setup, form.score, numbers); },
            module.ptr(),
            [setup, form](const std::vector<Numbers>& numbers) {
              return form.score == Score::location ? reference::location(numbers[0], setup.Dq) : reference::PlaceScore();
            },
            [form](const std::vector<Numbers>& numbers) { return module_window(form, numbers); }};
  };
}

ScoreForm form_of(Score score) {
  if (score == Score::additive) return ScoreForm::additive;
  return score == Score::location ? ScoreForm::any : ScoreForm::dot;
}

Mechanism module_line(const std::string& name, const ModuleForm& form) {
  const bool windowed = form.window != Window::global, predicts = form.window == Window::local_p;
  return {name,
          "attend::addressing::Attention",
          "[B, Lq, Eq]",
          "[B, Lk, Ek]",
          "[B, Lk, Ev]",
          {.several_heads = false,
           .different_widths = form.different_widths,
           .soft_cap = false,
           .origin = false,
           .module = true,
           .window = windowed,
           .places = windowed || form.score == Score::location,
           .length = predicts,
           .whole_rows = !predicts || form.renormalised,
           .form = form_of(form.score)},
          make_module(form)};
}

// The scores of scaled dot products by another normaliser than softmax. What a call without a generator draws is always the same.
Mechanism normalizer_line(Normalizer normalizer, const reference::RowNormalizer& row, Mechanism::Features has) {
  const auto make = [normalizer, row](const Setup& setup) -> Instance {
    const auto run = [setup, normalizer](const Call& call) {
      addressing::ReadOptions options = read_options(setup, call);
      options.normalizer = normalizer;
      options.alpha = contract_alpha;
      if (!options.generator) options.generator = at::detail::createCPUGenerator(generator_seed);
      const double scale = 1 / std::sqrt(static_cast<double>(setup.Dq));
      const auto score = [scale](const Tensor& query, const Tensor& key) { return addressing::dot_score(query, key, scale, normalizer_name); };
      return addressing::read(normalizer_name, call.query, call.key, call.value, score, call.mask, options);
    };
    const auto reference_score = [setup, normalizer](const std::vector<Numbers>&) {
      if (normalizer == Normalizer::uniform) return reference::PairScore([](const double*, const double*) { return 0.0; });
      return reference::dot(setup.Dq, 1 / std::sqrt(static_cast<double>(setup.Dq)));
    };
    Instance instance{run, {}, reference_score};
    instance.normalize = row;
    instance.seeds = normalizer == Normalizer::hard_sample ? 1 : 0;
    return instance;
  };
  has.grouped_heads = true;
  return {std::string(attend::name_of(normalizer)), normalizer_name, "[B, Hq, Lq, Dk]", "[B, Hkv, Lk, Dk]", "[B, Hkv, Lk, Dv]", has, make};
}

reference::RowNormalizer anywhere(std::function<Numbers(const Numbers&)> row) {
  return [row = std::move(row)](const Numbers& scores, std::int64_t, std::int64_t, std::int64_t) { return row(scores); };
}

reference::RowNormalizer entmax_rows(double alpha) {
  return anywhere([alpha](const Numbers& scores) { return reference::entmax_row(scores, alpha); });
}

Instance make_additive_sparsemax(const Setup& setup) {
  Instance instance = make_additive_by(Normalizer::sparsemax, setup);
  instance.normalize = entmax_rows(2);
  return instance;
}

Numbers drawn_row(const Numbers& scores, std::int64_t b, std::int64_t h, std::int64_t i) {
  return reference::hard_sample_row(scores, drawn_seed(), b, h, i);
}

}  // namespace

const std::vector<Mechanism>& mechanisms() {
  static const std::vector<Mechanism> table = {
      {"dot-product",
       "attend::addressing::dot_product",
       "[B, Hq, Lq, Dk]",
       "[B, Hkv, Lk, Dk]",
       "[B, Hkv, Lk, Dv]",
       {.grouped_heads = true, .scale = true, .form = ScoreForm::dot},
       make_dot_product},
      {"general", general_name, "[B, Hq, Lq, Dk]", "[B, Hkv, Lk, Dk]", "[B, Hkv, Lk, Dv]", {.different_widths = true, .form = ScoreForm::dot}, make_general},
      {"additive", "attend::addressing::additive", "[B, H, Lq, A]", "[B, H, Lk, A]", "[B, Hkv, Lk, Dv]", {.form = ScoreForm::additive}, make_additive},
      // the fused score with a composed normaliser
      {"additive:sparsemax",
       "attend::addressing::additive",
       "[B, H, Lq, A]",
       "[B, H, Lk, A]",
       "[B, Hkv, Lk, Dv]",
       {.dense = false, .form = ScoreForm::additive},
       make_additive_sparsemax},
      {"cosine", cosine_name, "[B, Hq, Lq, Dk]", "[B, Hkv, Lk, Dk]", "[B, Hkv, Lk, Dv]", {.grouped_heads = true, .form = ScoreForm::dot}, make_cosine},
      {"location",
       location_name,
       "[B, Hq, Lq, Dk]",
       "[B, Hkv, Lk, Dk]",
       "[B, Hkv, Lk, Dv]",
       {.grouped_heads = true, .different_widths = true, .places = true},
       make_location},
      module_line("attention:dot", {Score::dot, false}),
      module_line("attention:scaled-dot", {Score::scaled_dot, false}),
      module_line("attention:general", {Score::general}),
      module_line("attention:additive", {Score::additive}),
      module_line("attention:cosine", {Score::cosine, false}),
      module_line("attention:location", {Score::location}),
      module_line("attention:local-m", {Score::general, true, Window::local_m}),
      module_line("attention:local-p", {Score::general, true, Window::local_p}),
      // the centre is known to S·u, and how two keys' factors compare to 2W/σ² = 8/W times that; at S = Lk = 257 it stays within the tolerance of
      // (64 + 8·√Lk)·u for W ≥ 11
      module_line("attention:local-p-renormalised", {Score::additive, true, Window::local_p, 11, true}),
      normalizer_line(Normalizer::sparsemax, entmax_rows(2), {.dense = false}),
      normalizer_line(Normalizer::entmax15, entmax_rows(1.5), {.dense = false}),
      normalizer_line(Normalizer::entmax, entmax_rows(contract_alpha), {.dense = false}),
      normalizer_line(Normalizer::uniform, anywhere(reference::uniform_row), {.different_widths = true}),
      // a soft cap rounds large scores to one number, and which of them ties differs from type to type
      normalizer_line(Normalizer::hard_max, anywhere(reference::hard_max_row), {.soft_cap = false, .dense = false, .hard_max = true}),
      normalizer_line(Normalizer::hard_sample, drawn_row, {.dense = false, .hard_sample = true}),
  };
  return table;
}

}  // namespace attend::contract
