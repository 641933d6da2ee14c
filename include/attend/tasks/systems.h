// The catalogue: every system that runs.
#pragma once

#include <string>
#include <vector>

#include "attend/base/api.h"

namespace attend::tasks {

struct System {
  std::string id, name, paper, meaning;
  std::vector<std::string> recipes;  // `attend train NAME` runs each
  std::string figures;               // what was reached; see docs/results.md
};

// All of them, in the order of their ids.
ATTEND_API const std::vector<System>& systems();

}  // namespace attend::tasks
