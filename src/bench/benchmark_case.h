// Cases of a suite: what is measured, as data in bench/cases/SUITE.toml. Private.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"

namespace attend::bench {

enum class Mechanism { dot_product, additive, attentive_gru, input_feeding, rnnsearch };
enum class Pass { forward, forward_backward };
enum class Visible { all, causal, band };

}  // namespace attend::bench

namespace attend {

template <>
struct EnumNames<bench::Mechanism> {
  static constexpr EnumName<bench::Mechanism> values[] = {{bench::Mechanism::dot_product, "dot-product"},
                                                          {bench::Mechanism::additive, "additive"},
                                                          {bench::Mechanism::attentive_gru, "attentive-gru"},
                                                          {bench::Mechanism::input_feeding, "input-feeding"},
                                                          {bench::Mechanism::rnnsearch, "rnnsearch"}};
};
template <>
struct EnumNames<bench::Pass> {
  static constexpr EnumName<bench::Pass> values[] = {{bench::Pass::forward, "forward"}, {bench::Pass::forward_backward, "forward-backward"}};
};
template <>
struct EnumNames<bench::Visible> {
  static constexpr EnumName<bench::Visible> values[] = {{bench::Visible::all, "all"}, {bench::Visible::causal, "causal"}, {bench::Visible::band, "band"}};
};

namespace bench {

struct BenchmarkCase {
  std::string name = {};
  Mechanism mechanism = Mechanism::dot_product;
  Pass pass = Pass::forward;
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1;
  std::int64_t width = 64;
  Visible visible = Visible::all;
  std::int64_t left = 0, right = 0;
  std::int64_t hidden = 256;
  std::int64_t memory = 256;
  std::int64_t state = 256;
  std::int64_t embedding = 128;
  std::optional<std::int64_t> maxout = {};
  std::int64_t vocabulary = 64;
  bool composed = true;
  bool streams = false;
  std::optional<std::string> against = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("name", self.name, "what it is called by");
    visitor("mechanism", self.mechanism, "what is measured");
    visitor("pass", self.pass, "whether gradients of all inputs are taken too");
    visitor("batch", self.batch, "B");
    visitor("heads", self.heads, "H of queries, keys and values");
    visitor("queries", self.queries, "Lq; of decoders: the target's steps");
    visitor("keys", self.keys, "Lk; of decoders: the source's places");
    visitor("width", self.width, "of a head of dot products: Dk and Dv");
    visitor("visible", self.visible, "which keys a query sees, lined up at the lower right");
    visitor("left", self.left, "of a band: keys before the query's own");
    visitor("right", self.right, "of a band: keys behind it");
    visitor("hidden", self.hidden, "A of an additive score");
    visitor("memory", self.memory, "width of an additive read's values; of RNNsearch: both directions of the encoder together");
    visitor("state", self.state, "width of a decoder");
    visitor("embedding", self.embedding, "of decoders: width of token embeddings");
    visitor("maxout", self.maxout, "of RNNsearch: width of the maxout layer; unset: hidden");
    visitor("vocabulary", self.vocabulary, "of RNNsearch: tokens of either side");
    visitor("composed", self.composed, "whether the composed form is measured too; where not, the last queries' results are compared with it");
    visitor("streams", self.streams, "whether each call reads another copy of the inputs, so that they come from memory: at least four times the last cache in all");
    visitor("against", self.against, "another case of the suite, of which this one's time is a share: measured in turns with it");
  }
};

// What a query sees in all, over the queries of one head.
ATTEND_API double visible_pairs(const BenchmarkCase& one);

// The cases of a suite in their order. SystemError where the file can't be read; InvalidData where it is malformed, has a name twice or compares with a case that it
// hasn't; InvalidArgument "FILE:LINE: …" for a key or value that doesn't fit.
ATTEND_API std::vector<BenchmarkCase> read_cases(const std::filesystem::path& file);

// By its name. InvalidArgument, with the nearest name, where there is none.
ATTEND_API const BenchmarkCase& find_case(const std::vector<BenchmarkCase>& cases, const std::string& name);

// The same case made small, for tests: at most so many queries and keys, and heads of all the batch together; composed and in cache.
ATTEND_API BenchmarkCase shrunk(BenchmarkCase one, std::int64_t most_places, std::int64_t most_heads);

}  // namespace bench
}  // namespace attend
