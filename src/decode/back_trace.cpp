#include "attend/decode/back_trace.h"

#include <algorithm>

#include "attend/base/error.h"

namespace attend::decode {

void BackTrace::check(const char* name, std::int64_t number) const {
  if (number < root || number >= static_cast<std::int64_t>(nodes_.size()))
    throw InvalidArgument(format("attend::decode::BackTrace: expected {} from {} (the root) to {}, got {}", name, root,
                                 static_cast<std::int64_t>(nodes_.size()) - 1, number));
}

std::int64_t BackTrace::add(const Node& node) {
  check("the node before", node.before);
  nodes_.push_back(node);
  return static_cast<std::int64_t>(nodes_.size()) - 1;
}

std::vector<BackTrace::Node> BackTrace::path(std::int64_t last) const {
  check("the last node", last);
  std::vector<Node> nodes;
  for (std::int64_t number = last; number != root; number = (*this)[number].before) nodes.push_back((*this)[number]);
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace attend::decode
