// From texts to numbers and back: how a side of the data is cut, with its vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/sentencepiece.h"
#include "attend/data/vocabulary.h"

namespace attend::data {

struct TextVocabularyOptions {
  Unit unit = Unit::characters;
  bool lower_case = false;
  // Of lists of tokens: how often one must occur, and how many there may be.
  std::int64_t least_count = 1, largest = 1'000'000;
  // Of sub-words.
  SentencePieceOptions pieces;
};

// A text is normalised (form C), made lower case where that is wanted, and cut into tokens; tokens are numbered by the vocabulary. Sub-words
// are a vocabulary too: its tokens are the model's pieces, by their ids.
class ATTEND_API TextVocabulary {
 public:
  // A list of tokens that is there already. InvalidArgument for Unit::sentencepiece, whose list comes from its model.
  TextVocabulary(Vocabulary tokens, const TextVocabularyOptions& options = {});

  // Makes one from all texts of a side (or of both, to be shared) and saves it. The same texts and options give the same bytes. InvalidArgument
  // where sub-words can't be trained: no texts, or a vocabulary too large or too small for them.
  static TextVocabulary make(const std::vector<std::string>& texts, const TextVocabularyOptions& options, const std::filesystem::path& file);

  // Reads what make() or save() wrote for these options. InvalidData "FILE: …" where it is altered, SystemError where it can't be read.
  static TextVocabulary load(const std::filesystem::path& file, const TextVocabularyOptions& options);
  // Writes `file`, one token a line, or `file`.model, a model of SentencePiece.
  void save(const std::filesystem::path& file) const;
  // Which of the two it is.
  static std::filesystem::path file_of(const std::filesystem::path& file, Unit unit);

  std::vector<std::string> cut(std::string_view text) const;
  // The text of tokens, as people write it.
  std::string join(const std::vector<std::string>& tokens) const;

  // As in Vocabulary.
  std::int64_t size() const { return tokens_.size(); }
  std::int64_t id(const std::string& token) const { return tokens_.id(token); }
  const std::string& token(std::int64_t id) const { return tokens_.token(id); }
  std::vector<std::int64_t> ids(const std::vector<std::string>& tokens) const { return tokens_.ids(tokens); }
  // Over all tokens, or over the model's bytes.
  std::string fingerprint() const;

 private:
  TextVocabulary(Vocabulary tokens, const TextVocabularyOptions& options, SentencePiece pieces, std::string model);
  Vocabulary tokens_;
  TextVocabularyOptions options_;
  std::optional<SentencePiece> pieces_;
  std::string model_;  // the model's bytes, to save them again
};

}  // namespace attend::data
