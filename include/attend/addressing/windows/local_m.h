// The monotonic local window: the centre moves on by the same step from query to query.
#pragma once

#include <cstdint>

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend::addressing {

struct LocalMOptions {
  // W: keys p − W … p + W are read, both ends included.
  std::int64_t half_width = 10;
  // Keys for each query: 1 where source and target are about equally long, else the ratio S / T of their usual lengths. It is a number that
  // is known beforehand, since a decoder doesn't know T before it is done.
  double length_ratio = 1.0;
  // The place of the first query of this call in the whole sequence of queries.
  std::int64_t first_query = 0;
};

// keep_ij = |j − p_i| ≤ W with p_i = length_ratio · (first_query + i)   (Luong 2015 §3.2, local-m: p_t = t, W is the paper's D)
//   queries, keys  Lq, Lk; both are counted from 0
//   like           gives the device
//   →              keep bool [1, 1, Lq, Lk], no factors
// Clipped at the ends: what lies outside the keys is not there, and a query whose window has gone past the last key sees nothing.
// Against the paper: the length ratio.
// InvalidArgument where a size, the half-width or first_query is negative, or the ratio isn't a finite number > 0.
ATTEND_API WindowTensors local_m_window(std::int64_t queries, std::int64_t keys, const LocalMOptions& options, const Tensor& like);

}  // namespace attend::addressing
