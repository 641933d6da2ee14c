#include "attend/models/luong.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <functional>
#include <map>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "tests/models/rules.h"
#include "tests/reference/luong.h"

namespace attend::models {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

using rules::batch_of, rules::loss_of, rules::source_vocabulary, rules::sources, rules::target_vocabulary, rules::targets;

const LuongOptions small = {.embedding = 3, .hidden = 4, .decoder_hidden = 5};

std::vector<LuongOptions> all_luong_forms() {
  std::vector<LuongOptions> forms;
  for (const layers::Cell cell : {layers::Cell::gru, layers::Cell::lstm})
    for (const std::int64_t layers : {1, 2})
      for (const bool input_feeding : {false, true}) {
        forms.push_back(small);
        forms.back().cell = cell, forms.back().layers = layers, forms.back().input_feeding = input_feeding;
      }
  forms.push_back(small);
  forms.back().tied = true, forms.back().embedding = small.decoder_hidden;
  return forms;
}

std::string luong_form(const LuongOptions& options) {
  return std::string(name_of(options.cell)) + ", layers " + std::to_string(options.layers) +
         (options.input_feeding ? ", input feeding" : "") + (options.tied ? ", tied" : "") + ", " + std::string(name_of(options.attention.score)) +
         ", " + std::string(name_of(options.attention.window));
}

std::shared_ptr<Luong> make_luong(const LuongOptions& options) {
  const auto model = std::make_shared<Luong>(source_vocabulary, target_vocabulary, options);
  rules::prepare(*model);
  return model;
}

using NamedNumbers = std::function<reference::Vector(const std::string& name)>;

reference::PairScore score_of(const LuongOptions& options, const NamedNumbers& named) {
  const std::int64_t width = options.decoder_hidden;
  switch (options.attention.score) {
    case addressing::Score::dot:
      return reference::dot(width, 1);
    case addressing::Score::scaled_dot:
      return reference::dot(width, 1 / std::sqrt(static_cast<double>(width)));
    case addressing::Score::general:
      return reference::general(named("attention.weight"), width, 2 * options.hidden);
    case addressing::Score::additive:
      return reference::projected_additive(named("attention.query_projection"), named("attention.key_projection"), named("attention.bias"),
                                           named("attention.energy"));
    case addressing::Score::cosine:
      return reference::cosine(width, options.attention.cosine_scale);
    case addressing::Score::location:
      return {};
  }
  return {};
}

reference::LocalWindow window_of(const LuongOptions& options, const NamedNumbers& named) {
  const addressing::AttentionOptions& attention = options.attention;
  const auto half_width = static_cast<double>(attention.window_width);
  if (attention.window == addressing::Window::local_m) return reference::local_m(half_width, attention.length_ratio);
  if (attention.window == addressing::Window::local_p)
    return reference::local_p(named("attention.centre_projection"), named("attention.centre_energy"), half_width,
                              attention.window_renormalised);
  return {};
}

// All scores × windows, with windows that are narrower than the sources; input feeding in every second form.
std::vector<LuongOptions> all_luong_attentions() {
  using addressing::Score, addressing::Window;
  addressing::AttentionOptions global, local_m, local_m_faster, local_p, local_p_renormalised;
  local_m.window = local_m_faster.window = Window::local_m;
  local_m_faster.length_ratio = 1.6;
  local_p.window = local_p_renormalised.window = Window::local_p;
  local_p_renormalised.window_renormalised = true;
  std::vector<LuongOptions> forms;
  for (const Score score : {Score::dot, Score::scaled_dot, Score::general, Score::additive, Score::cosine, Score::location})
    for (const addressing::AttentionOptions& window : {global, local_m, local_m_faster, local_p, local_p_renormalised})
      for (const bool input_feeding : {false, true}) {
        LuongOptions form{.embedding = 3, .hidden = 4, .decoder_hidden = 8, .attention = window, .input_feeding = input_feeding};
        form.attention.score = score;
        form.attention.hidden = 4, form.attention.cosine_scale = 5, form.attention.positions = 9, form.attention.window_width = 1;
        forms.push_back(form);
      }
  return forms;
}

std::vector<LuongOptions> every_luong_form() {
  std::vector<LuongOptions> forms = all_luong_forms(), attentions = all_luong_attentions();
  forms.insert(forms.end(), attentions.begin(), attentions.end());
  return forms;
}

reference::LuongModel reference_of(const Luong& model, const LuongOptions& options) {
  const auto named = [&](const std::string& name) { return rules::named(model, name); };
  const auto cell = options.cell == layers::Cell::gru ? reference::RecurrentCell::gru : reference::RecurrentCell::lstm;
  const std::int64_t decoder_input = options.embedding + (options.input_feeding ? options.decoder_hidden : 0);
  return {.input_feeding = options.input_feeding,
          .embedding = options.embedding,
          .source_embedding = named("source_embedding.weight"),
          .target_embedding = named("target_embedding.weight"),
          .encoder_sizes = {cell, options.embedding, options.hidden, options.layers, 2},
          .decoder_sizes = {cell, decoder_input, options.decoder_hidden, options.layers, 1},
          .encoder = rules::recurrent_of(model, "encoder", options.layers, true),
          .decoder = rules::recurrent_of(model, "decoder", options.layers, false),
          .first_state_weight = named("first_state.weight"),
          .first_state_bias = named("first_state.bias"),
          .first_cell_weight = named("first_cell.weight"),
          .first_cell_bias = named("first_cell.bias"),
          .score = score_of(options, named),
          .place_score = options.attention.score == addressing::Score::location
                             ? reference::location(named("attention.location"), options.decoder_hidden)
                             : reference::PlaceScore(),
          .window = window_of(options, named),
          .combine = named("combine.weight"),
          .output_weight = named(options.tied ? "target_embedding.weight" : "output.weight"),
          .output_bias = named("output.bias")};
}

TEST(Luong, EqualsItsEquationsOnAPaddedBatch) {
  for (const LuongOptions& options : every_luong_form()) {
    const std::shared_ptr<Luong> model = make_luong(options);
    const reference::LuongModel equations = reference_of(*model, options);
    rules::expect_equations(*model, luong_form(options), [&](const rules::Tokens& source, const rules::Tokens& target) {
      return reference::luong(equations, source, target);
    });
  }
}

TEST(Luong, KeepsTheRulesOfItsKind) {
  for (const LuongOptions& options : every_luong_form()) {
    const std::string form = luong_form(options);
    const std::shared_ptr<Luong> model = make_luong(options);
    rules::expect_steps_to_equal_teacher_forcing(*model, form);
    rules::expect_reordered_states_to_go_on(*model, form);
    rules::expect_padding_to_change_nothing(*model, form);
    rules::expect_rows_to_be_alone(*model, form);
    rules::expect_causality(*model, form);
  }
}

TEST(Luong, RowsAreAloneWithSmoothedLabelsToo) {
  for (LuongOptions options : all_luong_forms()) {
    options.label_smoothing = 0.1;
    const std::shared_ptr<Luong> model = make_luong(options);
    model->train();
    rules::expect_rows_to_be_alone(*model, luong_form(options));
  }
}

TEST(Luong, ItsLossIsTheCrossEntropyOfWhatFollows) {
  LuongOptions options = small;
  options.label_smoothing = 0.2;
  const std::shared_ptr<Luong> model = make_luong(options);
  const TokenBatch target = batch_of(targets);
  for (const bool training : {false, true}) {
    model->train(training);
    const ModelOutput output = model->forward(batch_of(sources), target);
    ASSERT_EQ(output.losses.size(), 1u);
    EXPECT_EQ(output.losses[0].name, "cross_entropy");
    EXPECT_EQ(output.losses[0].weight, 1.0);
    const Tensor wanted = cross_entropy(output.output, target.tokens.slice(1, 1), training ? 0.2 : 0.0);
    EXPECT_TRUE(output.losses[0].value.equal(wanted)) << "labels are smoothed only while training";
  }
}

TEST(Luong, HasTheGradientsOfItsFormula) {
  at::manual_seed(1);  // no key is so near the end of a window that a difference quotient would step over it
  LuongOptions fed = {
      .embedding = 2, .hidden = 2, .decoder_hidden = 3, .cell = layers::Cell::lstm, .input_feeding = true, .label_smoothing = 0.1};
  LuongOptions deep = {.embedding = 2, .hidden = 2, .decoder_hidden = 3, .layers = 2, .cell = layers::Cell::gru};
  deep.attention = {.score = addressing::Score::additive, .hidden = 2};
  LuongOptions located = fed;
  located.attention = {.score = addressing::Score::location, .window = addressing::Window::local_p, .positions = 3, .window_width = 1};
  const LuongOptions tied = {.embedding = 3, .hidden = 2, .decoder_hidden = 3, .tied = true};
  for (const LuongOptions& options : {fed, deep, located, tied}) rules::expect_gradients(*make_luong(options), luong_form(options));
}

TEST(Luong, HasNoStepBeforeTheFirstWithoutRows) {
  for (const LuongOptions& options : every_luong_form()) {
    const std::shared_ptr<Luong> model = make_luong(options);
    const DecoderState state = model->encode(batch_of(sources));
    DecoderState nothing = SequenceToSequence::reorder(state, at::empty({0}, at::kLong));
    EXPECT_EQ(model->step(at::empty({0}, at::kLong), nothing).sizes(), at::IntArrayRef({0, target_vocabulary})) << luong_form(options);
  }
}

TEST(Luong, DropsOnlyWhileTraining) {
  LuongOptions options = small;
  options.dropout = 0.5;
  rules::expect_to_drop_only_while_training(*make_luong(options));
}

TEST(Luong, ItsRecordedAlignmentsSumToOneOverTheRealSource) {
  for (LuongOptions options : all_luong_forms()) {
    const bool steps = options.input_feeding && options.layers > 1;  // one call for each step only where they aren't one operation
    rules::expect_recorded_alignments(*make_luong(options), luong_form(options), steps ? 4 : 1);
    options.attention.path = Path::composed;
    rules::expect_recorded_alignments(*make_luong(options), luong_form(options) + ", composed", options.input_feeding ? 4 : 1);
  }
}

TEST(Luong, LearnsToCopyAndToReverse) {
  for (const bool reversed : {false, true})
    rules::expect_to_learn(
        [&] {
          return std::make_shared<Luong>(10, 10, LuongOptions{.embedding = 16, .hidden = 24, .decoder_hidden = 32, .cell = layers::Cell::gru, .input_feeding = !reversed});
        },
        reversed);
}

// --- input feeding in one operation ------------------------------------------------------------------------------------------------------

// All forms that have one; the same parameters step by step where `path` is composed.
std::vector<LuongOptions> forms_of_one_operation() {
  using addressing::Score;
  std::vector<LuongOptions> forms;
  for (const layers::Cell cell : {layers::Cell::gru, layers::Cell::lstm})
    for (const Score score : {Score::dot, Score::scaled_dot, Score::general, Score::additive})
      for (const double dropout : {0.0, 0.3}) {
        forms.push_back({.embedding = 3, .hidden = 4, .decoder_hidden = 8, .cell = cell, .input_feeding = true, .dropout = dropout});
        forms.back().attention.score = score, forms.back().attention.hidden = 6;
      }
  return forms;
}

std::shared_ptr<Luong> step_by_step(const Luong& model, LuongOptions options) {
  options.attention.path = Path::composed;
  const std::shared_ptr<Luong> steps = make_luong(options);
  const torch::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < model.parameters().size(); ++i) steps->parameters()[i].copy_(model.parameters()[i]);
  return steps;
}

TEST(Luong, InputFeedingInOneOperationHasTheLossesGradientsAndWeightsOfTheSteps) {
  for (const LuongOptions& options : forms_of_one_operation()) {
    const std::string form = luong_form(options) + ", dropout " + std::to_string(options.dropout);
    const std::shared_ptr<Luong> model = make_luong(options), steps = step_by_step(*model, options);
    const auto run = [&](Luong& of) {
      of.train();
      at::manual_seed(5);  // what is dropped is the same
      Recording recording(of);
      const ModelOutput output = of.forward(batch_of(sources), batch_of(targets));
      std::vector<Tensor> found = torch::autograd::grad({output.losses[0].value}, of.parameters()), weights;
      for (const Recording::Item& item : recording.take()) weights.push_back(item.tensor);
      found.push_back(output.output.detach());
      found.push_back(at::cat(weights, 2));
      return found;
    };
    const std::vector<Tensor> got = run(*model), wanted = run(*steps);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(at::allclose(got[i], wanted[i], 1e-10, 1e-12)) << form << ", " << i;
  }
}

TEST(Luong, ThreadsDontChangeInputFeedingInOneOperation) {
  const std::shared_ptr<Luong> model = make_luong(forms_of_one_operation().back());
  model->train();
  const int before = at::get_num_threads();
  std::vector<Tensor> outputs;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    at::manual_seed(5);
    outputs.push_back(model->forward(batch_of(sources), batch_of(targets)).output);
  }
  at::set_num_threads(before);
  EXPECT_TRUE(outputs[1].equal(outputs[0]) && outputs[2].equal(outputs[0]));
}

// --- hard attention ----------------------------------------------------------------------------------------------------------------------

LuongOptions hard_luong(bool input_feeding) {
  LuongOptions options = small;
  options.cell = layers::Cell::gru;
  options.input_feeding = input_feeding;
  options.attention.normalizer = addressing::Normalizer::hard_sample;
  options.hard.entropy = 0.5;
  return options;
}

TEST(Luong, TakesEveryNormaliser) {
  for (const EnumName<addressing::Normalizer>& entry : EnumNames<addressing::Normalizer>::values)
    for (const bool input_feeding : {false, true}) {
      LuongOptions options = small;
      options.attention.normalizer = entry.value;
      options.input_feeding = input_feeding;
      const std::shared_ptr<Luong> model = make_luong(options);
      const TokenBatch source = batch_of(sources), target = batch_of(targets);
      const torch::NoGradGuard no_gradient;
      const ModelOutput output = model->forward(source, target);
      ASSERT_EQ(output.losses.size(), 1u) << "in evaluation the cross-entropy alone";
      const Tensor wanted = output.output.log_softmax(-1);
      DecoderState state = model->encode(source);
      for (std::int64_t t = 0; t < wanted.size(1); ++t)
        EXPECT_TRUE(at::allclose(model->step(target.tokens.select(1, t), state), wanted.select(1, t), 1e-12, 1e-12)) << entry.name << ", step " << t;
    }
}

TEST(Luong, HardAttentionReadsOnePlaceAndInEvaluationTheMostProbable) {
  const std::shared_ptr<Luong> model = make_luong(hard_luong(false));
  LuongOptions best = small;
  best.cell = layers::Cell::gru;
  best.attention.normalizer = addressing::Normalizer::hard_max;
  const std::shared_ptr<Luong> same = make_luong(best);
  {
    const torch::NoGradGuard no_gradient;
    for (std::size_t i = 0; i < model->parameters().size(); ++i) same->parameters()[i].copy_(model->parameters()[i]);
  }
  const TokenBatch source = batch_of(sources), target = batch_of(targets);
  EXPECT_TRUE(model->forward(source, target).output.equal(same->forward(source, target).output));
  model->train();
  Recording recording(*model);
  at::manual_seed(3);
  const Tensor drawn = model->forward(source, target).output;
  const Tensor weights = recording.take()[0].tensor;
  EXPECT_TRUE(weights.amax(-1).equal(at::ones({4, 1, 4}, at::kDouble)));
  EXPECT_TRUE(weights.sum(-1).equal(at::ones({4, 1, 4}, at::kDouble)));
  EXPECT_EQ(weights[1].slice(-1, 2).abs().max().item<double>(), 0) << "padding is drawn";
  at::manual_seed(3);
  EXPECT_TRUE(drawn.equal(model->forward(source, target).output)) << "the same seed draws the same";
}

TEST(Luong, ADrawIsPaidByWhatItActsOn) {
  const TokenBatch source = batch_of(sources), target = batch_of(targets);
  for (const bool input_feeding : {false, true}) {
    const LuongOptions options = hard_luong(input_feeding);
    const std::shared_ptr<Luong> model = make_luong(options);
    model->train();
    double baseline = 0;
    for (int call = 0; call < 3; ++call) {
      Recording recording(*model);
      const ModelOutput output = model->forward(source, target);
      std::vector<Tensor> steps;
      for (const Recording::Item& item : recording.take()) steps.push_back(item.tensor);
      const Tensor read = at::cat(steps, 2).argmax(-1);  // [B, 1, Lt]
      ASSERT_EQ(output.losses.size(), 3u);
      EXPECT_EQ(output.losses[1].name, "score_function");
      EXPECT_EQ(output.losses[1].weight, 1.0);
      EXPECT_EQ(output.losses[2].name, "entropy");
      EXPECT_EQ(output.losses[2].weight, 0.5);
      // what was drawn, token by token: its probability comes from the same model with a soft read of h_t where nothing is fed back
      const Tensor log_p = output.output.log_softmax(-1);
      double mean = 0, tokens = 0;
      std::vector<std::vector<double>> rewards;
      for (std::size_t row = 0; row < targets.size(); ++row) {
        const std::size_t count = targets[row].size() - 1;
        std::vector<double> reward(count, 0);
        for (std::size_t t = count; t-- > 0;) {
          reward[t] = log_p[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(t)][targets[row][t + 1]].item<double>();
          if (input_feeding && t + 1 < count) reward[t] += reward[t + 1];
        }
        for (const double r : reward) mean += r;
        tokens += static_cast<double>(count);
        rewards.push_back(reward);
      }
      if (!input_feeding) {
        LuongOptions soft = options;
        soft.attention.normalizer = addressing::Normalizer::softmax;
        const std::shared_ptr<Luong> probabilities = make_luong(soft);
        {
          const torch::NoGradGuard no_gradient;
          for (std::size_t i = 0; i < model->parameters().size(); ++i) probabilities->parameters()[i].copy_(model->parameters()[i]);
        }
        Recording soft_recording(*probabilities);
        probabilities->forward(source, target);
        const Tensor p = soft_recording.take()[0].tensor;
        double wanted = 0, entropy = 0;
        for (std::size_t row = 0; row < targets.size(); ++row)
          for (std::size_t t = 0; t + 1 < targets[row].size(); ++t) {
            const Tensor shares = p[static_cast<std::int64_t>(row)][0][static_cast<std::int64_t>(t)];
            const auto place = read[static_cast<std::int64_t>(row)][0][static_cast<std::int64_t>(t)].item<std::int64_t>();
            wanted -= (rewards[row][t] - baseline) * std::log(shares[place].item<double>());
            for (std::int64_t s = 0; s < static_cast<std::int64_t>(sources[row].size()); ++s)
              entropy -= shares[s].item<double>() * std::log(shares[s].item<double>());
          }
        EXPECT_NEAR(output.losses[1].value.item<double>(), wanted / tokens, 1e-10) << "call " << call;
        EXPECT_NEAR(output.losses[2].value.item<double>(), -entropy / tokens, 1e-10) << "call " << call;
      }
      baseline = 0.9 * baseline + 0.1 * mean / tokens;
      EXPECT_NEAR(model->named_buffers()["score_function.baseline"].item<double>(), baseline, 1e-12) << "call " << call;
    }
  }
}

// Σ_t log p(place drawn at t) / n of the draw that a seed gives, with its gradient: the term for a reward of −1 in each step, which a baseline of
// R + 1 would make. It is had from the terms of two baselines: they are linear in b.
Tensor log_probability_of(Luong& model, const TokenBatch& source, const TokenBatch& target, std::uint64_t seed) {
  const auto term = [&](double b) {
    at::manual_seed(seed);
    model.named_buffers()["score_function.baseline"].fill_(b);
    return model.forward(source, target).losses[1].value;
  };
  return term(1) - term(0);  // −(R − 1) Σ + R Σ
}

// All places that two steps over a source of two can read, each by its probability: the gradient of the expected loss.
TEST(Luong, TheGradientOfHardAttentionIsThatOfTheExpectedLossInTheMean) {
  const TokenBatch source = batch_of({{4, 3}}), target = batch_of({{2, 5, 3}});
  for (const bool input_feeding : {false, true}) {
    LuongOptions options = hard_luong(input_feeding);
    options.hard.entropy = 0;
    options.hard.decay = 0.5;
    const std::shared_ptr<Luong> model = make_luong(options);
    model->train();
    const std::vector<Tensor> parameters = model->parameters();
    // one draw of each kind: its probability (differentiable), loss and estimate
    std::map<std::string, std::pair<Tensor, std::vector<Tensor>>> kinds;
    Tensor expected = at::zeros({}, at::kDouble);
    for (std::uint64_t seed = 0; kinds.size() < 4; ++seed) {
      ASSERT_LT(seed, 3000u) << "some places are never drawn";
      at::manual_seed(seed);
      const torch::NoGradGuard no_gradient;
      model->named_buffers()["score_function.baseline"].fill_(-1.5);
      Recording recording(*model);
      torch::AutoGradMode gradients(true);
      const ModelOutput output = model->forward(source, target);
      std::string places;
      for (const Recording::Item& item : recording.take())
        for (std::int64_t t = 0; t < item.tensor.size(2); ++t) places += std::to_string(item.tensor[0][0][t].argmax().item<std::int64_t>());
      if (kinds.count(places) == 1) continue;
      const Tensor log_p = log_probability_of(*model, source, target, seed) * 2;  // a mean over two tokens
      const Tensor p = log_p.exp();
      expected = expected + p * output.losses[0].value.detach() + p.detach() * output.losses[0].value;
      kinds[places] = {p.detach(), torch::autograd::grad({output.losses[0].value + output.losses[1].value}, parameters, {}, true, false, true)};
    }
    const std::vector<Tensor> wanted = torch::autograd::grad({expected}, parameters, {}, {}, false, true);
    double all = 0;
    for (const auto& [places, kind] : kinds) all += kind.first.item<double>();
    EXPECT_NEAR(all, 1, 1e-12);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Tensor mean = at::zeros_like(parameters[i]);
      for (const auto& [places, kind] : kinds)
        if (kind.second[i].defined()) mean = mean + kind.first * kind.second[i];
      const Tensor right = wanted[i].defined() ? wanted[i] : at::zeros_like(mean);
      const reference::Tolerance near = reference::gradient_tolerance(reference::Type::float64, 64);
      EXPECT_EQ(reference::difference("gradient", reference::numbers(mean), reference::numbers(right), near), "")
          << model->named_parameters().keys()[i] << (input_feeding ? ", input feeding" : "");
    }
  }
}

TEST(Luong, HardAttentionLearnsToCopy) {
  at::manual_seed(1);
  LuongOptions options = {.embedding = 16, .hidden = 24, .decoder_hidden = 32, .cell = layers::Cell::gru};
  options.attention.normalizer = addressing::Normalizer::hard_sample;
  options.hard.entropy = 0.01;
  options.attention.expected = 0.5;
  Luong model(10, 10, options);
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(0.01));
  const rules::SymbolPairs fresh = rules::symbol_pairs(64, false);
  const auto loss = [&] {
    model.eval();
    return loss_of(model, batch_of(fresh.source), batch_of(fresh.target));
  };
  const double before = loss();
  for (int step = 0; step < 250; ++step) {
    model.train();
    const rules::SymbolPairs pairs = rules::symbol_pairs(32, false);
    optimizer.zero_grad();
    Tensor total = at::zeros({});
    for (const LossTerm& term : model.forward(batch_of(pairs.source), batch_of(pairs.target)).losses) total = total + term.value * term.weight;
    total.backward();
    optimizer.step();
  }
  EXPECT_GT(before, 2.0);
  EXPECT_LT(loss(), 0.4) << "before: " << before;
}

TEST(Luong, TheSameSeedGivesTheSameModel) {
  at::manual_seed(3);
  const Luong first(9, 7, small);
  at::manual_seed(3);
  const Luong second(9, 7, small);
  for (std::size_t i = 0; i < first.parameters().size(); ++i) EXPECT_TRUE(first.parameters()[i].equal(second.parameters()[i]));
}

TEST(Luong, ItsPageListsEveryOption) { rules::expect_page_to_list("docs/systems/luong.md", describe_options<LuongOptions>()); }

auto luong_refuses(const std::string& message) { return ThrowsMessage<InvalidArgument>(StrEq("attend::models::Luong: " + message)); }

TEST(Luong, RefusesOptionsOutOfRange) {
  const auto making = [](void (*change)(LuongOptions&)) {
    return [change] {
      LuongOptions options = small;
      change(options);
      Luong(9, 7, options);
    };
  };
  EXPECT_THAT(making([](LuongOptions& options) { options.embedding = 0; }), luong_refuses("expected embedding ≥ 1, got 0"));
  EXPECT_THAT(making([](LuongOptions& options) { options.hidden = -1; }), luong_refuses("expected hidden ≥ 1, got -1"));
  EXPECT_THAT(making([](LuongOptions& options) { options.decoder_hidden = 0; }), luong_refuses("expected decoder_hidden ≥ 1, got 0"));
  EXPECT_THAT(making([](LuongOptions& options) { options.layers = 0; }), luong_refuses("expected layers ≥ 1, got 0"));
  EXPECT_THAT(making([](LuongOptions& options) { options.dropout = 1; }), luong_refuses("expected dropout from 0 to below 1, got 1"));
  EXPECT_THAT(making([](LuongOptions& options) { options.label_smoothing = -0.5; }),
              luong_refuses("expected label_smoothing from 0 to below 1, got -0.5"));
  EXPECT_THAT(making([](LuongOptions& options) { options.tied = true; }),
              luong_refuses("tied embeddings need embedding = decoder_hidden, since one weight serves both, got 3 and 5; make them equal, or "
                            "leave tied out"));
  EXPECT_THAT(
      making([](LuongOptions& options) { options.attention.score = addressing::Score::dot; }),
      ThrowsMessage<InvalidArgument>(StrEq("attend::addressing::Attention: score \"dot\" needs queries and keys of the same width, got 5 "
                                           "and 8; use \"general\" or \"additive\"")));
  EXPECT_THAT([] { Luong(0, 7, small); }, luong_refuses("expected source_vocabulary ≥ 1, got 0"));
  EXPECT_THAT([] { Luong(9, 0, small); }, luong_refuses("expected target_vocabulary ≥ 1, got 0"));
}

TEST(Luong, RefusesTokensThatDontFit) {
  Luong model(source_vocabulary, target_vocabulary, small);
  rules::expect_to_refuse_tokens(model, "attend::models::Luong");
}

}  // namespace
}  // namespace attend::models
