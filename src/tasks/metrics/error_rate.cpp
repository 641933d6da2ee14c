#include "attend/tasks/metrics/error_rate.h"

#include "attend/base/edit_distance.h"
#include "attend/base/error.h"

namespace attend::tasks {

void ErrorRate::add(const Tokens& hypothesis, const std::vector<Tokens>& references) {
  if (references.empty()) throw InvalidArgument("attend::tasks::ErrorRate::add: expected at least one reference, got none");
  std::size_t best_edits = 0, best_length = 0;
  bool first = true;
  for (const Tokens& reference : references) {
    const std::size_t edits = edit_distance(hypothesis, reference), length = reference.size();
    if (first || edits < best_edits) best_edits = edits, best_length = length, first = false;
  }
  ++items_;
  edits_ += static_cast<std::int64_t>(best_edits);
  tokens_ += static_cast<std::int64_t>(best_length);
  wrong_ += best_edits > 0;
}

double ErrorRate::token_errors() const { return tokens_ == 0 ? 0.0 : 100.0 * static_cast<double>(edits_) / static_cast<double>(tokens_); }

double ErrorRate::sequence_errors() const { return items_ == 0 ? 0.0 : 100.0 * static_cast<double>(wrong_) / static_cast<double>(items_); }

}  // namespace attend::tasks
