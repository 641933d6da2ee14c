// Texts and alignments that others have scored: vectors/metrics/bleu and vectors/metrics/alignment.
#pragma once

#include <filesystem>
#include <optional>

#include "tests/vectors/vector_set.h"

namespace attend::vectors {

// The cases of FOLDER/expected.json. Empty where the folder is absent. Keys and files that no case uses are not understood, and fail.
std::optional<Tally> run_bleu(const std::filesystem::path& folder);
std::optional<Tally> run_alignment(const std::filesystem::path& folder);

}  // namespace attend::vectors
