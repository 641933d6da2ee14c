#include "attend/tasks/evaluation.h"

#include <algorithm>
#include <chrono>

#include "attend/base/error.h"
#include "attend/data/pairs.h"
#include "attend/data/unicode.h"
#include "attend/data/words.h"
#include "attend/tasks/metrics/scores.h"
#include "attend/tasks/prediction.h"

namespace attend::tasks {
namespace {

constexpr std::size_t items_at_once = 1024;  // between two rounds progress is shown

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The scores of all items, and of those of each range of lengths.
class Scoring {
 public:
  Scoring(Run& run, const EvaluateOptions& options, Evaluation& result) : run_(run), options_(options), result_(result), total_(fresh()) {}

  void add(std::span<const data::References> items) {
    std::vector<std::string> lines;
    for (const data::References& item : items) lines.push_back(item.source);
    PredictOptions how;
    how.beam = options_.beam;
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Prediction> predictions = predict(run_, lines, how);
    result_.seconds += seconds_since(begin);
    for (std::size_t i = 0; i < items.size(); ++i) add_answer(items[i], predictions[i]);
    if (total_.needs_likelihoods()) add_likelihoods(items);
  }

  void finish() {
    result_.metrics = total_.values();
    result_.signatures = total_.signatures();
    for (const auto& [row, scores] : rows_) {
      const std::int64_t from = row * options_.length_step + 1;
      result_.by_length.push_back({from, from + options_.length_step - 1, scores.items(), scores.values()});
    }
  }

 private:
  Scores fresh() const { return Scores(metrics_of(run_.recipe), run_.recipe.eval.bleu, run_.recipe.eval.chrf); }

  // Sub-words say little of how long a sentence is: words are counted there.
  std::int64_t length_of(const std::string& source, std::int64_t tokens) const {
    return run_.recipe.data.source == data::Unit::sentencepiece ? data::count_words(source) : tokens;
  }

  Scores* row_of(std::int64_t length) {
    if (options_.length_step == 0) return nullptr;
    return &rows_.try_emplace((std::max<std::int64_t>(length, 1) - 1) / options_.length_step, fresh()).first->second;
  }

  void add_answer(const data::References& item, const Prediction& prediction) {
    ScoredAnswer answer;
    if (!prediction.outputs.empty()) {
      answer.tokens = prediction.outputs.front().tokens;
      answer.text = prediction.outputs.front().text;
    }
    for (const std::string& target : item.targets) {
      answer.reference_tokens.push_back(target_tokens(run_, target));
      answer.references.push_back(data::normalize_nfc(target));
    }
    result_.tokens += static_cast<std::int64_t>(answer.tokens.size());
    if (prediction.longer_than_trained) ++result_.longer_than_trained;
    total_.add(answer);
    if (Scores* row = row_of(length_of(item.source, static_cast<std::int64_t>(prediction.source.size())))) row->add(answer);
  }

  void add_likelihoods(std::span<const data::References> items) {
    std::vector<data::TextPair> pairs;
    for (const data::References& item : items)
      for (const std::string& target : item.targets) pairs.push_back({item.source, target});
    const std::vector<Likelihood> read = likelihoods(run_, pairs);
    for (std::size_t i = 0; i < read.size(); ++i) {
      total_.add_likelihood(read[i].negative_log, read[i].tokens);
      if (Scores* row = row_of(length_of(pairs[i].source, read[i].source_tokens))) row->add_likelihood(read[i].negative_log, read[i].tokens);
    }
  }

  Run& run_;
  const EvaluateOptions& options_;
  Evaluation& result_;
  Scores total_;
  std::map<std::int64_t, Scores> rows_;
};

void check_gold(const Alignment& gold, const std::string& place, const data::TextPair& pair, std::int64_t source_tokens,
                std::int64_t target_tokens) {
  for (const Link& link : gold)
    if (link.source >= source_tokens || link.target >= target_tokens)
      throw InvalidData(
          format("{}: the link {} leads beyond the {} and {} tokens that the model sees of \"{}\": alignments are of those tokens, from 0",
                 place, alignment_text({link}), source_tokens, target_tokens, pair.source));
}

double alignment_error(Run& run, const EvaluateOptions& options, const std::vector<data::TextPair>& pairs,
                       const std::function<bool()>& stop) {
  if (options.gold->size() != pairs.size())
    throw InvalidData(
        format("{}: expected one line for each of the {} pairs, got {}", options.gold_name, pairs.size(), options.gold->size()));
  AlignmentErrorRate rate;
  for (std::size_t at = 0; at < pairs.size(); at += items_at_once) {
    if (stop && stop()) throw SystemError("stopped before the end; nothing was scored");
    const std::size_t end = std::min(pairs.size(), at + items_at_once);
    const std::vector<Likelihood> read =
        likelihoods(run, {pairs.begin() + static_cast<std::ptrdiff_t>(at), pairs.begin() + static_cast<std::ptrdiff_t>(end)}, true);
    for (std::size_t i = at; i < end; ++i) {
      const Likelihood& one = read[i - at];
      const Alignment& gold = (*options.gold)[i];
      check_gold(gold, format("{}:{}", options.gold_name, i + 1), pairs[i], one.source_tokens, one.tokens - 1);
      rate.add(hard_alignment(one.alignment.slice(0, 0, one.tokens - 1), one.source_tokens), gold);
    }
  }
  return rate.error_rate();
}

}  // namespace

Evaluation evaluate(Run& run, const std::string& split, const EvaluateOptions& options,
                    const std::function<void(std::int64_t, std::int64_t)>& progress, const std::function<bool()>& stop) {
  if (options.length_step < 0)
    throw InvalidArgument(format("attend::tasks::evaluate: expected a length_step of at least 0, got {}", options.length_step));
  if (options.gold && run.model->alignment_module().empty())
    throw InvalidArgument(format("{}: its model, {}, has no attention from target to source; AER can't be measured",
                                 run.files.folder.string(), name_of(run.recipe.model.name)));
  const Split data = read_split(run, split);
  const std::vector<data::References> items = data::gather_references(data.pairs);
  Evaluation result{split, data.file.string(), static_cast<std::int64_t>(items.size()), {}};
  Scoring scoring(run, options, result);
  for (std::size_t at = 0; at < items.size(); at += items_at_once) {
    if (stop && stop()) throw SystemError("stopped before the end; nothing was scored");
    if (progress) progress(static_cast<std::int64_t>(at), result.items);
    scoring.add(std::span(items).subspan(at, std::min(items_at_once, items.size() - at)));
  }
  scoring.finish();
  if (options.gold) result.metrics["AER"] = alignment_error(run, options, data.pairs, stop);
  if (progress) progress(result.items, result.items);
  return result;
}

}  // namespace attend::tasks
