// What can be said of attention weights without storing them all.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"

namespace attend::addressing {

// Whose weights.
struct WeightSelection {
  // Heads and queries, in the order that is wanted. Empty: all.
  std::vector<std::int64_t> heads = {}, queries = {};
};

// Weights [B, heads, queries, Lk] of read() with these arguments, before dropout: of the chosen ones alone, in memory for as many. Any mechanism, any path.
//   query [B, Hq, Lq, Dq], key [B, Hkv, Lk, Dk]
// InvalidArgument where a head or query doesn't exist, and as of read(). Normaliser hard_sample isn't read here: NotSupported.
ATTEND_API Tensor chosen_weights(const char* where, const Tensor& query, const Tensor& key, const ScoreFunction& score, const WeightSelection& selection,
                                 const Mask& mask = {}, const ReadOptions& options = {});
ATTEND_API Tensor chosen_weights(const char* where, const Tensor& query, const Tensor& key, const DotForm& score, const WeightSelection& selection,
                                 const Mask& mask = {}, const ReadOptions& options = {});
ATTEND_API Tensor chosen_weights(const char* where, const Tensor& query, const Tensor& key, const AdditiveForm& score, const WeightSelection& selection,
                                 const Mask& mask = {}, const ReadOptions& options = {});

struct WeightSummaryOptions {
  std::vector<std::int64_t> heads = {};  // empty: all
  // k: keys that are kept of each query.
  std::int64_t top = 8;
  // Most rows and columns of the thumbnail.
  std::int64_t rows = 64, columns = 64;
};

// In memory that grows with the number of queries or of keys, never with that of pairs.
struct WeightSummary {
  Tensor top_keys;     // int64 [B, H, Lq, k], by falling weight, the first of equal ones first; −1 where a weight is 0
  Tensor top_weights;  // [B, H, Lq, k]
  Tensor entropy;      // −Σ w ln w of each query, in nats [B, H, Lq]
  Tensor thumbnail;    // [B, H, ⌈Lq/b⌉, ⌈Lk/d⌉]: mean weight of each block of b queries and d keys; the last ones may be smaller
  std::int64_t block_rows = 1, block_columns = 1;  // b = ⌈Lq/rows⌉ and d = ⌈Lk/columns⌉ of the options, at least 1
};

// Of the weights that chosen_weights() gives for all queries, a part of them at a time.
// InvalidArgument where top, rows or columns is below 1, and as of chosen_weights().
ATTEND_API WeightSummary summarise_weights(const char* where, const Tensor& query, const Tensor& key, const ScoreFunction& score, const Mask& mask = {},
                                           const ReadOptions& options = {}, const WeightSummaryOptions& wanted = {});
ATTEND_API WeightSummary summarise_weights(const char* where, const Tensor& query, const Tensor& key, const DotForm& score, const Mask& mask = {},
                                           const ReadOptions& options = {}, const WeightSummaryOptions& wanted = {});
ATTEND_API WeightSummary summarise_weights(const char* where, const Tensor& query, const Tensor& key, const AdditiveForm& score, const Mask& mask = {},
                                           const ReadOptions& options = {}, const WeightSummaryOptions& wanted = {});

}  // namespace attend::addressing
