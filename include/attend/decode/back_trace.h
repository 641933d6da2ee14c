// The tokens that a search has kept, each with the one before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attend/base/error.h"

namespace attend::decode {

// Hypotheses that begin alike share their beginning: one is told by its last node alone, and read from there back to the root.
class BackTrace {
 public:
  // What stands before the first token.
  static constexpr std::int64_t root = -1;

  struct Node {
    std::int64_t token = 0;
    std::int64_t before = root;  // number of the node before
    std::int64_t row = 0;        // of the step that produced the token
  };

  // → the node's number. InvalidArgument where the node before it is none.
  std::int64_t add(const Node& node) {
    check("the node before", node.before);
    nodes_.push_back(node);
    return size() - 1;
  }
  const Node& operator[](std::int64_t number) const { return nodes_[static_cast<std::size_t>(number)]; }

  // All nodes from the first to `last`; none for the root. InvalidArgument where there is no such node.
  std::vector<Node> path(std::int64_t last) const {
    check("the last node", last);
    std::vector<Node> nodes;
    for (std::int64_t number = last; number != root; number = (*this)[number].before) nodes.push_back((*this)[number]);
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }

  void check(const char* name, std::int64_t number) const {
    if (number < root || number >= size())
      throw InvalidArgument(format("attend::decode::BackTrace: expected {} from {} (the root) to {}, got {}", name, root, size() - 1, number));
  }

  std::vector<Node> nodes_;
};

}  // namespace attend::decode
