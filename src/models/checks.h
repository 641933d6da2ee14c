// What every sequence-to-sequence model asks of its options and its tokens. Private; `model` is the class named in messages, and all of them throw
// InvalidArgument.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "attend/models/sequence_to_sequence.h"

namespace attend::models {

// Each a number of at least 1.
void check_positive(const char* model, std::initializer_list<std::pair<const char*, std::int64_t>> options);
// Each a number from 0 to below 1.
void check_fractions(const char* model, std::initializer_list<std::pair<const char*, double>> options);
// An embedding that is the output's weight must be as wide as what the output reads.
void check_tied(const char* model, bool tied, std::int64_t embedding, const char* width_name, std::int64_t width);

void check_source(const char* model, const TokenBatch& source);
// Targets of a batch of `batch`, with a beginning and an end at least.
void check_target(const char* model, const TokenBatch& target, std::int64_t batch);

}  // namespace attend::models
