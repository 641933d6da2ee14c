// Recordings: what the mechanisms of a model looked at, collected while a scope is open.
#pragma once

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
};

// While a Recording lives, every mechanism below its root module that runs on this thread reports its weights to it. Recordings nest: the
// innermost one gets the reports. Outside a scope reporting costs one look at a pointer.
//
//   Recording recording(*model);
//   model->forward(source, target);
//   for (const Recording::Item& item : recording.take()) …
class ATTEND_API Recording {
 public:
  struct Item {
    std::string module;             // path below the root
    std::string kind;               // "alignment", "self", "spatial", …
    std::vector<std::string> axes;  // a name for each dimension of `tensor`
    Tensor tensor;                  // detached
  };

  explicit Recording(const torch::nn::Module& root, RecordingOptions options = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Whether a report of `module` would be kept: a mechanism asks before it computes what it wouldn't need otherwise.
  static bool wants(const torch::nn::Module& module);
  // Gives `tensor` to the innermost open recording, which ignores it unless wants(module). Where "head" is among the axes, the chosen heads
  // are kept.
  static void report(const torch::nn::Module& module, const char* kind, const Tensor& tensor, std::vector<std::string> axes);

  // What has been reported since the last take(), in the order of the reports.
  std::vector<Item> take();

 private:
  const std::string* path_of(const torch::nn::Module& module) const;

  RecordingOptions options_;
  std::unordered_map<const torch::nn::Module*, std::string> paths_;
  std::vector<Item> items_;
  Recording* outer_;
};

}  // namespace attend
