// Multi-head attention: several dot-product reads side by side, each with projections of its own.
#pragma once

#include "attend/addressing/read.h"
#include "attend/base/api.h"
#include "attend/core/libtorch.h"
#include "attend/core/mask.h"
#include "attend/core/options.h"
#include "attend/core/result.h"

namespace attend::addressing {

struct MultiHeadOptions {
  // Hq: heads of the queries.
  std::int64_t heads = 8;
  // Hkv: heads of keys and values, each read by Hq / Hkv heads of queries: 1 is multi-query (Shazeer 2019), more are grouped queries (Ainslie 2023). 0: Hq.
  std::int64_t key_heads = 0;
  // Dk and Dv: the widths of a head. 0: E / Hq, and Dk.
  std::int64_t key_width = 0, value_width = 0;
  // Ek and Ev: the widths of what keys and values are made from. 0: E, and Ek.
  std::int64_t key_size = 0, value_size = 0;
  // Whether the projections have biases.
  bool bias = true;
  // c · tanh(s / c) on the scores; 0: none.
  double soft_cap = 0.0;
  // Probability that a weight is dropped while training.
  double dropout = 0.0;
  Path path = Path::automatic;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("heads", self.heads, "heads of the queries");
    visitor("key_heads", self.key_heads, "heads of keys and values, shared by groups of query heads; 0: as many");
    visitor("key_width", self.key_width, "width of a head's queries and keys; 0: the model's width divided by the heads");
    visitor("value_width", self.value_width, "width of a head's values; 0: that of its keys");
    visitor("key_size", self.key_size, "width of what keys are made from; 0: the model's");
    visitor("value_size", self.value_size, "width of what values are made from; 0: that of the keys");
    visitor("bias", self.bias, "whether the projections have biases");
    visitor("soft_cap", self.soft_cap, "c of c · tanh(score / c); 0: none");
    visitor("dropout", self.dropout, "probability that a weight is dropped while training");
    visitor("path", self.path, "fused kernel or composed operations");
  }
};

// Keys and values of all heads: [B, Hkv, L, Dk] and [B, Hkv, L, Dv].
struct KeyValue {
  Tensor key, value;
};

// head_h = softmax((W_q^h q) · (W_k^g k) / √Dk) W_v^g v,  output = W_o [head_1; …; head_Hq]   with g = h / (Hq / Hkv)        (Vaswani 2017 §3.2.2)
//
// Parameters: `query_projection` [Hq·Dk, E], `key_projection` [Hkv·Dk, Ek], `value_projection` [Hkv·Dv, Ev], `output_projection` [E, Hq·Dv], from Glorot's uniform
// distribution, and a `…_bias` of each, from 0.
class ATTEND_API MultiHeadImpl : public torch::nn::Cloneable<MultiHeadImpl> {
 public:
  // `query_size` is E. InvalidArgument where an option is out of range or E isn't a multiple of Hq and Dk is left open.
  explicit MultiHeadImpl(std::int64_t query_size, MultiHeadOptions options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  //   query [B, Lq, E], key [B, Lk, Ek], value [B, Lk, Ev] → context [B, Lq, E], weights [B, Hq, Lq, Lk] where asked for
  // Edge cases as of read(): NaN in a place that a query doesn't see changes nothing for that query, nor for any gradient. An open Recording gets the weights.
  AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask = {}, bool return_weights = false);
  // Self-attention: all three are `input`.
  AttentionResult self(const Tensor& input, const Mask& mask = {}, bool return_weights = false);

  // In two parts, for a memory that is read by many queries or grows with them (layers/key_value_cache.h).
  KeyValue project(const Tensor& key, const Tensor& value);
  //   query [B, Lq, E]; first_query: its place in the whole, for dropout
  AttentionResult read(const Tensor& query, const KeyValue& memory, const Mask& mask = {}, bool return_weights = false, std::int64_t first_query = 0);

  // With every width filled in.
  const MultiHeadOptions& options() const { return options_; }

 private:
  AttentionResult read_as(const char* kind, const Tensor& query, const KeyValue& memory, const Mask& mask, bool return_weights, std::int64_t first_query);

  std::int64_t query_size_;
  MultiHeadOptions options_;
  Tensor query_projection_, key_projection_, value_projection_, output_projection_;
  Tensor query_bias_, key_bias_, value_bias_, output_bias_;
};
TORCH_MODULE(MultiHead);

// M learned queries over one memory, contexts side by side, nothing projected: c_m = softmax(scale · u_m · k) v, output = [c_1; …; c_M].
// Parameter: `queries` [M, Ek], N(0, 1/√Ek).
class ATTEND_API LearnedQueriesImpl : public torch::nn::Cloneable<LearnedQueriesImpl> {
 public:
  // `count` is M. InvalidArgument where a size is not positive.
  LearnedQueriesImpl(std::int64_t count, std::int64_t key_size, Path path = Path::automatic);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  //   key [B, Lk, Ek], value [B, Lk, Ev] → context [B, M·Ev], weights [B, 1, M, Lk] where asked for
  // Edge cases as of read(); the mask's Lq is M. An open Recording gets the weights.
  AttentionResult forward(const Tensor& key, const Tensor& value, const Mask& mask = {}, bool return_weights = false);

 private:
  std::int64_t count_, key_size_;
  Path path_;
  Tensor queries_;
};
TORCH_MODULE(LearnedQueries);

}  // namespace attend::addressing
