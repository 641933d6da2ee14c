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
  if (options_.most_pairs < 0 || options_.top < 1)
    throw InvalidArgument(format("attend::Recording: expected most_pairs ≥ 0 and top ≥ 1, got {} and {}", options_.most_pairs, options_.top));
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

std::optional<std::int64_t> Recording::keeps_largest(const torch::nn::Module& module, std::int64_t queries, std::int64_t keys) {
  if (!wants(module)) return std::nullopt;
  const RecordingOptions& options = innermost_recording->options_;
  const bool too_many = options.most_pairs > 0 && queries > 0 && keys > options.most_pairs / queries && options.top < keys;
  return too_many ? std::optional(options.top) : std::nullopt;
}

void Recording::report(const torch::nn::Module& module, const char* kind, const Tensor& tensor, std::vector<std::string> axes) {
  if (wants(module)) innermost_recording->keep(module, {"", kind, std::move(axes), tensor, {}});
}

void Recording::report(const torch::nn::Module& module, const char* kind, const Tensor& tensor, std::vector<std::string> axes, Largest largest) {
  if (wants(module)) innermost_recording->keep(module, {"", kind, std::move(axes), tensor, std::move(largest)});
}

void Recording::keep(const torch::nn::Module& module, Item item) {
  const std::int64_t dimensions = item.tensor.dim();
  if (dimensions != static_cast<std::int64_t>(item.axes.size()))
    throw InvalidArgument(format("attend::Recording::report: expected a name for each of {} dimensions, got {}", dimensions, item.axes.size()));
  item.module = *path_of(module);
  item.tensor = item.tensor.detach();
  const bool of_pairs = dimensions >= 2 && item.axes.back() == "key" && item.axes[item.axes.size() - 2] == "query";
  const bool too_many = of_pairs && !item.largest && keeps_largest(module, item.tensor.size(-2), item.tensor.size(-1));
  choose(item, "head", "heads", options_.heads);
  choose(item, "query", "steps", options_.steps);
  if (too_many) keep_largest(item);
  items_.push_back(std::move(item));
}

void Recording::choose(Item& item, const char* axis, const char* what, const std::vector<std::int64_t>& places) {
  const auto found = std::find(item.axes.begin(), item.axes.end(), axis);
  if (places.empty() || found == item.axes.end()) return;
  const std::int64_t dimension = found - item.axes.begin(), length = item.tensor.size(dimension);
  for (const std::int64_t chosen : places)
    if (chosen < 0 || chosen >= length) throw InvalidArgument(format("attend::Recording: expected {} from 0 to {}, got {}", what, length - 1, chosen));
  const Tensor indices = at::tensor(places, item.tensor.options().dtype(at::kLong));
  item.tensor = item.tensor.index_select(dimension, indices);
  if (!item.largest) return;
  item.largest->keys = item.largest->keys.index_select(dimension, indices);
  item.largest->entropy = item.largest->entropy.index_select(dimension, indices);
}

void Recording::keep_largest(Item& item) const {
  const torch::NoGradGuard no_gradient;
  const Tensor& weights = item.tensor;
  const auto [values, keys] = weights.topk(options_.top, /*dim=*/-1);
  item.largest = Largest{keys.masked_fill(values == 0, -1), -at::xlogy(weights, weights).sum(-1), weights.size(-1)};
  item.tensor = values;
}

std::vector<Recording::Item> Recording::take() { return std::exchange(items_, {}); }

}  // namespace attend
