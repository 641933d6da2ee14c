// The keys and values that a decoder has made so far.
#pragma once

#include <optional>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::layers {

struct KeyValueCacheOptions {
  // Places that memory is taken for at first; it doubles when they are used up.
  std::int64_t capacity = 256;
  // What keys and values are stored as; empty: as they come. float16 and bfloat16 take half of the memory, which sets the pace of decoding: a step reads them where
  // they lie and computes in float32.
  std::optional<at::ScalarType> storage = {};
};

// Keys [B, Hkv, L, Dk] and values [B, Hkv, L, Dv] of places 0 … L − 1, appended in place: a step of n places costs what n places cost.
//
//   const addressing::KeyValue step = attention->project(x, x);
//   cache.append(step.key, step.value);
//   attention->read(x, {cache.key(), cache.value()}, Mask::causal());
//
// It holds no graph: what is appended is detached.
class ATTEND_API KeyValueCache {
 public:
  // InvalidArgument where the capacity isn't positive or the storage is no floating-point type.
  explicit KeyValueCache(KeyValueCacheOptions options = {});

  // The first call sets batch, heads, widths, type and device. InvalidArgument where a later one has others, or key and value don't fit each other.
  void append(const Tensor& key, const Tensor& value);
  // Forgets places `length` … L − 1. InvalidArgument where there are fewer.
  void truncate(std::int64_t length);
  // Row i of the batch becomes what row rows[i] was: int64 [B'], for a search that goes on with some of its beams. InvalidArgument where a row doesn't exist.
  void reorder(const Tensor& rows);

  std::int64_t length() const { return length_; }
  // Of all places so far: views, valid until the next append(), truncate() or reorder(). Undefined before the first append().
  Tensor key() const;
  Tensor value() const;

 private:
  void make_room(std::int64_t places);

  KeyValueCacheOptions options_;
  std::int64_t length_ = 0;
  Tensor key_, value_;  // [B, Hkv, capacity, D]
};

}  // namespace attend::layers
