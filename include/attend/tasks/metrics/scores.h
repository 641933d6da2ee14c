// The scores that a run can report, by name, and what gathers them item by item.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/tasks/metrics/bleu.h"
#include "attend/tasks/metrics/chrf.h"
#include "attend/tasks/metrics/error_rate.h"
#include "attend/tasks/metrics/perplexity.h"

namespace attend::tasks {

struct Metric {
  std::string_view name, meaning;
  bool less_is_better;
  bool percent;  // whether it is shown with a percent sign
};

// All of them.
ATTEND_API std::span<const Metric> metrics();
// InvalidArgument that names the nearest one where there is none of this name.
ATTEND_API const Metric& find_metric(std::string_view name);

// "PER 9.1 %", "BLEU 27.31", "perplexity 4.06"
ATTEND_API std::string metric_text(std::string_view name, double score);

// What a model answered to one source, and what it should have.
struct ScoredAnswer {
  Tokens tokens;                         // as the model wrote them
  std::string text;                      // the same put together
  std::vector<Tokens> reference_tokens;  // cut as the model's are
  std::vector<std::string> references;
};

// Gathers what the wanted scores need.
class ATTEND_API Scores {
 public:
  // InvalidArgument for a name that is no metric, and for options out of range. "loss" and "AER" are never gathered here.
  explicit Scores(const std::vector<std::string>& wanted, const BleuOptions& bleu = {}, const ChrfOptions& chrf = {});

  bool needs_likelihoods() const { return perplexity_.has_value(); }
  // InvalidArgument where there is no reference.
  void add(const ScoredAnswer& answer);
  void add_likelihood(double negative_log_likelihood, std::int64_t tokens);

  std::int64_t items() const { return items_; }
  std::map<std::string, double> values() const;
  // What sacreBLEU calls a signature, of each score that has one.
  std::map<std::string, std::string> signatures() const;

 private:
  bool per_ = false, wer_ = false;
  std::int64_t items_ = 0;
  ErrorRate errors_;
  std::optional<Bleu> bleu_;
  std::optional<Chrf> chrf_;
  std::optional<Perplexity> perplexity_;
};

}  // namespace attend::tasks
