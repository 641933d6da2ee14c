#include "tests/models/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <filesystem>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/io/file.h"
#include "tests/reference/gradients.h"

namespace attend::rules {

using models::SequenceToSequence;
using models::TokenBatch;

const std::vector<Tokens> sources = {{4, 8, 5, 6, 3}, {7, 3}, {3}, {5, 5, 3}};
const std::vector<Tokens> targets = {{2, 5, 3}, {2, 4, 6, 4, 3}, {2, 3}, {2, 6, 5, 3}};

TokenBatch batch_of(const std::vector<Tokens>& rows, std::int64_t padding) {
  std::size_t longest = 0;
  Tokens lengths;
  for (const Tokens& row : rows) {
    longest = std::max(longest, row.size());
    lengths.push_back(static_cast<std::int64_t>(row.size()));
  }
  std::vector<Tensor> tensors;
  for (Tokens row : rows) {
    row.resize(longest + static_cast<std::size_t>(padding), padding_token);
    tensors.push_back(at::tensor(row, at::kLong));
  }
  return {at::stack(tensors), at::tensor(lengths, at::kLong)};
}

void prepare(SequenceToSequence& model) {
  model.to(at::kDouble);
  model.eval();
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : model.parameters()) parameter.normal_(0, 0.7);
}

double loss_of(SequenceToSequence& model, const TokenBatch& source, const TokenBatch& target) {
  return model.forward(source, target).losses[0].value.item<double>();
}

reference::Vector named(const SequenceToSequence& model, const std::string& name) {
  const auto parameters = model.named_parameters();
  const Tensor* found = parameters.find(name);
  return found == nullptr ? reference::Vector() : reference::numbers(*found);
}

reference::Affine affine_of(const SequenceToSequence& model, const std::string& name) {
  return {named(model, name + ".weight"), named(model, name + ".bias")};
}

std::vector<reference::RecurrentWeights> recurrent_of(const SequenceToSequence& model, const std::string& name, std::int64_t layers,
                                                      bool bidirectional) {
  std::vector<reference::RecurrentWeights> weights;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    for (const char* direction : {"", "_reverse"}) {
      if (!bidirectional && *direction != '\0') continue;
      const std::string suffix = "_l" + std::to_string(layer) + direction;
      weights.push_back({named(model, name + ".weight_ih" + suffix), named(model, name + ".weight_hh" + suffix),
                         named(model, name + ".bias_ih" + suffix), named(model, name + ".bias_hh" + suffix)});
    }
  return weights;
}

namespace {

// All weights that a call of forward() reports, steps in their order: [B, 1, Lt, Ls]; undefined where nothing is recorded.
Tensor recorded_alignments(SequenceToSequence& model, Recording& recording) {
  std::vector<Tensor> steps;
  for (const Recording::Item& item : recording.take())
    if (item.module == model.alignment_module()) steps.push_back(item.tensor);
  return steps.empty() ? Tensor() : at::cat(steps, 2);
}

}  // namespace

void expect_equations(SequenceToSequence& model, const std::string& form,
                      const std::function<reference::DecodedOutcome(const Tokens&, const Tokens&)>& equations) {
  Recording recording(model);
  const Tensor logits = model.forward(batch_of(sources), batch_of(targets)).output;
  const Tensor alignments = recorded_alignments(model, recording);
  ASSERT_EQ(logits.sizes(), at::IntArrayRef({4, 4, target_vocabulary})) << form;
  ASSERT_EQ(alignments.defined(), !model.alignment_module().empty()) << form;
  const reference::Tolerance near = reference::tolerance(reference::Type::float64, 64);
  for (std::size_t row = 0; row < sources.size(); ++row) {
    const Tokens given(targets[row].begin(), targets[row].end() - 1);
    const reference::DecodedOutcome wanted = equations(sources[row], given);
    for (std::size_t t = 0; t < given.size(); ++t) {
      const auto b = static_cast<std::int64_t>(row), place = static_cast<std::int64_t>(t);
      const std::string where = form + ", row " + std::to_string(row) + ", step " + std::to_string(t);
      EXPECT_EQ(reference::difference("logits", reference::numbers(logits[b][place]), wanted.logits[t], near), "") << where;
      if (!alignments.defined()) continue;
      reference::Vector alignment = wanted.alignments[t];
      alignment.resize(5, 0.0);
      EXPECT_EQ(reference::difference("alignment", reference::numbers(alignments[b][0][place]), alignment, near), "") << where;
    }
  }
}

void expect_steps_to_equal_teacher_forcing(SequenceToSequence& model, const std::string& form) {
  const TokenBatch source = batch_of(sources), target = batch_of(targets);
  const torch::NoGradGuard no_gradient;
  const Tensor wanted = model.forward(source, target).output.log_softmax(-1);
  models::DecoderState state = model.encode(source);
  for (std::int64_t t = 0; t < wanted.size(1); ++t) {
    const Tensor got = model.step(target.tokens.select(1, t), state);
    EXPECT_TRUE(at::allclose(got, wanted.select(1, t), 1e-12, 1e-12)) << form << ", step " << t;
    EXPECT_TRUE(at::allclose(got.exp().sum(1), at::ones({4}, at::kDouble))) << form;
  }
}

void expect_reordered_states_to_go_on(SequenceToSequence& model, const std::string& form) {
  const Tensor rows = at::tensor({2, 0, 0, 3, 1}, at::kLong), first = at::full({4}, begin_token, at::kLong),
               second = at::tensor({4, 5, 6, 3}, at::kLong);
  const torch::NoGradGuard no_gradient;
  models::DecoderState state = model.encode(batch_of(sources));
  model.step(first, state);
  models::DecoderState reordered = SequenceToSequence::reorder(state, rows);
  const Tensor wanted = model.step(second, state), got = model.step(second.index_select(0, rows), reordered);
  EXPECT_TRUE(at::allclose(got, wanted.index_select(0, rows), 1e-12, 1e-12)) << form;
}

void expect_padding_to_change_nothing(SequenceToSequence& model, const std::string& form) {
  const models::ModelOutput little = model.forward(batch_of(sources), batch_of(targets)),
                            much = model.forward(batch_of(sources, 4), batch_of(targets, 3));
  EXPECT_TRUE(at::allclose(much.output.slice(1, 0, 4), little.output, 1e-12, 1e-12)) << form;
  EXPECT_NEAR(much.losses[0].value.item<double>(), little.losses[0].value.item<double>(), 1e-12) << form;
}

void expect_rows_to_be_alone(SequenceToSequence& model, const std::string& form) {
  const Tensor together = model.forward(batch_of(sources), batch_of(targets)).output;
  double sum = 0, tokens = 0;
  for (std::size_t row = 0; row < sources.size(); ++row) {
    const auto count = static_cast<std::int64_t>(targets[row].size() - 1);
    const models::ModelOutput alone = model.forward(batch_of({sources[row]}), batch_of({targets[row]}));
    EXPECT_TRUE(at::allclose(alone.output[0], together[static_cast<std::int64_t>(row)].slice(0, 0, count), 1e-12, 1e-12)) << form;
    sum += static_cast<double>(count) * alone.losses[0].value.item<double>();
    tokens += static_cast<double>(count);
  }
  EXPECT_NEAR(loss_of(model, batch_of(sources), batch_of(targets)), sum / tokens, 1e-12) << form;
}

void expect_causality(SequenceToSequence& model, const std::string& form) {
  const TokenBatch source = batch_of({sources[0], sources[1]});
  const Tensor before = model.forward(source, batch_of({{2, 4, 5, 6, 3}, {2, 5, 5, 5, 3}})).output,
               after = model.forward(source, batch_of({{2, 4, 4, 6, 3}, {2, 5, 6, 5, 3}})).output;
  EXPECT_TRUE(after.slice(1, 0, 2).equal(before.slice(1, 0, 2))) << form << ": the third target token changes what stands before it";
  EXPECT_GT((after - before).slice(1, 2).abs().min().item<double>(), 0) << form << ": the third target token changes nothing";
}

void expect_gradients(SequenceToSequence& model, const std::string& form) {
  model.train();
  const TokenBatch source = batch_of({{4, 8, 5}, {7, 3}}), target = batch_of({{2, 3}, {2, 4, 6, 3}});
  EXPECT_EQ(reference::gradient_difference([&] { return model.forward(source, target).losses[0].value; }, model.parameters()), "") << form;
}

void expect_to_drop_only_while_training(SequenceToSequence& model) {
  const TokenBatch source = batch_of(sources), target = batch_of(targets);
  EXPECT_EQ(loss_of(model, source, target), loss_of(model, source, target));
  model.train();
  EXPECT_NE(loss_of(model, source, target), loss_of(model, source, target));
}

void expect_recorded_alignments(SequenceToSequence& model, const std::string& form, std::size_t calls) {
  EXPECT_EQ(model.alignment_module(), "attention");
  Recording recording(model, {.modules = {model.alignment_module()}});
  model.forward(batch_of(sources), batch_of(targets));
  const std::vector<Recording::Item> items = recording.take();
  ASSERT_EQ(items.size(), calls) << form;
  for (const Recording::Item& item : items) {
    EXPECT_EQ(item.module, "attention");
    EXPECT_EQ(item.kind, "alignment");
    EXPECT_THAT(item.axes, testing::ElementsAre("batch", "head", "query", "key"));
    EXPECT_TRUE(at::allclose(item.tensor.sum(-1), at::ones_like(item.tensor.sum(-1)), 1e-12, 1e-12)) << form;
    EXPECT_EQ(item.tensor[1].slice(-1, 2).abs().max().item<double>(), 0) << form << ": padding is seen";
  }
}

SymbolPairs symbol_pairs(std::int64_t count, bool is_reversed) {
  SymbolPairs pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor symbols = at::randint(4, 10, {at::randint(2, 6, {1}).item<std::int64_t>()}, at::kLong);
    Tokens text(symbols.data_ptr<std::int64_t>(), symbols.data_ptr<std::int64_t>() + symbols.numel());
    pairs.source.push_back(text);
    pairs.source.back().push_back(end_token);
    if (is_reversed) std::reverse(text.begin(), text.end());
    text.insert(text.begin(), begin_token);
    text.push_back(end_token);
    pairs.target.push_back(text);
  }
  return pairs;
}

void expect_to_learn(const std::function<std::shared_ptr<SequenceToSequence>()>& make, bool is_reversed) {
  at::manual_seed(1);
  const std::shared_ptr<SequenceToSequence> model = make();
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.01));
  for (int step = 0; step < 250; ++step) {
    const SymbolPairs pairs = symbol_pairs(32, is_reversed);
    optimizer.zero_grad();
    model->forward(batch_of(pairs.source), batch_of(pairs.target)).losses[0].value.backward();
    optimizer.step();
  }
  model->eval();
  const SymbolPairs fresh = symbol_pairs(64, is_reversed);
  EXPECT_LT(loss_of(*model, batch_of(fresh.source), batch_of(fresh.target)), 0.25) << (is_reversed ? "reversing" : "copying");
}

void expect_page_to_list(const std::string& page, const std::vector<OptionDescription>& options) {
  const std::string text = io::read_file(std::filesystem::path(ATTEND_SOURCE_DIR) / page);
  for (const OptionDescription& option : options) {
    const std::string row = "| `" + option.name + "` | `" + option.default_text + "` | " + option.meaning + " |\n";
    EXPECT_NE(text.find(row), std::string::npos) << page << " lacks the row\n" << row;
  }
}

void expect_to_refuse_tokens(SequenceToSequence& model, const std::string& name) {
  const TokenBatch source = batch_of(sources), target = batch_of(targets);
  const auto says = [&](const std::string& message) { return testing::ThrowsMessage<InvalidArgument>(testing::StrEq(name + ": " + message)); };
  EXPECT_THAT([&] { model.forward({source.tokens[0], source.lengths}, target); }, says("expected source tokens [B, L], got [5]"));
  EXPECT_THAT([&] { model.encode({source.tokens[0], source.lengths}); }, says("expected source tokens [B, L], got [5]"));
  EXPECT_THAT([&] { model.forward(source, batch_of({targets[0], targets[1]})); }, says("expected target tokens [B, L] with B = 4, got [2, 5]"));
  EXPECT_THAT([&] { model.forward(source, batch_of({{2}, {2}, {2}, {2}})); },
              says("expected target tokens [B, L] with L ≥ 2, for a beginning and an end, got [4, 1]"));
  const auto lengths = [&](const Tensor& given) { return [&model, &source, given] { model.encode({source.tokens, given}); }; };
  EXPECT_THAT(lengths(at::tensor({5, 2, 6, 1}, at::kLong)), says("expected source lengths from 1 to L = 5, got 1 to 6"));
  EXPECT_THAT(lengths(at::tensor({5, 0, 1, 1}, at::kLong)), says("expected source lengths from 1 to L = 5, got 0 to 5"));
  EXPECT_THAT(lengths(at::tensor({5, 2}, at::kLong)), says("expected source lengths [B] with B = 4, got [2]"));
  EXPECT_THAT(lengths(at::tensor({5, 2, 1, 1}, at::kInt)), says("expected source lengths of type int64, got Int"));
}

}  // namespace attend::rules
