// Sub-word pieces (SentencePiece; Kudo and Richardson 2018): train a model on text, then cut texts into pieces and put them together again.
//
// SentencePiece itself is in the module attend/attend_sentencepiece.so beside this library, which is opened at the first use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/api.h"
#include "attend/core/options.h"

namespace attend {
namespace data {

// How pieces are found.
enum class PieceModel {
  unigram,             // unigram language model (Kudo 2018)
  byte_pair_encoding,  // Sennrich et al. 2016
};

}  // namespace data

template <>
struct EnumNames<data::PieceModel> {
  static constexpr EnumName<data::PieceModel> values[] = {{data::PieceModel::unigram, "unigram"}, {data::PieceModel::byte_pair_encoding, "bpe"}};
};

namespace data {

struct SentencePieceOptions {
  std::int64_t vocabulary_size = 8000;
  PieceModel model = PieceModel::unigram;
  double character_coverage = 1.0;
  bool byte_fallback = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visitor) {
    visitor("vocabulary_size", self.vocabulary_size, "number of pieces, the four special ones included");
    visitor("model", self.model, "how pieces are found");
    visitor("character_coverage", self.character_coverage, "share of the text's characters that get a piece; 0.9995 suits Chinese and Japanese");
    visitor("byte_fallback", self.byte_fallback, "cut unknown characters into bytes, which are 256 of the pieces");
  }
};

// Ids of the pieces that stand for no text, as in a Vocabulary; -1 where a model made by other tools has none.
struct SpecialPieces {
  std::int64_t padding = 0;
  std::int64_t unknown = 1;
  std::int64_t begin = 2;
  std::int64_t end = 3;
};

// A trained model. Copies share it; its functions may be called from several threads.
class ATTEND_API SentencePiece {
 public:
  // Trains on `sentences` and writes the model to `file` (atomically; the format of SentencePiece's own tools). Texts are normalised by NFKC
  // and runs of spaces become one, as by default there. The same sentences and options give the same bytes. InvalidArgument where
  // the options don't fit the text: a vocabulary too large or too small for it.
  static void train(const std::vector<std::string>& sentences, const SentencePieceOptions& options, const std::filesystem::path& file);

  // Reads a model. InvalidData "FILE: …" where it is none, SystemError where it can't be read.
  static SentencePiece load(const std::filesystem::path& file);

  // The ids of the pieces of `text` (UTF-8), without begin and end.
  std::vector<std::int64_t> encode(std::string_view text) const;
  // The same as texts; a space is written as U+2581.
  std::vector<std::string> encode_as_pieces(std::string_view text) const;
  // The text of `ids`; special pieces give none, except unknown (" ⁇ "). InvalidArgument where an id is out of range.
  std::string decode(const std::vector<std::int64_t>& ids) const;
  // The text of pieces; one that the model doesn't have stands for itself.
  std::string decode_pieces(const std::vector<std::string>& pieces) const;

  // Number of pieces.
  std::int64_t size() const;
  // The piece with this id. InvalidArgument where it is out of range.
  std::string piece(std::int64_t id) const;
  SpecialPieces special_pieces() const;

 private:
  struct Impl;
  explicit SentencePiece(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace data
}  // namespace attend
