// Vocabularies: tokens as numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"

namespace attend {
namespace data {

// What a text is cut into.
enum class Unit {
  characters,  // user-perceived characters (grapheme clusters)
  symbols,     // what stands between spaces, as it is: phonemes, words that are already cut
  words,       // words and punctuation of natural text (words.h)
  sentencepiece,  // sub-words, by a trained model (sentencepiece.h)
};

}  // namespace data

template <>
struct EnumNames<data::Unit> {
  static constexpr EnumName<data::Unit> values[] = {{data::Unit::characters, "characters"},
                                                  {data::Unit::symbols, "symbols"},
                                                  {data::Unit::words, "words"},
                                                  {data::Unit::sentencepiece, "sentencepiece"}};
};

namespace data {

// Cuts a valid UTF-8 text into units; spaces around symbols don't count. InvalidArgument for Unit::sentencepiece, which needs a model: see TextVocabulary.
ATTEND_API std::vector<std::string> cut(std::string_view text, Unit unit);
// The inverse: symbols are joined by spaces, words as join_words() does. InvalidArgument as above.
ATTEND_API std::string join(const std::vector<std::string>& tokens, Unit unit);

// A fixed list of tokens. The first four are <pad>, <unk>, <s>, </s>, which no text ever maps to.
class ATTEND_API Vocabulary {
 public:
  // The `largest` most frequent tokens that occur at least `least_count` times; ties in byte order, so that the same counts give the same
  // vocabulary.
  static Vocabulary from_counts(const std::map<std::string, std::int64_t>& counts, std::int64_t least_count = 1, std::int64_t largest = 1'000'000);

  // These tokens, by their place; the first four must be the special ones, and none may come twice: InvalidArgument.
  static Vocabulary from_tokens(std::vector<std::string> tokens);

  // One token a line. InvalidData "FILE:LINE: …" where the specials are missing, a token is empty or comes twice.
  static Vocabulary load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  // The number of a token; that of <unk> where it is not in the list.
  std::int64_t id(const std::string& token) const;
  // InvalidArgument where there is no such number.
  const std::string& token(std::int64_t id) const;
  std::vector<std::int64_t> ids(const std::vector<std::string>& tokens) const;

  // Eight hexadecimal digits over all tokens: what a model remembers, to notice a vocabulary that isn't its own.
  std::string fingerprint() const;

 private:
  explicit Vocabulary(std::vector<std::string> tokens);
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> ids_;
};

}  // namespace data
}  // namespace attend
