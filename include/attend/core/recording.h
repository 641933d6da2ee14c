// Recordings: what the mechanisms of a model looked at, collected while a scope is open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/libtorch.h"

namespace attend {

struct RecordingOptions {
  // Paths of the modules to keep ("attention", "decoder.layers.0"); what lies below a path is kept with it. Empty: all.
  std::vector<std::string> modules = {};
  // Heads to keep, in this order. Empty: all.
  std::vector<std::int64_t> heads = {};
  // Places along the axis "query" to keep, steps of a decoder or tokens, in this order: of each report, so that they are for forward passes over whole
  // sequences, not for decoding step by step. Empty: all.
  std::vector<std::int64_t> steps = {};
  // Of a module that reads more pairs of a query and a key than this, only the `top` largest weights of each query are kept, with the entropy of all;
  // fused reads then never make the others. 0: every weight is kept, however many.
  std::int64_t most_pairs = 1 << 20;
  std::int64_t top = 8;
};

// While a Recording lives, every mechanism below its root module that runs on this thread reports its weights to it. Recordings nest: the
// innermost one gets the reports. Outside a scope reporting costs one look at a pointer.
//
//   Recording recording(*model);
//   model->forward(source, target);
//   for (const Recording::Item& item : recording.take()) …
class ATTEND_API Recording {
 public:
  // What was kept of weights that were too many.
  struct Largest {
    Tensor keys;              // int64, as many as `tensor`: the key of each weight, by falling weight; −1 where a weight is 0
    Tensor entropy;           // −Σ w ln w of each query, of all its weights, in nats
    std::int64_t length = 0;  // keys in all
  };
  struct Item {
    std::string module;                        // path below the root
    std::string kind;                          // "alignment", "self", "spatial", …
    std::vector<std::string> axes;             // a name for each dimension of `tensor`
    Tensor tensor;                             // detached
    std::optional<Largest> largest = {};       // where the last axis of `tensor` holds the largest weights only
  };

  explicit Recording(const torch::nn::Module& root, RecordingOptions options = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Whether a report of `module` would be kept: a mechanism asks before it computes what it wouldn't need otherwise.
  static bool wants(const torch::nn::Module& module);
  // Whether of `queries` × `keys` weights of `module` only the largest would be kept: how many; nothing where all would, or wants(module) is false.
  static std::optional<std::int64_t> keeps_largest(const torch::nn::Module& module, std::int64_t queries, std::int64_t keys);
  // Gives `tensor` to the innermost open recording, which ignores it unless wants(module). Where "head" or "query" is among the axes, the chosen heads and
  // steps are kept; of axes that end in "query", "key" the largest weights where keeps_largest() says so. InvalidArgument where axes don't fit the tensor, or
  // a chosen head or step doesn't exist.
  static void report(const torch::nn::Module& module, const char* kind, const Tensor& tensor, std::vector<std::string> axes);
  // The same of weights of which the reporter kept the largest only: `tensor` and largest.keys [..., query, top], largest.entropy [..., query].
  static void report(const torch::nn::Module& module, const char* kind, const Tensor& tensor, std::vector<std::string> axes, Largest largest);

  // What has been reported since the last take(), in the order of the reports.
  std::vector<Item> take();

 private:
  const std::string* path_of(const torch::nn::Module& module) const;
  void keep(const torch::nn::Module& module, Item item);
  static void choose(Item& item, const char* axis, const char* what, const std::vector<std::int64_t>& places);
  void keep_largest(Item& item) const;

  RecordingOptions options_;
  std::unordered_map<const torch::nn::Module*, std::string> paths_;
  std::vector<Item> items_;
  Recording* outer_;
};

}  // namespace attend
