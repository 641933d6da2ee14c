#include "attend/models/rnn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "tests/models/rules.h"
#include "tests/reference/tensors.h"

namespace attend::models {
namespace {

const RnnOptions small_rnn = {.embedding = 3, .hidden = 4, .maxout = 5};

std::vector<RnnOptions> all_rnn_forms() {
  std::vector<RnnOptions> forms;
  for (const layers::Cell cell : {layers::Cell::gru, layers::Cell::lstm})
    for (const std::int64_t layers : {1, 2})
      for (const SourceVector vector : {SourceVector::first_state, SourceVector::every_step})
        for (const bool reverse : {true, false}) {
          forms.push_back(small_rnn);
          forms.back().cell = cell, forms.back().layers = layers, forms.back().source_vector = vector, forms.back().reverse_source = reverse;
        }
  forms.push_back(small_rnn);  // as Cho 2014 has it
  forms.back().cell = layers::Cell::gru, forms.back().reset = layers::Reset::before, forms.back().reverse_source = false;
  forms.back().source_vector = SourceVector::every_step;
  forms.push_back(small_rnn);
  forms.back().tied = true, forms.back().embedding = small_rnn.hidden;
  forms.push_back(forms.back());
  forms.back().source_vector = SourceVector::every_step, forms.back().embedding = small_rnn.maxout;
  return forms;
}

std::string rnn_form(const RnnOptions& options) {
  return std::string(name_of(options.cell)) + ", layers " + std::to_string(options.layers) + ", " + std::string(name_of(options.source_vector)) +
         (options.reverse_source ? ", reversed" : "") + (options.tied ? ", tied" : "");
}

std::shared_ptr<Rnn> make_rnn(const RnnOptions& options) {
  const auto model = std::make_shared<Rnn>(rules::source_vocabulary, rules::target_vocabulary, options);
  rules::prepare(*model);
  return model;
}

reference::RnnModel equations_of(const Rnn& model, const RnnOptions& options) {
  const auto cell = options.cell == layers::Cell::lstm         ? reference::RecurrentCell::lstm
                    : options.reset == layers::Reset::before ? reference::RecurrentCell::gru_reset_before
                                                               : reference::RecurrentCell::gru;
  const bool every_step = options.source_vector == SourceVector::every_step;
  reference::Affine output = rules::affine_of(model, "output");
  if (options.tied) output.weight = rules::named(model, "target_embedding.weight");
  return {.reverse_source = options.reverse_source,
          .every_step = every_step,
          .embedding = options.embedding,
          .source_embedding = rules::named(model, "source_embedding.weight"),
          .target_embedding = rules::named(model, "target_embedding.weight"),
          .encoder_sizes = {cell, options.embedding, options.hidden, options.layers, 1},
          .decoder_sizes = {cell, options.embedding + (every_step ? options.hidden : 0), options.hidden, options.layers, 1},
          .encoder = rules::recurrent_of(model, "encoder", options.layers, false),
          .decoder = rules::recurrent_of(model, "decoder", options.layers, false),
          .summary = rules::affine_of(model, "summary"),
          .first_state = rules::affine_of(model, "first_state"),
          .first_cell = rules::affine_of(model, "first_cell"),
          .deep = rules::affine_of(model, "deep"),
          .output = output};
}

TEST(Rnn, EqualsItsEquationsOnAPaddedBatch) {
  for (const RnnOptions& options : all_rnn_forms()) {
    const std::shared_ptr<Rnn> model = make_rnn(options);
    const reference::RnnModel equations = equations_of(*model, options);
    rules::expect_equations(*model, rnn_form(options),
                            [&](const rules::Tokens& source, const rules::Tokens& target) { return reference::rnn(equations, source, target); });
  }
}

TEST(Rnn, KeepsTheRulesOfItsKind) {
  for (const RnnOptions& options : all_rnn_forms()) {
    const std::string form = rnn_form(options);
    const std::shared_ptr<Rnn> model = make_rnn(options);
    rules::expect_steps_to_equal_teacher_forcing(*model, form);
    rules::expect_reordered_states_to_go_on(*model, form);
    rules::expect_padding_to_change_nothing(*model, form);
    rules::expect_rows_to_be_alone(*model, form);
    rules::expect_causality(*model, form);
    EXPECT_EQ(model->alignment_module(), "") << "it has nothing to align";
  }
}

TEST(Rnn, HasTheGradientsOfItsFormula) {
  RnnOptions sutskever = {.embedding = 3, .hidden = 3, .tied = true, .label_smoothing = 0.1};
  RnnOptions cho = {.embedding = 2, .hidden = 3, .layers = 2, .cell = layers::Cell::gru, .reset = layers::Reset::before, .maxout = 2};
  cho.source_vector = SourceVector::every_step;
  RnnOptions cells = cho;
  cells.cell = layers::Cell::lstm, cells.reset = layers::Reset::after;
  for (const RnnOptions& options : {sutskever, cho, cells}) rules::expect_gradients(*make_rnn(options), rnn_form(options));
}

TEST(Rnn, ReadsTheSourceInTheOrderThatItSays) {
  RnnOptions forwards = small_rnn;
  forwards.reverse_source = false;
  const std::shared_ptr<Rnn> reading = make_rnn(forwards), reversing = make_rnn(small_rnn);
  const torch::NoGradGuard no_gradient;
  for (std::size_t i = 0; i < reading->parameters().size(); ++i) reversing->parameters()[i].copy_(reading->parameters()[i]);
  const TokenBatch source = rules::batch_of({{4, 8, 5, 3}, {7, 6, 3}}, 2), turned = rules::batch_of({{3, 5, 8, 4}, {3, 6, 7}}, 1),
                   target = rules::batch_of({{2, 5, 3}, {2, 4, 3}});
  EXPECT_TRUE(at::allclose(reversing->forward(source, target).output, reading->forward(turned, target).output, 1e-12, 1e-12));
  EXPECT_FALSE(at::allclose(reversing->forward(source, target).output, reading->forward(source, target).output, 1e-3, 1e-3));
}

TEST(Rnn, DropsOnlyWhileTraining) {
  RnnOptions options = small_rnn;
  options.dropout = 0.5;
  rules::expect_to_drop_only_while_training(*make_rnn(options));
}

TEST(Rnn, LearnsToCopyAndToReverse) {
  RnnOptions options = {.embedding = 16, .hidden = 64, .cell = layers::Cell::gru};
  rules::expect_to_learn([&] { return std::make_shared<Rnn>(10, 10, options); }, false);
  options.source_vector = SourceVector::every_step, options.maxout = 32, options.reset = layers::Reset::before;
  rules::expect_to_learn([&] { return std::make_shared<Rnn>(10, 10, options); }, true);
}

TEST(Rnn, ItsPageListsEveryOption) { rules::expect_page_to_list("docs/systems/rnn.md", describe_options<RnnOptions>()); }

TEST(Rnn, RefusesOptionsOutOfRange) {
  const auto making = [](void (*change)(RnnOptions&)) {
    return [change] {
      RnnOptions options = small_rnn;
      change(options);
      Rnn(9, 7, options);
    };
  };
  const auto says = [](const std::string& message) {
    return testing::ThrowsMessage<InvalidArgument>(testing::StrEq("attend::models::Rnn: " + message));
  };
  EXPECT_THAT(making([](RnnOptions& options) { options.embedding = 0; }), says("expected embedding ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnOptions& options) { options.hidden = -1; }), says("expected hidden ≥ 1, got -1"));
  EXPECT_THAT(making([](RnnOptions& options) { options.layers = 0; }), says("expected layers ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnOptions& options) { options.maxout = 0; }), says("expected maxout ≥ 1, got 0"));
  EXPECT_THAT(making([](RnnOptions& options) { options.dropout = 1; }), says("expected dropout from 0 to below 1, got 1"));
  EXPECT_THAT(making([](RnnOptions& options) { options.label_smoothing = -0.5; }), says("expected label_smoothing from 0 to below 1, got -0.5"));
  EXPECT_THAT(making([](RnnOptions& options) { options.tied = true; }),
              says("tied embeddings need embedding = hidden, since one weight serves both, got 3 and 4; make them equal, or leave tied out"));
  EXPECT_THAT(making([](RnnOptions& options) { options.tied = true, options.source_vector = SourceVector::every_step; }),
              says("tied embeddings need embedding = maxout, since one weight serves both, got 3 and 5; make them equal, or leave tied out"));
  EXPECT_THAT(making([](RnnOptions& options) { options.reset = layers::Reset::before; }),
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("expected reset \"after\" for an LSTM")));
  EXPECT_THAT([] { Rnn(0, 7, small_rnn); }, says("expected source_vocabulary ≥ 1, got 0"));
  EXPECT_THAT([] { Rnn(9, 0, small_rnn); }, says("expected target_vocabulary ≥ 1, got 0"));
}

TEST(Rnn, RefusesTokensThatDontFit) {
  Rnn model(rules::source_vocabulary, rules::target_vocabulary, small_rnn);
  rules::expect_to_refuse_tokens(model, "attend::models::Rnn");
}

}  // namespace
}  // namespace attend::models
