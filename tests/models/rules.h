// What every sequence-to-sequence model keeps to, whatever its equations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/core/options.h"
#include "attend/models/sequence_to_sequence.h"
#include "tests/reference/encoder_decoder.h"
#include "tests/reference/recurrent.h"

namespace attend::rules {

using Tokens = std::vector<std::int64_t>;

// What the models of these tests are made for, and pairs of it: a source of one token is among them.
constexpr std::int64_t source_vocabulary = 9, target_vocabulary = 7;
extern const std::vector<Tokens> sources, targets;

// Pads to the longest row and by `padding` more.
models::TokenBatch batch_of(const std::vector<Tokens>& rows, std::int64_t padding = 0);

// In float64 and not training, with weights that are large enough to matter.
void prepare(models::SequenceToSequence& model);

double loss_of(models::SequenceToSequence& model, const models::TokenBatch& source, const models::TokenBatch& target);

// Parameters for the references, by their names.
reference::Vector named(const models::SequenceToSequence& model, const std::string& name);
reference::Affine affine_of(const models::SequenceToSequence& model, const std::string& name);  // an absent bias stays empty
std::vector<reference::RecurrentWeights> recurrent_of(const models::SequenceToSequence& model, const std::string& name, std::int64_t layers,
                                                      bool bidirectional);

// Scores, and where the model aligns its recorded weights, are those of the equations, row by row without padding.
void expect_equations(models::SequenceToSequence& model, const std::string& form,
                      const std::function<reference::DecodedOutcome(const Tokens& source, const Tokens& target)>& equations);
void expect_steps_to_equal_teacher_forcing(models::SequenceToSequence& model, const std::string& form);
void expect_reordered_states_to_go_on(models::SequenceToSequence& model, const std::string& form);
void expect_padding_to_change_nothing(models::SequenceToSequence& model, const std::string& form);
// A batch's loss is the mean over its tokens, each row's as if it were alone.
void expect_rows_to_be_alone(models::SequenceToSequence& model, const std::string& form);
// A later target token changes nothing earlier.
void expect_causality(models::SequenceToSequence& model, const std::string& form);
void expect_gradients(models::SequenceToSequence& model, const std::string& form);
// `model` has dropout.
void expect_to_drop_only_while_training(models::SequenceToSequence& model);
// One call of the attention for each step, or for all: its weights sum to 1 over the real source.
void expect_recorded_alignments(models::SequenceToSequence& model, const std::string& form, std::size_t calls);
// Random symbols of vocabularies of 10; the target is the source, reversed where asked for.
struct SymbolPairs {
  std::vector<Tokens> source, target;
};
SymbolPairs symbol_pairs(std::int64_t count, bool reversed);
// `make` gives a fresh model for vocabularies of 10: after some steps it copies (or reverses) random symbols.
void expect_to_learn(const std::function<std::shared_ptr<models::SequenceToSequence>()>& make, bool reversed);
// The page's table has a row for each option, word for word.
void expect_page_to_list(const std::string& page, const std::vector<OptionDescription>& options);
void expect_to_refuse_tokens(models::SequenceToSequence& model, const std::string& name);

}  // namespace attend::rules
