// Results that can be checked: one line in results/RECIPE.jsonl for each measurement.
#pragma once

#include <cstdint>
#include <filesystem>

#include "attend/base/api.h"
#include "attend/io/value.h"
#include "attend/tasks/evaluation.h"

namespace attend::tasks {

// {recipe, split, items, metrics, signatures, decoding: {seconds, items_per_second, tokens_per_second}, by_length: [{from, to, items, metrics}]}; what wasn't measured
// is left out.
ATTEND_API io::Value evaluation_value(const Run& run, const Evaluation& evaluation);

// Appends commit, recipe's hash, seed, steps, seconds of training, machine, threads, search, scores and the SHA-256 of the scored file to FOLDER/RECIPE.jsonl; → that
// file. What the system can't tell (no git, no /proc) is left out. SystemError where it can't be written.
ATTEND_API std::filesystem::path log_result(const Run& run, const Evaluation& evaluation, std::int64_t beam, const std::filesystem::path& folder);

}  // namespace attend::tasks
