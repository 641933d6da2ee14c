#include "attend/tasks/sequence_to_sequence.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "attend/base/error.h"
#include "attend/data/batches.h"
#include "attend/data/pairs.h"
#include "attend/data/split.h"
#include "attend/data/unicode.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"
#include "attend/io/folder_lock.h"
#include "attend/io/toml.h"
#include "attend/tasks/metrics/scores.h"
#include "attend/tasks/prediction.h"
#include "tasks/text_data.h"
#include "tasks/text_search.h"

namespace attend::tasks {
namespace {

constexpr std::int64_t kept_samples = 5;

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

}  // namespace attend::tasks
