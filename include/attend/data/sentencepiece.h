// Sub-word pieces (SentencePiece; Kudo and Richardson 2018): train a model on text, then cut texts into pieces and put them together again.
//
// SentencePiece itself is in the module attend/attend_sentencepiece.so beside this library, which is opened at the first use.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"

namespace attend::data {

enum class PieceModel {
  unigram,            // unigram language model (Kudo 2018)
  byte_pair_encoding  // Sennrich et al. 2016
};

struct SentencePieceOptions {
  int vocabulary_size = 8000;                // pieces, the four special ones included
  PieceModel model = PieceModel::unigram;    // how pieces are found
  double character_coverage = 1.0;           // share of the text's characters that get a piece; 0.9995 for Chinese or Japanese
  bool byte_fallback = false;                // unknown characters become pieces of bytes (256 of the vocabulary) instead of `unknown`
};

// Ids of the pieces that stand for no text; -1 where a model (of somebody else) has none. Models trained here have 0, 1, 2, 3.
struct SpecialPieces {
  int padding = 0;
  int unknown = 1;
  int begin = 2;
  int end = 3;
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
  std::vector<int> encode(std::string_view text) const;
  // The same as texts; a space is written as U+2581.
  std::vector<std::string> encode_as_pieces(std::string_view text) const;
  // The text of `ids`; special pieces give none, except unknown (" ⁇ "). InvalidArgument where an id is out of range.
  std::string decode(const std::vector<int>& ids) const;

  // Number of pieces.
  int size() const;
  // The piece with this id. InvalidArgument where it is out of range.
  std::string piece(int id) const;
  SpecialPieces special_pieces() const;

 private:
  struct Impl;
  explicit SentencePiece(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace attend::data
