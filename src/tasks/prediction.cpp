#include "attend/tasks/prediction.h"

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/data/batches.h"
#include "attend/data/split.h"
#include "attend/tasks/metrics/perplexity.h"
#include "tasks/text_data.h"
#include "tasks/text_search.h"

namespace attend::tasks {
namespace {

// Weights over the source for each token of the target, read along it: [B, Lt, Ls]; undefined where the model aligns nothing.
Tensor forced_alignment(models::SequenceToSequence& model, const models::TokenBatch& source, const models::TokenBatch& target) {
  if (model.alignment_module().empty()) return {};
  Recording recording(model, RecordingOptions{.modules = {model.alignment_module()}, .most_pairs = 0});
  models::DecoderState state = model.encode(source);
  std::vector<Tensor> weights;
  for (std::int64_t t = 0; t + 1 < target.tokens.size(1); ++t) {
    model.step(target.tokens.select(1, t), state);
    weights.push_back(recording.take().back().tensor.mean(1).squeeze(1));                        // [B, Ls]
  }
  return at::stack(weights, 1);
}

}  // namespace

std::vector<Prediction> predict(Run& run, const std::vector<std::string>& lines, const PredictOptions& options) {
  std::vector<Prediction> predictions(lines.size());
  std::vector<std::vector<std::int64_t>> sources;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    predictions[i].source = run.source.cut(lines[i]);
    predictions[i].longer_than_trained = static_cast<std::int64_t>(predictions[i].source.size()) > run.recipe.data.longest ||
                                         has_too_many_words(run.recipe.data, lines[i]);
    const bool empty = lines[i].find_first_not_of(" \t") == std::string::npos;
    if (empty || predictions[i].source.empty()) continue;
    sources.push_back(run.source.ids(predictions[i].source));
    places.push_back(i);
  }
  for (const auto& rows : data::length_batches(sources, decode_batch)) {
    std::vector<const std::vector<std::int64_t>*> batch;
    for (const std::int64_t row : rows) batch.push_back(&sources[static_cast<std::size_t>(row)]);
    const auto found = search_batch(*run.model, pad(batch, false), run.recipe.decode, options.beam, options.n_best, options.alignments);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Prediction& prediction = predictions[places[static_cast<std::size_t>(rows[i])]];
      for (const decode::Hypothesis& hypothesis : found[i]) {
        Prediction::Output output;
        output.tokens = answer_tokens(run.target, hypothesis, prediction.source);
        output.text = run.target.join(output.tokens);
        output.score = hypothesis.score;
        // the source's end and the padding behind it are columns too; what is shown are the text's own tokens
        if (options.alignments && hypothesis.alignment.defined())
          output.alignment = hypothesis.alignment.slice(1, 0, static_cast<std::int64_t>(prediction.source.size()) + 1).contiguous();
        prediction.outputs.push_back(std::move(output));
      }
    }
  }
  return predictions;
}

view::Example record_of(const Run& run, const Prediction& prediction, const std::string& id) {
  view::Example example;
  example.id = id;
  example.source = prediction.source;
  example.source.push_back("</s>");
  if (prediction.outputs.empty()) return example;
  const Prediction::Output& best = prediction.outputs.front();
  example.target = best.tokens;
  if (!best.alignment.defined()) return example;
  view::Item item;
  item.module = run.model->alignment_module();
  item.kind = view::Kind::alignment;
  item.axes = {"head", "target", "source"};
  item.shape = {1, best.alignment.size(0), best.alignment.size(1)};
  const float* weights = best.alignment.data_ptr<float>();
  item.weights.assign(weights, weights + best.alignment.numel());
  example.items.push_back(std::move(item));
  return example;
}

PairBatch read_pairs(const Run& run, const std::string& split, std::int64_t most) {
  std::vector<data::TokenPair> tokens;
  std::vector<std::int64_t> rows;
  for (const data::TextPair& pair : read_split(run, split).pairs) {
    if (static_cast<std::int64_t>(tokens.size()) == most) break;
    rows.push_back(static_cast<std::int64_t>(tokens.size()));
    tokens.push_back(token_pair(run.source, run.target, pair));
  }
  return {source_batch(tokens, rows), target_batch(tokens, rows)};
}

PairBatch answer_lines(Run& run, const std::vector<std::string>& lines) {
  std::vector<data::TokenPair> tokens;
  std::vector<std::int64_t> rows;
  for (const Prediction& prediction : predict(run, lines)) {
    if (prediction.outputs.empty()) continue;
    rows.push_back(static_cast<std::int64_t>(tokens.size()));
    tokens.push_back({run.source.ids(prediction.source), run.target.ids(prediction.outputs.front().tokens)});
  }
  if (tokens.empty()) throw InvalidData("expected a line that is not empty, to check with");
  return {source_batch(tokens, rows), target_batch(tokens, rows)};
}

Split read_split(const Run& run, const std::string& split) {
  const bool named = split == "train" || split == "valid" || split == "test";
  std::vector<std::filesystem::path> files = named ? files_of(run.recipe.data, split) : std::vector<std::filesystem::path>{split};
  Split read;
  if (split == "valid" && run.recipe.data.valid.empty() && (files.empty() || !std::filesystem::exists(files[0]))) {
    files = files_of(run.recipe.data, "train");
    read.pairs = data::take_validation(read_files(run.recipe.data, files).pairs).second;
  } else if (files.empty()) {
    throw InvalidArgument(format("{}: the recipe names no {} data; give a TSV file with --split FILE", run.files.recipe().string(), split));
  } else {
    read.pairs = read_files(run.recipe.data, files).pairs;
  }
  read.file = files[0];
  if (read.pairs.empty()) throw InvalidData(format("{}: holds no pair to score", files[0].string()));
  return read;
}

std::vector<std::string> target_tokens(const Run& run, std::string_view target) { return run.target.cut(target); }

std::vector<Likelihood> likelihoods(Run& run, const std::vector<data::TextPair>& pairs, bool alignments) {
  torch::NoGradGuard no_gradient;
  std::vector<data::TokenPair> ids;
  std::vector<std::vector<std::int64_t>> sources;
  for (const data::TextPair& pair : pairs) {
    ids.push_back(token_pair(run.source, run.target, pair));
    sources.push_back(ids.back().source);
  }
  std::vector<Likelihood> read(pairs.size());
  for (const auto& rows : data::length_batches(sources, decode_batch)) {
    const models::TokenBatch source = source_batch(ids, rows), target = target_batch(ids, rows);
    const Tensor wanted = target.tokens.slice(1, 1);                                             // [B, Lt]
    const Tensor negative_log = negative_log_likelihood(run.model->forward(source, target).output, wanted);  // [B]
    const Tensor weights = alignments ? forced_alignment(*run.model, source, target) : Tensor();  // [B, Lt, Ls]
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto b = static_cast<std::int64_t>(i);
      Likelihood& one = read[static_cast<std::size_t>(rows[i])];
      one.negative_log = negative_log[b].item<double>();
      one.tokens = target.lengths[b].item<std::int64_t>() - 1;
      one.source_tokens = source.lengths[b].item<std::int64_t>() - 1;
      if (weights.defined()) one.alignment = weights[b].slice(0, 0, one.tokens).slice(1, 0, one.source_tokens + 1).contiguous();
    }
  }
  return read;
}

}  // namespace attend::tasks
