// From a recipe's files of text to batches of tokens. Private.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/batches.h"
#include "attend/data/pairs.h"
#include "attend/data/text_vocabulary.h"
#include "attend/models/sequence_to_sequence.h"
#include "attend/tasks/recipe.h"

namespace attend::tasks {

bool has_too_many_words(const DataOptions& options, std::string_view text);

// The files of a split, by the recipe's names or in its corpus; none where it names none.
std::vector<std::filesystem::path> files_of(const DataOptions& options, const std::string& split);
// Every path in full, those of the corpus included: a run can be scored later from anywhere, whatever ATTEND_DATA is then.
DataOptions resolved(DataOptions options);
data::Pairs read_files(const DataOptions& options, const std::vector<std::filesystem::path>& files);

data::TokenPair token_pair(const data::TextVocabulary& source, const data::TextVocabulary& target, const data::TextPair& pair);
// Pads to the longest row. Sources end with the token of the end, so that none is empty; targets begin and end.
models::TokenBatch pad(const std::vector<const std::vector<std::int64_t>*>& rows, bool with_begin);
models::TokenBatch source_batch(const std::vector<data::TokenPair>& pairs, const std::vector<std::int64_t>& rows);
models::TokenBatch target_batch(const std::vector<data::TokenPair>& pairs, const std::vector<std::int64_t>& rows);

}  // namespace attend::tasks
