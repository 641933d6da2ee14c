#include "attend/data/text_vocabulary.h"

#include <algorithm>
#include <map>
#include <span>

#include "attend/base/error.h"
#include "attend/core/tokens.h"
#include "attend/data/unicode.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"

namespace attend::data {
namespace {

std::string prepared(std::string_view text, bool in_lower_case) {
  const std::string normal = normalize_nfc(text);
  return in_lower_case ? lower_case(normal) : normal;
}

std::map<std::string, std::int64_t> count_tokens(const std::vector<std::string>& texts, const TextVocabularyOptions& options) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& text : texts)
    for (const std::string& token : cut(prepared(text, options.lower_case), options.unit)) ++counts[token];
  return counts;
}

std::vector<std::string> pieces_of(const SentencePiece& model, const std::filesystem::path& file) {
  std::vector<std::string> pieces;
  for (std::int64_t id = 0; id < model.size(); ++id) pieces.push_back(model.piece(id));
  if (pieces.size() < special_tokens.size() || !std::equal(special_tokens.begin(), special_tokens.end(), pieces.begin()))
    throw InvalidData(format("{}: expected a model whose first pieces are <pad>, <unk>, <s>, </s>; take the file that was saved with the model",
                             file.string()));
  return pieces;
}

}  // namespace

TextVocabulary::TextVocabulary(Vocabulary tokens, const TextVocabularyOptions& options) : tokens_(std::move(tokens)), options_(options) {
  if (options.unit == Unit::sentencepiece)
    throw InvalidArgument("attend::data::TextVocabulary: expected a unit that has a list of tokens, got sentencepiece; load() its model");
}

TextVocabulary::TextVocabulary(Vocabulary tokens, const TextVocabularyOptions& options, SentencePiece pieces, std::string model)
    : tokens_(std::move(tokens)), options_(options), pieces_(std::move(pieces)), model_(std::move(model)) {}

TextVocabulary TextVocabulary::make(const std::vector<std::string>& texts, const TextVocabularyOptions& options, const std::filesystem::path& file) {
  if (options.unit != Unit::sentencepiece) {
    TextVocabulary made(Vocabulary::from_counts(count_tokens(texts, options), options.least_count, options.largest), options);
    made.save(file);
    return made;
  }
  std::vector<std::string> sentences;
  for (const std::string& text : texts) sentences.push_back(prepared(text, options.lower_case));
  SentencePiece::train(sentences, options.pieces, file_of(file, options.unit));
  return load(file, options);
}

TextVocabulary TextVocabulary::load(const std::filesystem::path& file, const TextVocabularyOptions& options) {
  const std::filesystem::path place = file_of(file, options.unit);
  if (options.unit != Unit::sentencepiece) return TextVocabulary(Vocabulary::load(place), options);
  SentencePiece model = SentencePiece::load(place);
  Vocabulary tokens = Vocabulary::from_tokens(pieces_of(model, place));
  return TextVocabulary(std::move(tokens), options, std::move(model), io::read_file(place));
}

void TextVocabulary::save(const std::filesystem::path& file) const {
  if (pieces_)
    io::write_file(file_of(file, options_.unit), model_);
  else
    tokens_.save(file);
}

std::filesystem::path TextVocabulary::file_of(const std::filesystem::path& file, Unit unit) {
  return unit == Unit::sentencepiece ? std::filesystem::path(file.string() + ".model") : file;
}

std::string TextVocabulary::fingerprint() const {
  return pieces_ ? format("{:08x}", io::crc32c(std::as_bytes(std::span(model_.data(), model_.size())))) : tokens_.fingerprint();
}

std::vector<std::string> TextVocabulary::cut(std::string_view text) const {
  const std::string ready = prepared(text, options_.lower_case);
  return pieces_ ? pieces_->encode_as_pieces(ready) : data::cut(ready, options_.unit);
}

std::string TextVocabulary::join(const std::vector<std::string>& tokens) const {
  return pieces_ ? pieces_->decode_pieces(tokens) : data::join(tokens, options_.unit);
}

}  // namespace attend::data
