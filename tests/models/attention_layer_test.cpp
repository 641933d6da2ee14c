#include "attend/models/attention_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/models/rules.h"
#include "tests/reference/tensors.h"

namespace attend::models {
namespace {

const AttentionLayerOptions small_layer = {.embedding = 3, .hidden = 4, .alignment = 6};

std::vector<AttentionLayerOptions> all_attention_layer_forms() {
  std::vector<AttentionLayerOptions> forms;
  for (const std::int64_t layers : {1, 2})
    for (const bool bidirectional : {false, true})
      for (const bool tied : {false, true}) {
        forms.push_back(small_layer);
        forms.back().layers = layers, forms.back().bidirectional = bidirectional, forms.back().tied = tied;
        if (tied) forms.back().embedding = 2 * small_layer.hidden * (bidirectional ? 2 : 1);
      }
  return forms;
}

std::string attention_layer_form(const AttentionLayerOptions& options) {
  return "layers " + std::to_string(options.layers) + (options.bidirectional ? ", bidirectional" : "") + (options.tied ? ", tied" : "");
}

std::shared_ptr<AttentionLayer> make_attention_layer(const AttentionLayerOptions& options) {
  const auto model = std::make_shared<AttentionLayer>(rules::source_vocabulary, rules::target_vocabulary, options);
  rules::prepare(*model);
  return model;
}

reference::AttentionLayerModel equations_of(const AttentionLayer& model, const AttentionLayerOptions& options) {
  const std::int64_t directions = options.bidirectional ? 2 : 1;
  reference::Affine output = rules::affine_of(model, "output");
  if (options.tied) output.weight = rules::named(model, "target_embedding.weight");
  return {.embedding = options.embedding,
          .source_embedding = rules::named(model, "source_embedding.weight"),
          .target_embedding = rules::named(model, "target_embedding.weight"),
          .encoder_sizes = {reference::RecurrentCell::gru, options.embedding, options.hidden, options.layers, directions},
          .decoder_sizes = {reference::RecurrentCell::gru, options.embedding, options.hidden * directions, options.layers, 1},
          .encoder = rules::recurrent_of(model, "encoder", options.layers, options.bidirectional),
          .decoder = rules::recurrent_of(model, "decoder", options.layers, false),
          .score = reference::projected_additive(rules::named(model, "attention.query_projection"), rules::named(model, "attention.key_projection"),
                                                 rules::named(model, "attention.bias"), rules::named(model, "attention.energy")),
          .output = output};
}

TEST(AttentionLayer, EqualsItsEquationsOnAPaddedBatch) {
  for (const AttentionLayerOptions& options : all_attention_layer_forms()) {
    const std::shared_ptr<AttentionLayer> model = make_attention_layer(options);
    const reference::AttentionLayerModel equations = equations_of(*model, options);
    rules::expect_equations(*model, attention_layer_form(options), [&](const rules::Tokens& source, const rules::Tokens& target) {
      return reference::attention_layer(equations, source, target);
    });
  }
}

TEST(AttentionLayer, KeepsTheRulesOfItsKind) {
  for (const AttentionLayerOptions& options : all_attention_layer_forms()) {
    const std::string form = attention_layer_form(options);
    const std::shared_ptr<AttentionLayer> model = make_attention_layer(options);
    rules::expect_steps_to_equal_teacher_forcing(*model, form);
    rules::expect_reordered_states_to_go_on(*model, form);
    rules::expect_padding_to_change_nothing(*model, form);
    rules::expect_rows_to_be_alone(*model, form);
    rules::expect_causality(*model, form);
    rules::expect_recorded_alignments(*model, form, 1);
  }
}

TEST(AttentionLayer, HasTheGradientsOfItsFormula) {
  const AttentionLayerOptions plain = {.embedding = 2, .hidden = 2, .bidirectional = true, .alignment = 2, .label_smoothing = 0.1},
                              tied = {.embedding = 4, .hidden = 2, .layers = 2, .alignment = 2, .tied = true};
  for (const AttentionLayerOptions& options : {plain, tied}) rules::expect_gradients(*make_attention_layer(options), attention_layer_form(options));
}

TEST(AttentionLayer, DropsOnlyWhileTraining) {
  AttentionLayerOptions options = small_layer;
  options.dropout = 0.5;
  rules::expect_to_drop_only_while_training(*make_attention_layer(options));
}

TEST(AttentionLayer, LearnsToCopyAndToReverse) {
  for (const bool reversed : {false, true})
    rules::expect_to_learn(
        [&] {
          return std::make_shared<AttentionLayer>(
              10, 10, AttentionLayerOptions{.embedding = 16, .hidden = 32, .bidirectional = reversed, .alignment = 24});
        },
        reversed);
}

TEST(AttentionLayer, ItsPageListsEveryOption) {
  rules::expect_page_to_list("docs/systems/attention_layer.md", describe_options<AttentionLayerOptions>());
}

TEST(AttentionLayer, RefusesOptionsOutOfRange) {
  const auto making = [](void (*change)(AttentionLayerOptions&)) {
    return [change] {
      AttentionLayerOptions options = small_layer;
      change(options);
      AttentionLayer(9, 7, options);
    };
  };
  const auto says = [](const std::string& message) {
    return testing::ThrowsMessage<InvalidArgument>(testing::StrEq("attend::models::AttentionLayer: " + message));
  };
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.embedding = 0; }), says("expected embedding ≥ 1, got 0"));
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.hidden = -1; }), says("expected hidden ≥ 1, got -1"));
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.layers = 0; }), says("expected layers ≥ 1, got 0"));
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.alignment = 0; }), says("expected alignment ≥ 1, got 0"));
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.dropout = 1; }), says("expected dropout from 0 to below 1, got 1"));
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.label_smoothing = 2; }), says("expected label_smoothing from 0 to below 1, got 2"));
  EXPECT_THAT(making([](AttentionLayerOptions& options) { options.tied = true; }),
              says("tied embeddings need embedding = the widths of decoder and context together, since one weight serves both, got 3 and 8; make "
                   "them equal, or leave tied out"));
  EXPECT_THAT([] { AttentionLayer(0, 7, small_layer); }, says("expected source_vocabulary ≥ 1, got 0"));
  EXPECT_THAT([] { AttentionLayer(9, 0, small_layer); }, says("expected target_vocabulary ≥ 1, got 0"));
}

TEST(AttentionLayer, RefusesTokensThatDontFit) {
  AttentionLayer model(rules::source_vocabulary, rules::target_vocabulary, small_layer);
  rules::expect_to_refuse_tokens(model, "attend::models::AttentionLayer");
}

}  // namespace
}  // namespace attend::models
