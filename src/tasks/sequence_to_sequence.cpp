#include "attend/tasks/sequence_to_sequence.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include "attend/base/error.h"
#include "attend/core/recording.h"
#include "attend/data/batches.h"
#include "attend/data/pairs.h"
#include "attend/data/split.h"
#include "attend/data/unicode.h"
#include "attend/data/words.h"
#include "attend/decode/search.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"
#include "attend/io/folder_lock.h"
#include "attend/io/toml.h"
#include "attend/tasks/metrics/scores.h"

namespace attend::tasks {
namespace {

constexpr std::int64_t decode_batch = 128;
constexpr std::int64_t kept_samples = 5;

// --- texts and tokens ------------------------------------------------------------------------------------------------------------------

bool has_too_many_words(const DataOptions& options, std::string_view text) {
  return options.longest_words > 0 && data::count_words(text) > options.longest_words;
}

// The sum of tokens with their lengths, so that none can move to the next text unnoticed.
std::uint32_t sum_of_tokens(const std::vector<data::TokenPair>& pairs, std::uint32_t sum) {
  for (const data::TokenPair& pair : pairs)
    for (const std::vector<std::int64_t>& tokens : {std::cref(pair.source), std::cref(pair.target)}) {
      const auto length = static_cast<std::int64_t>(tokens.size());
      sum = io::crc32c(std::as_bytes(std::span(&length, 1)), sum);
      sum = io::crc32c(std::as_bytes(std::span(tokens)), sum);
    }
  return sum;
}

data::TokenPair token_pair(const data::TextVocabulary& source, const data::TextVocabulary& target, const data::TextPair& pair) {
  return {source.ids(source.cut(pair.source)), target.ids(target.cut(pair.target))};
}

// Pads to the longest row. Sources end with the token of the end, so that none is empty; targets begin and end.
models::TokenBatch pad(const std::vector<const std::vector<std::int64_t>*>& rows, bool with_begin) {
  std::int64_t longest = 0;
  for (const auto* row : rows) longest = std::max(longest, static_cast<std::int64_t>(row->size()));
  const std::int64_t width = longest + 1 + (with_begin ? 1 : 0), count = static_cast<std::int64_t>(rows.size());
  models::TokenBatch batch{at::full({count, width}, padding_token, at::kLong), at::empty({count}, at::kLong)};
  auto tokens = batch.tokens.accessor<std::int64_t, 2>();
  auto lengths = batch.lengths.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    if (with_begin) tokens[i][at++] = begin_token;
    for (const std::int64_t token : *rows[static_cast<std::size_t>(i)]) tokens[i][at++] = token;
    tokens[i][at++] = end_token;
    lengths[i] = at;
  }
  return batch;
}

models::TokenBatch source_batch(const std::vector<data::TokenPair>& pairs, const std::vector<std::int64_t>& rows) {
  std::vector<const std::vector<std::int64_t>*> sources;
  for (const std::int64_t row : rows) sources.push_back(&pairs[static_cast<std::size_t>(row)].source);
  return pad(sources, false);
}

models::TokenBatch target_batch(const std::vector<data::TokenPair>& pairs, const std::vector<std::int64_t>& rows) {
  std::vector<const std::vector<std::int64_t>*> targets;
  for (const std::int64_t row : rows) targets.push_back(&pairs[static_cast<std::size_t>(row)].target);
  return pad(targets, true);
}

// --- files ---------------------------------------------------------------------------------------------------------------------------

std::filesystem::path corpus_file(const DataOptions& options, const std::string& split) {
  return std::filesystem::absolute(data_folder() / options.corpus / (split + ".tsv"));
}

std::vector<std::filesystem::path> files_of(const DataOptions& options, const std::string& split) {
  const std::vector<std::string>& given = split == "train" ? options.train : split == "valid" ? options.valid : options.test;
  std::vector<std::filesystem::path> files;
  for (const std::string& path : given) files.emplace_back(expand(path));
  // a corpus may have moved since its paths were resolved
  const bool moved = files.size() == 1 && !std::filesystem::exists(files[0]);
  if (!options.corpus.empty() && (files.empty() || moved)) files = {corpus_file(options, split)};
  return files;
}

// Every path in full, those of the corpus included: a run can be scored later from anywhere, whatever ATTEND_DATA is then.
DataOptions resolved(DataOptions options) {
  for (auto& [split, files] : {std::pair<const char*, std::vector<std::string>&>("train", options.train), {"valid", options.valid}, {"test", options.test}}) {
    for (std::string& path : files) path = std::filesystem::absolute(expand(path)).lexically_normal().string();
    if (files.empty() && !options.corpus.empty() && std::filesystem::exists(corpus_file(options, split)))
      files = {corpus_file(options, split).string()};
  }
  return options;
}

data::Pairs read_files(const DataOptions& options, const std::vector<std::filesystem::path>& files) {
  if (!options.corpus.empty() && files.size() == 1 && !std::filesystem::exists(files[0]))
    throw SystemError(format("{}: not found; `attend data {}` makes it", files[0].string(), options.corpus));
  return files.size() == 2 ? data::read_parallel(files[0], files[1]) : data::read_tsv(files[0], options.further_columns);
}

// --- search over a model ---------------------------------------------------------------------------------------------------------------

// How many tokens each target may have.
std::vector<std::int64_t> longest_targets(const Tensor& source_lengths, const DecodeOptions& options) {
  std::vector<std::int64_t> longest;
  const auto lengths = source_lengths.accessor<std::int64_t, 1>();
  for (std::int64_t i = 0; i < lengths.size(0); ++i)
    longest.push_back(static_cast<std::int64_t>(options.length_factor * static_cast<double>(lengths[i])) + options.length_extra);
  return longest;
}

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
  if (recorded) recording.emplace(model, RecordingOptions{{model.alignment_module()}, {}});
  decode::Stepper stepper;
  stepper.step = [&](const Tensor& previous) { return model.step(previous, state); };
  stepper.reorder = [&](const Tensor& rows) { state = models::SequenceToSequence::reorder(state, rows); };
  if (recorded) stepper.alignment = [&] { return recording->take().back().tensor.mean(1).squeeze(1); };  // [N, Ls]
  const Tensor own = source.lengths - 1;  // the end and what pads it needn't be covered
  stepper.covered.assign(own.data_ptr<std::int64_t>(), own.data_ptr<std::int64_t>() + own.numel());
  return decode::search(stepper, longest_targets(source.lengths, options), how);
}

// Weights over the source for each token of the target, read along it: [B, Lt, Ls]; undefined where the model aligns nothing.
Tensor forced_alignment(models::SequenceToSequence& model, const models::TokenBatch& source, const models::TokenBatch& target) {
  if (model.alignment_module().empty()) return {};
  Recording recording(model, RecordingOptions{{model.alignment_module()}, {}});
  models::DecoderState state = model.encode(source);
  std::vector<Tensor> weights;
  for (std::int64_t t = 0; t + 1 < target.tokens.size(1); ++t) {
    model.step(target.tokens.select(1, t), state);
    weights.push_back(recording.take().back().tensor.mean(1).squeeze(1));                        // [B, Ls]
  }
  return at::stack(weights, 1);
}

std::vector<std::string> tokens_of(const data::TextVocabulary& vocabulary, const std::vector<std::int64_t>& ids) {
  std::vector<std::string> tokens;
  for (const std::int64_t id : ids) tokens.push_back(vocabulary.token(id));
  return tokens;
}

// The tokens of an answer. An unknown one, which search gives only where it is to be replaced, becomes the source token that it looked at most.
std::vector<std::string> answer_tokens(const data::TextVocabulary& vocabulary, const decode::Hypothesis& hypothesis, const std::vector<std::string>& source) {
  std::vector<std::string> tokens = tokens_of(vocabulary, hypothesis.tokens);
  if (!hypothesis.alignment.defined() || source.empty()) return tokens;
  const Tensor places = hypothesis.alignment.slice(1, 0, static_cast<std::int64_t>(source.size())).argmax(1);  // [tokens]
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (hypothesis.tokens[i] == unknown_token) tokens[i] = source[static_cast<std::size_t>(places[static_cast<std::int64_t>(i)].item<std::int64_t>())];
  return tokens;
}

// --- training ------------------------------------------------------------------------------------------------------------------------

// Everything that training holds besides the trainer itself.
class TextTraining {
 public:
  TextTraining(const Recipe& recipe, const RunFiles& files) : recipe_(recipe), files_(files) {}

  void load(bool resume) {
    const std::vector<std::filesystem::path> train_files = files_of(recipe_.data, "train"), valid_files = files_of(recipe_.data, "valid");
    data::Pairs train = read_files(recipe_.data, train_files);
    data_.empty = train.empty_lines;
    std::vector<data::TextPair> valid;
    // a corpus may lack the part; files that the recipe names must be there
    if (!recipe_.data.valid.empty() || (!valid_files.empty() && std::filesystem::exists(valid_files[0])))
      valid = read_files(recipe_.data, valid_files).pairs;
    else
      std::tie(train.pairs, valid) = data::take_validation(std::move(train.pairs));
    if (train.pairs.empty())
      throw InvalidData(format("{}: holds no pair to train on; expected lines of source TAB target", train_files[0].string()));
    if (valid.empty())
      throw InvalidData(format("{}: too few pairs to take 2 % for validation; give data.valid", train_files[0].string()));
    leave_out_many_words(train.pairs, train_files[0]);
    make_vocabularies(train.pairs, resume);
    make_tokens(train.pairs);
    take_validation(valid);
    if (pairs_.empty())
      throw InvalidData(format("{}: every pair has more than {} tokens on a side (data.longest)", train_files[0].string(), recipe_.data.longest));
    check_fingerprint(resume);
    torch::manual_seed(static_cast<std::uint64_t>(recipe_.train.seed));
    model_ = make_model(recipe_.model, source_->size(), target_->size());
    data_.train = static_cast<std::int64_t>(pairs_.size());
    data_.valid = static_cast<std::int64_t>(valid_pairs_.size());
    data_.source_tokens = source_->size();
    data_.target_tokens = target_->size();
    for (const Tensor& parameter : model_->parameters()) data_.parameters += parameter.numel();
  }

  train::Training functions() {
    train::Training training;
    training.model = model_.get();
    training.begin_epoch = [this](std::int64_t epoch) {
      batches_ = data::epoch_batches(pairs_, {recipe_.train.batch, true}, static_cast<std::uint64_t>(recipe_.train.seed), epoch);
      return static_cast<std::int64_t>(batches_.size());
    };
    training.batch = [this](std::int64_t number) {
      const auto& rows = batches_[static_cast<std::size_t>(number)];
      const models::ModelOutput output = model_->forward(source_batch(pairs_, rows), target_batch(pairs_, rows));
      return train::Training::BatchLosses{output.losses, static_cast<std::int64_t>(rows.size())};
    };
    training.validate = [this](const std::function<bool()>& stop) { return validate(stop); };
    training.best_by = figure_metric(recipe_);
    training.less_is_better = find_metric(training.best_by).less_is_better;
    training.save_best = [this] { save_model(files_.model(), *model_, recipe_.model, *source_, *target_); };
    return training;
  }

  const TrainingData& data() const { return data_; }
  const std::vector<data::References>& valid_items() const { return valid_items_; }

 private:
  void leave_out_many_words(std::vector<data::TextPair>& train, const std::filesystem::path& file) {
    data_.too_many_words = static_cast<std::int64_t>(std::erase_if(train, [&](const data::TextPair& pair) {
      return has_too_many_words(recipe_.data, pair.source) || has_too_many_words(recipe_.data, pair.target);
    }));
    if (train.empty())
      throw InvalidData(format("{}: every pair has more than {} words on a side (data.longest_words)", file.string(), recipe_.data.longest_words));
  }

  // A run that goes on keeps its own: whether the data are still the same is seen from their tokens.
  void make_vocabularies(const std::vector<data::TextPair>& train, bool resume) {
    const data::TextVocabularyOptions source = source_text_options(recipe_.data), target = target_text_options(recipe_.data);
    if (resume) {
      source_ = data::TextVocabulary::load(files_.source_vocabulary(), source);
      target_ = data::TextVocabulary::load(files_.target_vocabulary(), target);
      return;
    }
    std::vector<std::string> sources, targets;
    for (const data::TextPair& pair : train) {
      sources.push_back(source.lower_case ? data::lower_case(pair.source) : pair.source);
      targets.push_back(pair.target);
    }
    if (recipe_.data.shared_vocabulary) {
      targets.insert(targets.end(), sources.begin(), sources.end());
      sources = targets;
    }
    source_ = make_vocabulary(sources, source, files_.source_vocabulary(), "source");
    target_ = make_vocabulary(targets, target, files_.target_vocabulary(), "target");
  }

  static data::TextVocabulary make_vocabulary(const std::vector<std::string>& texts, const data::TextVocabularyOptions& options,
                                              const std::filesystem::path& file, const char* side) {
    data::TextVocabularyOptions as_given = options;
    as_given.lower_case = false;  // the texts are in lower case already where they should be: not the other side's of a shared vocabulary
    try {
      data::TextVocabulary::make(texts, as_given, file);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(format("data.vocabulary_size: no sub-words of the {}s: {}", side, error.what()));
    }
    return data::TextVocabulary::load(file, options);
  }

  void make_tokens(const std::vector<data::TextPair>& train) {
    for (const data::TextPair& pair : train) {
      data::TokenPair tokens = token_pair(*source_, *target_, pair);
      if (static_cast<std::int64_t>(std::max(tokens.source.size(), tokens.target.size())) > recipe_.data.longest)
        ++data_.too_long;
      else
        pairs_.push_back(std::move(tokens));
    }
  }

  void check_fingerprint(bool resume) {
    data_.fingerprint = format("{:08x}", sum_of_tokens(valid_pairs_, sum_of_tokens(pairs_, 0)));
    const std::optional<std::string>& expected = recipe_.data.fingerprint;
    if (!expected || *expected == data_.fingerprint) return;
    if (resume)
      throw InvalidData(format("{}: the training data changed since this run began: expected the fingerprint {}, got {}; train anew in another folder",
                               files_.folder.string(), *expected, data_.fingerprint));
    throw InvalidData(format("data.fingerprint: expected training data with the fingerprint {}, got {}: the data, or the settings that cut them, are others; "
                             "leave data.fingerprint out to train on these",
                             *expected, data_.fingerprint));
  }

  void take_validation(const std::vector<data::TextPair>& valid) {
    for (const data::TextPair& pair : valid) valid_pairs_.push_back(token_pair(*source_, *target_, pair));
    valid_items_ = data::gather_references(valid);
    const std::int64_t most = recipe_.train.valid_items;
    if (most > 0 && static_cast<std::int64_t>(valid_items_.size()) > most) valid_items_.resize(static_cast<std::size_t>(most));
  }

  std::map<std::string, double> validate(const std::function<bool()>& stop) {
    Scores scores(metrics_of(recipe_), recipe_.eval.bleu, recipe_.eval.chrf);
    double loss_sum = 0, tokens = 0;
    for (const auto& rows : data::epoch_batches(valid_pairs_, {decode_batch, true}, 0, 0)) {
      if (stop()) return {};
      const models::TokenBatch target = target_batch(valid_pairs_, rows);
      const double count = (target.lengths - 1).sum().item<double>();
      const models::ModelOutput output = model_->forward(source_batch(valid_pairs_, rows), target);
      for (const models::LossTerm& term : output.losses) loss_sum += term.weight * term.value.item<double>() * count;
      if (scores.needs_likelihoods())
        scores.add_likelihood(negative_log_likelihood(output.output, target.tokens.slice(1, 1)).sum().item<double>(), static_cast<std::int64_t>(count));
      tokens += count;
    }
    std::vector<std::vector<std::string>> texts;
    std::vector<std::vector<std::int64_t>> sources;
    for (const data::References& item : valid_items_) {
      texts.push_back(source_->cut(item.source));
      sources.push_back(source_->ids(texts.back()));
    }
    for (const auto& rows : data::length_batches(sources, decode_batch)) {
      if (stop()) return {};
      std::vector<const std::vector<std::int64_t>*> batch;
      for (const std::int64_t row : rows) batch.push_back(&sources[static_cast<std::size_t>(row)]);
      const auto found = search_batch(*model_, pad(batch, false), recipe_.decode, 1, 1, false);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ScoredAnswer answer;
        answer.tokens = answer_tokens(*target_, found[i].front(), texts[static_cast<std::size_t>(rows[i])]);
        answer.text = target_->join(answer.tokens);
        for (const std::string& target : valid_items_[static_cast<std::size_t>(rows[i])].targets) {
          answer.reference_tokens.push_back(target_->cut(target));
          answer.references.push_back(data::normalize_nfc(target));
        }
        scores.add(answer);
      }
    }
    std::map<std::string, double> values = scores.values();
    values["loss"] = loss_sum / tokens;
    return values;
  }

  const Recipe& recipe_;
  RunFiles files_;
  std::optional<data::TextVocabulary> source_, target_;
  std::vector<data::TokenPair> pairs_, valid_pairs_;
  std::vector<data::References> valid_items_;
  std::shared_ptr<models::SequenceToSequence> model_;
  std::vector<std::vector<std::int64_t>> batches_;
  TrainingData data_;
};

// The first line in which two recipes differ, for a message.
std::string first_difference(const io::Value& a, const io::Value& b, const std::string& path) {
  for (const auto& [key, value] : a.as_table()) {
    const std::string here = path.empty() ? key : path + "." + key;
    const io::Value* other = b.find(key);
    if (other == nullptr) return here;
    if (value == *other) continue;
    return value.is_table() && other->is_table() ? first_difference(value, *other, here) : here;
  }
  return path;
}

// A run that goes on expects the data that it began with.
void prepare_folder(Recipe& recipe, const RunFiles& files, bool resume) {
  const bool holds_run = std::filesystem::exists(files.recipe());
  if (holds_run && !resume)
    throw SystemError(format("{}: holds a run already; go on with it by --resume, or choose another folder with --out", files.folder.string()));
  if (holds_run) {
    Recipe own_recipe = read_recipe(files.recipe());
    if (!recipe.data.corpus.empty() && own_recipe.data.corpus == recipe.data.corpus) {
      // the same corpus may have moved; that it is the same is seen from its fingerprint
      own_recipe.data.train = recipe.data.train;
      own_recipe.data.valid = recipe.data.valid;
      own_recipe.data.test = recipe.data.test;
    }
    if (!recipe.data.fingerprint) recipe.data.fingerprint = own_recipe.data.fingerprint;
    const io::Value own = write_options(own_recipe), given = write_options(recipe);
    if (!(own == given))
      throw InvalidArgument(format("{}: was begun with another recipe: {} differs; resume with the recipe it was begun with, or choose another folder",
                                   files.folder.string(), first_difference(given, own, "")));
  }
}

void write_samples(const RunFiles& files, const std::vector<data::References>& items) {
  Run run = open_run(files.folder);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < items.size() && static_cast<std::int64_t>(i) < kept_samples; ++i) lines.push_back(items[i].source);
  view::Record record;
  PredictOptions options;
  options.alignments = true;
  const std::vector<Prediction> predictions = predict(run, lines, options);
  for (std::size_t i = 0; i < predictions.size(); ++i) record.examples.push_back(record_of(run, predictions[i], std::to_string(i + 1)));
  view::write_record(files.samples(), record);
}

}  // namespace

train::Outcome train_run(const Recipe& given, const std::filesystem::path& folder, bool resume, const TrainCallbacks& callbacks) {
  Recipe recipe = given;
  recipe.data = resolved(given.data);
  const RunFiles files{folder};
  io::make_folders(folder);
  const io::FolderLock lock(folder);
  io::remove_stale_partial_files(folder);
  prepare_folder(recipe, files, resume);
  const bool goes_on = resume && std::filesystem::exists(files.recipe());
  TextTraining training(recipe, files);
  training.load(goes_on);
  recipe.data.fingerprint = training.data().fingerprint;
  io::write_file(files.recipe(), to_toml(recipe));
  if (callbacks.began) callbacks.began(training.data());
  const train::Outcome outcome = train::train(training.functions(), recipe.train, folder, goes_on, callbacks);
  if (outcome.finished && std::filesystem::exists(files.model())) write_samples(files, training.valid_items());
  return outcome;
}

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
