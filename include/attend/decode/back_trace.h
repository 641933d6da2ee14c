// The tokens that a search has kept, each with the one before it.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/base/api.h"

namespace attend::decode {

// Hypotheses that begin alike share their beginning: one is told by its last node alone, and read from there back to the root.
class ATTEND_API BackTrace {
 public:
  // What stands before the first token.
  static constexpr std::int64_t root = -1;

  struct Node {
    std::int64_t token = 0;
    std::int64_t before = root;  // number of the node before
    std::int64_t row = 0;        // of the step that produced the token
  };

  // → the node's number. InvalidArgument where the node before it is none.
  std::int64_t add(const Node& node);
  const Node& operator[](std::int64_t number) const { return nodes_[static_cast<std::size_t>(number)]; }

  // All nodes from the first to `last`; none for the root. InvalidArgument where there is no such node.
  std::vector<Node> path(std::int64_t last) const;

 private:
  void check(const char* name, std::int64_t number) const;

  std::vector<Node> nodes_;
};

}  // namespace attend::decode
