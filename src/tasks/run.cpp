#include "attend/tasks/run.h"

#include "attend/base/error.h"
#include "attend/core/tensor_file.h"
#include "attend/io/json.h"
#include "attend/models/attention_layer.h"
#include "attend/models/luong.h"
#include "attend/models/rnn.h"
#include "attend/models/rnnsearch.h"

namespace attend::tasks {
namespace {

constexpr auto model_key = "attend.model", source_key = "attend.vocabulary.source", target_key = "attend.vocabulary.target";

void check_vocabulary(const io::SafetensorsFile& file, const char* key, const data::TextVocabulary& vocabulary, const std::filesystem::path& path) {
  if (file.meta(key) != vocabulary.fingerprint())
    throw InvalidData(format("{}: this vocabulary doesn't belong to {}: expected the fingerprint {}, got {}; take the file that was written with the model",
                             path.string(), file.path().string(), file.meta(key), vocabulary.fingerprint()));
}

// The class that takes these options.
template <class Options>
struct ModelOf;
template <>
struct ModelOf<models::LuongOptions> { using type = models::Luong; };
template <>
struct ModelOf<models::RnnOptions> { using type = models::Rnn; };
template <>
struct ModelOf<models::RnnsearchOptions> { using type = models::Rnnsearch; };
template <>
struct ModelOf<models::AttentionLayerOptions> { using type = models::AttentionLayer; };

// Whether a model was made with these options. Settings that came with a later version of attend had their defaults then.
bool was_made_with(const std::string& metadata, const ModelOptions& options, const std::string& source) {
  ModelOptions own;
  try {
    read_options(own, io::parse_json(metadata, source), source);
  } catch (const InvalidArgument&) {
    return false;
  }
  return write_options(own) == write_options(options);
}

data::TextVocabularyOptions text_options(const DataOptions& options, data::Unit unit, bool lower_case) {
  return {unit, lower_case, options.least_count, options.largest,
          {.vocabulary_size = options.vocabulary_size, .model = options.pieces, .character_coverage = options.character_coverage}};
}

}  // namespace

data::TextVocabularyOptions source_text_options(const DataOptions& options) { return text_options(options, options.source, options.lower_case); }
data::TextVocabularyOptions target_text_options(const DataOptions& options) { return text_options(options, options.target, false); }

std::shared_ptr<models::SequenceToSequence> make_model(const ModelOptions& options, std::int64_t source_vocabulary,
                                                       std::int64_t target_vocabulary) {
  return ModelOptions::choose(options, [&](const auto& chosen) -> std::shared_ptr<models::SequenceToSequence> {
    return std::make_shared<typename ModelOf<std::decay_t<decltype(chosen)>>::type>(source_vocabulary, target_vocabulary, chosen);
  });
}

void save_model(const std::filesystem::path& file, const models::SequenceToSequence& model, const ModelOptions& options,
                const data::TextVocabulary& source, const data::TextVocabulary& target) {
  save_tensors(file, module_tensors(model),
               {{model_key, io::to_json(write_options(options))}, {source_key, source.fingerprint()}, {target_key, target.fingerprint()}});
}

Run open_run(const std::filesystem::path& folder) {
  const RunFiles files{folder};
  if (!std::filesystem::is_directory(folder))
    throw SystemError(format("{}: there is no such run folder; `attend train RECIPE --out DIR` makes one", folder.string()));
  if (!std::filesystem::exists(files.recipe()))
    throw SystemError(format("{}: is not a run folder: it has no recipe.toml", folder.string()));
  if (!std::filesystem::exists(files.model()))
    throw SystemError(format("{}: holds no model yet; its training hasn't reached a validation: go on with `attend train … --resume`", folder.string()));
  Recipe recipe = read_recipe(files.recipe());
  data::TextVocabulary source = data::TextVocabulary::load(files.source_vocabulary(), source_text_options(recipe.data));
  data::TextVocabulary target = data::TextVocabulary::load(files.target_vocabulary(), target_text_options(recipe.data));
  const io::SafetensorsFile file = io::SafetensorsFile::read(files.model());
  if (!was_made_with(file.meta(model_key), recipe.model, file.path().string()))
    throw InvalidData(format("{}: was made with other model settings than {} has: take both from the same run", file.path().string(), files.recipe().string()));
  check_vocabulary(file, source_key, source, data::TextVocabulary::file_of(files.source_vocabulary(), recipe.data.source));
  check_vocabulary(file, target_key, target, data::TextVocabulary::file_of(files.target_vocabulary(), recipe.data.target));
  auto model = make_model(recipe.model, source.size(), target.size());
  NamedTensors tensors;
  for (const auto& [name, view] : file.tensors()) tensors[name] = tensor_of(view);
  load_module_tensors(*model, tensors, file.path().string());
  model->eval();
  return {files, std::move(recipe), std::move(source), std::move(target), std::move(model)};
}

}  // namespace attend::tasks
