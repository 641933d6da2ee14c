#include "attend/base/edit_distance.h"

#include "attend/base/format.h"

namespace attend {

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t least = 0;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool near = 2 * distance <= std::max(name.size(), candidate.size());
    if (near && (nearest.empty() || distance < least)) nearest = candidate, least = distance;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? std::string() : format("; did you mean \"{}\"?", nearest);
}

}  // namespace attend
