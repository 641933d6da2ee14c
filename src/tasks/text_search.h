// Search over a model for a batch of sources. Private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/data/text_vocabulary.h"
#include "attend/decode/search.h"
#include "attend/models/sequence_to_sequence.h"
#include "attend/tasks/recipe.h"

namespace attend::tasks {

// Sources that are read or searched at once.
constexpr std::int64_t decode_batch = 128;

// The `n_best` best of each source, with alignments where they are wanted, or needed by `options`.
// InvalidArgument where `options` needs a model that aligns and this one doesn't.
std::vector<std::vector<decode::Hypothesis>> search_batch(models::SequenceToSequence& model, const models::TokenBatch& source,
                                                          const DecodeOptions& options, std::int64_t beam, std::int64_t n_best, bool alignments);

// The tokens of an answer. An unknown one, which search gives only where it is to be replaced, becomes the source token that it looked at most.
std::vector<std::string> answer_tokens(const data::TextVocabulary& vocabulary, const decode::Hypothesis& hypothesis,
                                       const std::vector<std::string>& source);

}  // namespace attend::tasks
