#include "tasks/text_search.h"

#include <optional>

#include "attend/base/error.h"
#include "attend/core/recording.h"

namespace attend::tasks {
namespace {

// How many tokens each target may have.
std::vector<std::int64_t> longest_targets(const Tensor& source_lengths, const DecodeOptions& options) {
  std::vector<std::int64_t> longest;
  const auto lengths = source_lengths.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < lengths.size(0); ++i)
    longest.push_back(static_cast<std::int64_t>(options.length_factor * static_cast<double>(lengths[i])) + options.length_extra);
  return longest;
}

std::vector<std::string> tokens_of(const data::TextVocabulary& vocabulary, const std::vector<std::int64_t>& ids) {
  std::vector<std::string> tokens;
  for (const std::int64_t id : ids) tokens.push_back(vocabulary.token(id));
  return tokens;
}

}  // namespace

std::vector<std::vector<decode::Hypothesis>> search_batch(models::SequenceToSequence& model, const models::TokenBatch& source,
                                                          const DecodeOptions& options, std::int64_t beam, std::int64_t n_best,
                                                          bool alignments) {
  torch::NoGradGuard no_gradient;
  decode::SearchOptions how;
  how.beam = beam;
  how.n_best = n_best;
  how.length_penalty = beam == 1 ? 0.0 : options.length_penalty;
  how.coverage_penalty = beam == 1 ? 0.0 : options.coverage_penalty;
  if (options.replace_unknown) std::erase(how.forbidden, unknown_token);
  const char* needed_by = options.replace_unknown ? "replace_unknown" : how.coverage_penalty > 0 ? "coverage_penalty" : nullptr;
  if (needed_by != nullptr && model.alignment_module().empty())
    throw InvalidArgument(format("decode.{}: expected a model whose weights align target and source; this one has none: leave the setting out", needed_by));
  models::DecoderState state = model.encode(source);
  std::optional<Recording> recording;
  const bool recorded = (alignments || needed_by != nullptr) && !model.alignment_module().empty();
  if (recorded) recording.emplace(model, RecordingOptions{.modules = {model.alignment_module()}, .most_pairs = 0});
  decode::Stepper stepper;
  stepper.step = [&](const Tensor& previous) { return model.step(previous, state); };
  stepper.reorder = [&](const Tensor& rows) { state = models::SequenceToSequence::reorder(state, rows); };
  if (recorded) stepper.alignment = [&] { return recording->take().back().tensor.mean(1).squeeze(1); };  // [N, Ls]
  const Tensor own = source.lengths - 1;  // the end and what pads it needn't be covered
  stepper.covered.assign(own.data_ptr<std::int64_t>(), own.data_ptr<std::int64_t>() + own.numel());
  return decode::search(stepper, longest_targets(source.lengths, options), how);
}

std::vector<std::string> answer_tokens(const data::TextVocabulary& vocabulary, const decode::Hypothesis& hypothesis, const std::vector<std::string>& source) {
  std::vector<std::string> tokens = tokens_of(vocabulary, hypothesis.tokens);
  if (!hypothesis.alignment.defined() || source.empty()) return tokens;
  const Tensor places = hypothesis.alignment.slice(1, 0, static_cast<std::int64_t>(source.size())).argmax(1);  // [tokens]
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (hypothesis.tokens[i] == unknown_token) tokens[i] = source[static_cast<std::size_t>(places[static_cast<std::int64_t>(i)].item<std::int64_t>())];
  return tokens;
}

}  // namespace attend::tasks
