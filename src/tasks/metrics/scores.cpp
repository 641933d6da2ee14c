#include "attend/tasks/metrics/scores.h"

#include <algorithm>
#include <cmath>

#include "attend/base/edit_distance.h"
#include "attend/base/error.h"

namespace attend::tasks {
namespace {

constexpr Metric all_metrics[] = {
    {"PER", "wrong tokens per token of the nearest reference (phoneme error rate)", true, true},
    {"WER", "items that equal none of their references (word error rate of pronunciations)", true, true},
    {"BLEU", "n-grams of words, as sacreBLEU", false, false},
    {"chrF", "n-grams of characters, as sacreBLEU's chrF2", false, false},
    {"perplexity", "exp of the mean −ln p of the right tokens", true, false},
    {"AER", "error rate of the attention's alignments against a gold file", true, true},
    {"loss", "what training minimises; in validation only", true, false},
};

}  // namespace

std::span<const Metric> metrics() { return all_metrics; }

const Metric& find_metric(std::string_view name) {
  std::vector<std::string> known;
  for (const Metric& metric : all_metrics) {
    if (metric.name == name) return metric;
    known.emplace_back(metric.name);
  }
  std::string list;
  for (const std::string& metric : known) list += (list.empty() ? "" : ", ") + metric;
  throw InvalidArgument(format("there is no score \"{}\"{}; there are {}", name, did_you_mean(std::string(name), known), list));
}

std::string metric_text(std::string_view name, double score) {
  const auto* metric =
      std::find_if(std::begin(all_metrics), std::end(all_metrics), [&](const Metric& known) { return known.name == name; });
  const bool percent = metric != std::end(all_metrics) && metric->percent;
  return percent ? format("{} {:.1f} %", name, score) : format("{} {:.2f}", name, score);
}

Scores::Scores(const std::vector<std::string>& wanted, const BleuOptions& bleu, const ChrfOptions& chrf) {
  for (const std::string& name : wanted) {
    find_metric(name);
    if (name == "PER") per_ = true;
    if (name == "WER") wer_ = true;
    if (name == "BLEU") bleu_.emplace(bleu);
    if (name == "chrF") chrf_.emplace(chrf);
    if (name == "perplexity") perplexity_.emplace();
  }
}

void Scores::add(const ScoredAnswer& answer) {
  if (per_ || wer_) errors_.add(answer.tokens, answer.reference_tokens);
  if (bleu_) bleu_->add(answer.text, answer.references);
  if (chrf_) chrf_->add(answer.text, answer.references);
  ++items_;
}

void Scores::add_likelihood(double negative_log_likelihood, std::int64_t tokens) {
  if (perplexity_) perplexity_->add(negative_log_likelihood, tokens);
}

std::map<std::string, double> Scores::values() const {
  std::map<std::string, double> values;
  if (per_) values["PER"] = errors_.token_errors();
  if (wer_) values["WER"] = errors_.sequence_errors();
  if (bleu_) values["BLEU"] = bleu_->score();
  if (chrf_) values["chrF"] = chrf_->score();
  if (perplexity_) values["perplexity"] = perplexity_->value();
  return values;
}

std::map<std::string, std::string> Scores::signatures() const {
  std::map<std::string, std::string> signatures;
  if (bleu_) signatures["BLEU"] = bleu_->signature();
  if (chrf_) signatures["chrF"] = chrf_->signature();
  return signatures;
}

}  // namespace attend::tasks
