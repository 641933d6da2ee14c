#include "attend/core/recording.h"

#include <algorithm>

#include "attend/base/edit_distance.h"
#include "attend/base/error.h"

namespace attend {
namespace {

thread_local Recording* innermost_recording = nullptr;

bool lies_below(const std::string& path, const std::string& root) {
  return root.empty() || path == root || (path.size() > root.size() && path.compare(0, root.size(), root) == 0 && path[root.size()] == '.');
}

}  // namespace

Recording::Recording(const torch::nn::Module& root, RecordingOptions options) : options_(std::move(options)), outer_(innermost_recording) {
  std::vector<std::string> all_paths;
  for (const auto& item : root.named_modules()) {
    all_paths.push_back(item.key());
    const bool chosen = options_.modules.empty() || std::any_of(options_.modules.begin(), options_.modules.end(),
                                                                [&](const auto& wanted) { return lies_below(item.key(), wanted); });
    if (chosen) paths_.emplace(item.value().get(), item.key());
  }
  for (const std::string& wanted : options_.modules)
    if (std::find(all_paths.begin(), all_paths.end(), wanted) == all_paths.end())
      throw InvalidArgument(
          format("attend::Recording: the model has no module \"{}\"{}", wanted, did_you_mean(wanted, all_paths)));
  innermost_recording = this;
}

Recording::~Recording() { innermost_recording = outer_; }

const std::string* Recording::path_of(const torch::nn::Module& module) const {
  const auto found = paths_.find(&module);
  return found == paths_.end() ? nullptr : &found->second;
}

bool Recording::wants(const torch::nn::Module& module) {
  return innermost_recording != nullptr && innermost_recording->path_of(module) != nullptr;
}

void Recording::report(const torch::nn::Module& module, const char* kind, const Tensor& tensor, std::vector<std::string> axes) {
  if (!wants(module)) return;
  if (tensor.dim() != static_cast<std::int64_t>(axes.size()))
    throw InvalidArgument(format("attend::Recording::report: expected a name for each of {} dimensions, got {}", tensor.dim(), axes.size()));
  Tensor kept = tensor.detach();
  const auto head = std::find(axes.begin(), axes.end(), "head");
  if (!innermost_recording->options_.heads.empty() && head != axes.end()) {
    const std::int64_t dimension = head - axes.begin();
    for (const std::int64_t chosen : innermost_recording->options_.heads)
      if (chosen < 0 || chosen >= kept.size(dimension))
        throw InvalidArgument(format("attend::Recording: expected heads from 0 to {}, got {}", kept.size(dimension) - 1, chosen));
    kept = kept.index_select(dimension, at::tensor(innermost_recording->options_.heads, kept.options().dtype(at::kLong)));
  }
  innermost_recording->items_.push_back({*innermost_recording->path_of(module), kind, std::move(axes), std::move(kept)});
}

std::vector<Recording::Item> Recording::take() { return std::exchange(items_, {}); }

}  // namespace attend
