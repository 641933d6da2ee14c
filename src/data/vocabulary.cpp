#include "attend/data/vocabulary.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/core/tokens.h"
#include "attend/data/unicode.h"
#include "attend/data/words.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"

namespace attend::data {
namespace {

std::string all_lines(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token + "\n";
  return text;
}

void refuse_model_unit(Unit unit) {
  if (unit == Unit::sentencepiece)
    throw InvalidArgument("attend::data::cut, join: expected characters, symbols or words, got sentencepiece, which needs its model; use a TextVocabulary");
}

}  // namespace

std::vector<std::string> cut(std::string_view text, Unit unit) {
  refuse_model_unit(unit);
  if (unit == Unit::characters) return graphemes(text);
  if (unit == Unit::words) return cut_words(text);
  std::vector<std::string> symbols;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    symbols.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return symbols;
}

std::string join(const std::vector<std::string>& tokens, Unit unit) {
  refuse_model_unit(unit);
  if (unit == Unit::words) return join_words(tokens);
  std::string text;
  for (const std::string& token : tokens) {
    if (unit == Unit::symbols && !text.empty()) text += ' ';
    text += token;
  }
  return text;
}

Vocabulary::Vocabulary(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    if (i >= special_tokens.size()) ids_.emplace(tokens_[i], static_cast<std::int64_t>(i));
}

Vocabulary Vocabulary::from_counts(const std::map<std::string, std::int64_t>& counts, std::int64_t least_count, std::int64_t largest) {
  std::vector<std::pair<std::string, std::int64_t>> kept;
  for (const auto& [token, count] : counts) {
    const bool special = std::find(special_tokens.begin(), special_tokens.end(), token) != special_tokens.end();
    const bool fits_a_line = token.find_first_of("\n\r") == std::string::npos && !token.empty();
    if (count >= least_count && !special && fits_a_line) kept.emplace_back(token, count);
  }
  std::stable_sort(kept.begin(), kept.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> tokens(special_tokens.begin(), special_tokens.end());
  for (const auto& [token, count] : kept) {
    if (static_cast<std::int64_t>(tokens.size()) >= largest + static_cast<std::int64_t>(special_tokens.size())) break;
    tokens.push_back(token);
  }
  return Vocabulary(std::move(tokens));
}

Vocabulary Vocabulary::from_tokens(std::vector<std::string> tokens) {
  if (tokens.size() < special_tokens.size() || !std::equal(special_tokens.begin(), special_tokens.end(), tokens.begin()))
    throw InvalidArgument("attend::data::Vocabulary: expected tokens that begin with <pad>, <unk>, <s>, </s>");
  const auto count = tokens.size();
  Vocabulary vocabulary(std::move(tokens));
  if (vocabulary.ids_.size() + special_tokens.size() != count)
    throw InvalidArgument("attend::data::Vocabulary: expected tokens that differ, got one twice");
  return vocabulary;
}

Vocabulary Vocabulary::load(const std::filesystem::path& file) {
  const std::string text = io::read_file(file);
  std::vector<std::string> tokens;
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    tokens.push_back(text.substr(at, end - at));
    at = end + 1;
    const auto place = format("{}:{}", file.string(), tokens.size());
    if (tokens.back().empty()) throw InvalidData(place + ": expected a token, got an empty line; the file was altered: take the one that was saved with the model");
    const auto [earlier, is_new] = seen.emplace(tokens.back(), tokens.size());
    if (!is_new) throw InvalidData(format("{}: the token \"{}\" stands in line {} already; take the file that was saved with the model", place, tokens.back(), earlier->second));
  }
  if (tokens.size() < special_tokens.size() || !std::equal(special_tokens.begin(), special_tokens.end(), tokens.begin()))
    throw InvalidData(format("{}:1: expected a vocabulary of attend, which begins with the lines <pad>, <unk>, <s>, </s>", file.string()));
  return Vocabulary(std::move(tokens));
}

void Vocabulary::save(const std::filesystem::path& file) const { io::write_file(file, all_lines(tokens_)); }

std::int64_t Vocabulary::id(const std::string& token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? unknown_token : found->second;
}

const std::string& Vocabulary::token(std::int64_t id) const {
  if (id < 0 || id >= size()) throw InvalidArgument(format("attend::data::Vocabulary: expected a token from 0 to {}, got {}", size() - 1, id));
  return tokens_[static_cast<std::size_t>(id)];
}

std::vector<std::int64_t> Vocabulary::ids(const std::vector<std::string>& tokens) const {
  std::vector<std::int64_t> numbers;
  for (const std::string& token : tokens) numbers.push_back(id(token));
  return numbers;
}

std::string Vocabulary::fingerprint() const {
  const std::string text = all_lines(tokens_);
  return format("{:08x}", io::crc32c(std::as_bytes(std::span(text.data(), text.size()))));
}

}  // namespace attend::data
