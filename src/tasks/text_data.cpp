#include "tasks/text_data.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/data/words.h"

namespace attend::tasks {
namespace {

std::filesystem::path corpus_file(const DataOptions& options, const std::string& split) {
  return std::filesystem::absolute(data_folder() / options.corpus / (split + ".tsv"));
}

}  // namespace

bool has_too_many_words(const DataOptions& options, std::string_view text) {
  return options.longest_words > 0 && data::count_words(text) > options.longest_words;
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

data::TokenPair token_pair(const data::TextVocabulary& source, const data::TextVocabulary& target, const data::TextPair& pair) {
  return {source.ids(source.cut(pair.source)), target.ids(target.cut(pair.target))};
}

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

}  // namespace attend::tasks
