#include "attend/models/rnnsearch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/models/rules.h"
#include "tests/reference/tensors.h"

namespace attend::models {
namespace {

const RnnsearchOptions small_rnnsearch = {.embedding = 3, .hidden = 4, .decoder_hidden = 5, .alignment = 6, .maxout = 2};

std::vector<RnnsearchOptions> all_rnnsearch_forms() {
  std::vector<RnnsearchOptions> forms = {small_rnnsearch, small_rnnsearch, small_rnnsearch};
  forms[1].tied = true, forms[1].maxout = 3;
  forms[2].cell = layers::Cell::lstm;
  return forms;
}

std::string rnnsearch_form(const RnnsearchOptions& options) {
  return std::string(name_of(options.cell)) + (options.tied ? " tied" : " plain");
}

std::shared_ptr<Rnnsearch> make_rnnsearch(const RnnsearchOptions& options) {
  const auto model = std::make_shared<Rnnsearch>(rules::source_vocabulary, rules::target_vocabulary, options);
  rules::prepare(*model);
  return model;
}

reference::RnnsearchModel equations_of(const Rnnsearch& model, const RnnsearchOptions& options) {
  reference::Affine output = rules::affine_of(model, "output");
  if (options.tied) output.weight = rules::named(model, "target_embedding.weight");
  const auto cell = options.cell == layers::Cell::lstm ? reference::RecurrentCell::lstm : reference::RecurrentCell::gru_reset_before;
  return {.embedding = options.embedding,
          .decoder_hidden = options.decoder_hidden,
          .cell = cell,
          .source_embedding = rules::named(model, "source_embedding.weight"),
          .target_embedding = rules::named(model, "target_embedding.weight"),
          .encoder_sizes = {cell, options.embedding, options.hidden, 1, 2},
          .encoder = rules::recurrent_of(model, "encoder", 1, true),
          .first_state = rules::affine_of(model, "first_state"),
          .score = reference::projected_additive(rules::named(model, "attention.query_projection"), rules::named(model, "attention.key_projection"),
                                                 rules::named(model, "attention.bias"), rules::named(model, "attention.energy")),
          .of_token = rules::affine_of(model, "gates_of_token"),
          .of_state = {rules::named(model, "gates_of_state"), {}},
          .of_context = rules::affine_of(model, "gates_of_context"),
          .deep_of_state = rules::affine_of(model, "deep_of_state"),
          .deep_of_token = rules::affine_of(model, "deep_of_token"),
          .deep_of_context = rules::affine_of(model, "deep_of_context"),
          .output = output};
}

TEST(Rnnsearch, EqualsItsEquationsOnAPaddedBatch) {
  for (const RnnsearchOptions& options : all_rnnsearch_forms()) {
    const std::shared_ptr<Rnnsearch> model = make_rnnsearch(options);
    const reference::RnnsearchModel equations = equations_of(*model, options);
    rules::expect_equations(*model, rnnsearch_form(options), [&](const rules::Tokens& source, const rules::Tokens& target) {
      return reference::rnnsearch(equations, source, target);
    });
  }
}

TEST(Rnnsearch, KeepsTheRulesOfItsKind) {
  for (const RnnsearchOptions& options : all_rnnsearch_forms()) {
    const std::string form = rnnsearch_form(options);
    const std::shared_ptr<Rnnsearch> model = make_rnnsearch(options);
    rules::expect_steps_to_equal_teacher_forcing(*model, form);
    rules::expect_reordered_states_to_go_on(*model, form);
    rules::expect_padding_to_change_nothing(*model, form);
    rules::expect_rows_to_be_alone(*model, form);
    rules::expect_causality(*model, form);
    rules::expect_recorded_alignments(*model, form, 1);
  }
}

TEST(Rnnsearch, HasTheGradientsOfItsFormula) {
  const RnnsearchOptions plain = {.embedding = 2, .hidden = 2, .decoder_hidden = 3, .alignment = 2, .maxout = 2, .label_smoothing = 0.1};
  RnnsearchOptions tied = plain, lstm = plain;
  tied.tied = true;
  lstm.cell = layers::Cell::lstm;
  for (const RnnsearchOptions& options : {plain, tied, lstm}) rules::expect_gradients(*make_rnnsearch(options), rnnsearch_form(options));
}

TEST(Rnnsearch, DropsOnlyWhileTraining) {
  RnnsearchOptions options = small_rnnsearch;
  options.dropout = 0.5;
  rules::expect_to_drop_only_while_training(*make_rnnsearch(options));
}

TEST(Rnnsearch, LearnsToCopyAndToReverse) {
  for (const bool reversed : {false, true})
    rules::expect_to_learn(
        [] {
          return std::make_shared<Rnnsearch>(
              10, 10, RnnsearchOptions{.embedding = 16, .hidden = 24, .decoder_hidden = 32, .alignment = 24, .maxout = 16});
        },
        reversed);
}

TEST(Rnnsearch, LearnsToCopyWithAnLstm) {
  rules::expect_to_learn(
      [] {
        return std::make_shared<Rnnsearch>(
            10, 10, RnnsearchOptions{.embedding = 16, .hidden = 24, .decoder_hidden = 32, .alignment = 24, .maxout = 16, .cell = layers::Cell::lstm});
      },
      /*reversed=*/false);
}

TEST(Rnnsearch, ItsPageListsEveryOption) { rules::expect_page_to_list("docs/systems/rnnsearch.md", describe_options<RnnsearchOptions>()); }

TEST(Rnnsearch, RefusesOptionsOutOfRange) {
  const auto making = [](void (*change)(RnnsearchOptions&)) {
    return [change] {
      RnnsearchOptions options = small_rnnsearch;
      change(options);
      Rnnsearch(9, 7, options);
    };
  };
  const auto says = [](const std::string& message) {
    return testing::ThrowsMessage<InvalidArgument>(testing::StrEq("attend::models::Rnnsearch: " + message));
  };
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.embedding = 0; }), says("expected embedding ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.hidden = -1; }), says("expected hidden ≥ 1, got -1"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.decoder_hidden = 0; }), says("expected decoder_hidden ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.alignment = 0; }), says("expected alignment ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.maxout = 0; }), says("expected maxout ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.dropout = 1; }), says("expected dropout from 0 to below 1, got 1"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.label_smoothing = 2; }), says("expected label_smoothing from 0 to below 1, got 2"));
  EXPECT_THAT(making([](RnnsearchOptions& options) { options.tied = true; }),
              says("tied embeddings need embedding = maxout, since one weight serves both, got 3 and 2; make them equal, or leave tied out"));
  EXPECT_THAT([] { Rnnsearch(0, 7, small_rnnsearch); }, says("expected source_vocabulary ≥ 1, got 0"));
  EXPECT_THAT([] { Rnnsearch(9, 0, small_rnnsearch); }, says("expected target_vocabulary ≥ 1, got 0"));
}

TEST(Rnnsearch, RefusesTokensThatDontFit) {
  Rnnsearch model(rules::source_vocabulary, rules::target_vocabulary, small_rnnsearch);
  rules::expect_to_refuse_tokens(model, "attend::models::Rnnsearch");
}

}  // namespace
}  // namespace attend::models
