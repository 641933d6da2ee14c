// Run folders: what training writes and everything else reads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "attend/base/api.h"
#include "attend/data/text_vocabulary.h"
#include "attend/models/sequence_to_sequence.h"
#include "attend/tasks/recipe.h"

namespace attend::tasks {

// Names inside a run folder.
struct RunFiles {
  std::filesystem::path folder;
  std::filesystem::path recipe() const { return folder / "recipe.toml"; }
  std::filesystem::path model() const { return folder / "model.safetensors"; }
  // of lists of tokens; a model of sub-words has ".model" behind the name
  std::filesystem::path source_vocabulary() const { return folder / "vocabulary.source"; }
  std::filesystem::path target_vocabulary() const { return folder / "vocabulary.target"; }
  std::filesystem::path metrics() const { return folder / "metrics.jsonl"; }
  std::filesystem::path samples() const { return folder / "samples.attn"; }
};

// A trained model with what is needed to use it.
struct Run {
  RunFiles files;
  Recipe recipe;
  data::TextVocabulary source, target;
  std::shared_ptr<models::SequenceToSequence> model;
};

// How a recipe cuts its sides.
ATTEND_API data::TextVocabularyOptions source_text_options(const DataOptions& options);
ATTEND_API data::TextVocabularyOptions target_text_options(const DataOptions& options);

// The model of a recipe, with fresh parameters drawn from libtorch's default generator.
ATTEND_API std::shared_ptr<models::SequenceToSequence> make_model(const ModelOptions& options, std::int64_t source_vocabulary,
                                                                  std::int64_t target_vocabulary);

// Writes the model's parameters, with its options and the fingerprints of both vocabularies. The same parameters give the same bytes.
ATTEND_API void save_model(const std::filesystem::path& file, const models::SequenceToSequence& model, const ModelOptions& options,
                           const data::TextVocabulary& source, const data::TextVocabulary& target);

// Opens a run folder, in evaluation mode. SystemError "RUN: …" where it is no run folder or holds no finished model; InvalidData for a model or vocabulary that is
// truncated, altered, or belongs to another run.
ATTEND_API Run open_run(const std::filesystem::path& folder);

}  // namespace attend::tasks
