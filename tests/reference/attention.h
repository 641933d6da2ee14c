// What attention means, as loops over doubles: no libtorch, nothing shared with the library. Every mechanism is compared with this.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace attend::reference {

struct Sizes {
  std::int64_t B = 1, Hq = 1, Hkv = 1, Lq = 1, Lk = 1, Dq = 1, Dk = 1, Dv = 1;
};

// One part of a mask, as a user would say it.
struct MaskPart {
  enum class Kind { keep, drop, lengths, causal, band, bias } kind;
  std::vector<std::int64_t> shape = {};  // keep, drop, bias: [Lq, Lk], or four sizes that are full or 1; lengths: [B]
  std::vector<double> numbers = {};  // the elements, row by row; keep and drop: 0 or 1
  std::int64_t left = 0, right = 0;  // band
  bool upper_left = false;           // causal, band: query i stands at key i, else at key i + Lk − Lq
};

// s(q, k) of one pair.
using PairScore = std::function<double(const double* query, const double* key)>;
PairScore dot(std::int64_t width, double scale);
// qᵀ W k, W [Dq, Dk]
PairScore general(std::vector<double> weight, std::int64_t query_width, std::int64_t key_width);
// vᵀ tanh(q + k), v [A]
PairScore additive(std::vector<double> weight);
// vᵀ tanh(W_q q + W_k k + b), W_q [A, Dq], W_k [A, Dk], b and v [A]
PairScore projected_additive(std::vector<double> query_projection, std::vector<double> key_projection, std::vector<double> bias,
                             std::vector<double> energy);

// q·k / (|q| |k|) times the scale; 0 where q or k is 0
PairScore cosine(std::int64_t width, double scale);

// s(q, j) of the key at place j, whatever it is: W_j q, W [P, Dq].
using PlaceScore = std::function<double(const double* query, std::int64_t j)>;
PlaceScore location(std::vector<double> weight, std::int64_t query_width);

// Keys around a centre (Luong 2015 §3.2). Without a centre: all keys.
struct LocalWindow {
  // p of a query that stands at place i and reads a source of so many keys.
  std::function<double(const double* query, std::int64_t i, std::int64_t length)> centre;
  double half_width = 0;
  bool gaussian = false, renormalised = false;

  bool has(double centre_of_query, std::int64_t j) const;
  double factor(double centre_of_query, std::int64_t j) const;
};
LocalWindow local_m(double half_width, double length_ratio);
// W_p [A, Dq], v_p [A]
LocalWindow local_p(std::vector<double> projection, std::vector<double> energy, double half_width, bool renormalised);

// Scores of the keys that one query sees → their weights; b, h, i: where the row stands in the whole.
using RowNormalizer = std::function<std::vector<double>(const std::vector<double>& scores, std::int64_t b, std::int64_t h, std::int64_t i)>;

struct Settings {
  PlaceScore place_score = {};  // where it is there, it takes the place of the score of pairs
  LocalWindow window = {};
  std::int64_t first_query = 0;  // place of the first query, for the window
  double soft_cap = 0;
  double dropout = 0;
  std::uint64_t seed = 0;
  std::int64_t origin[4] = {0, 0, 0, 0};  // batch, head, query, key of the first weight
  RowNormalizer normalize = {};           // softmax where empty
};

struct Outcome {
  std::vector<double> context;  // [B, Hq, Lq, Dv]
  std::vector<double> weights;  // [B, Hq, Lq, Lk], before dropout
};

// query [B, Hq, Lq, Dq], key [B, Hkv, Lk, Dk], value [B, Hkv, Lk, Dv]. A row that sees nothing is 0; a row that may see something that is
// not finite, or whose own query is not, is NaN.
Outcome attention(const Sizes& sizes, const std::vector<double>& query, const std::vector<double>& key, const std::vector<double>& value,
                  const PairScore& score, const std::vector<MaskPart>& mask = {}, const Settings& settings = {});

}  // namespace attend::reference
