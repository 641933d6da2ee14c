// CMUdict: English words and their pronunciations, from Debian's pocketsphinx-en-us.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/data/split.h"
#include "attend/io/value.h"

namespace attend::data {

enum class Part { train, valid, test };

// The part of a data set that a key belongs to: crc32 of its bytes (zlib's) modulo 100: below 9 test, below 11 validation, else train.
ATTEND_API Part part_of(std::string_view key);

// Reads the dictionary's text: `word P1 P2 …` a line, further pronunciations as `word(2)`. Every word is kept (letters and apostrophes; about
// one in a hundred has a hyphen or a full stop); all pronunciations of a word fall into the same part. InvalidData "FILE:LINE: …" for a
// line without a pronunciation.
ATTEND_API SplitPairs read_cmudict(const std::filesystem::path& file);

// Downloads the package and writes FOLDER/{train,valid,test}.tsv (word TAB phonemes) and SOURCE.json; → what SOURCE.json holds: source, licence, counts.
ATTEND_API io::Value make_cmudict(const std::filesystem::path& folder);

}  // namespace attend::data
