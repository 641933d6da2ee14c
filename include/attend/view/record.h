// Recordings: where a model looked, example by example, in memory and as one .attn file (docs/recording-format.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"

namespace attend::view {

// What the weights of an item are put on.
enum class Kind {
  alignment,  // source tokens, for each target token
  self,       // tokens of the same text
  spatial,    // rows and columns of a picture
  channel,    // channels of a feature map
  temporal,   // time steps
  branch,     // branches of a layer
  glimpse,    // boxes over time
  hierarchy,  // sentences and their words
};

// "alignment", "self", …: as a file spells it.
ATTEND_API std::string_view name_of(Kind kind);

// What one module reported for one example.
struct Item {
  std::string module = {};  // its path in the model: "decoder.attention"
  Kind kind = Kind::alignment;
  std::vector<std::string> axes = {};  // a name for each dimension; "source" and "target" are the example's tokens, "head" the heads
  std::int64_t heads = 1;
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape = {};  // alignment: [H, target, source]; self: [H, L, L]
  std::vector<float> weights = {};       // row-major, Π shape of them; NaN where the model gave NaN
};

struct Example {
  std::string id = {};
  std::vector<std::string> source = {}, target = {};  // tokens in UTF-8; either may be empty
  std::vector<Item> items = {};
};

struct Record {
  std::vector<Example> examples = {};
};

// Version of `attend.record` that is written, and the newest that is read.
inline constexpr std::int64_t record_format = 1;

// Reads and checks a whole recording. InvalidData "FILE: …" that names the example and item and says what to do: not a recording, a newer
// format, an unknown kind, a tensor that is missing or neither F32 nor F64, axes that don't fit the kind, sizes that don't fit the tokens.
// F64 weights are rounded to float. Keys and tensors that it doesn't know are ignored. SystemError where the file can't be read.
ATTEND_API Record read_record(const std::filesystem::path& file);

// Writes a recording atomically; the same record gives the same bytes. Bytes of texts that are not UTF-8 become U+FFFD. InvalidArgument
// that names the example and item where read_record() would refuse what was written; SystemError where the file can't be written.
ATTEND_API void write_record(const std::filesystem::path& file, const Record& record);

// InvalidArgument where the axes of `item` don't fit its kind, its shape doesn't fit its axes, heads or the tokens of `example`, or the
// number of weights doesn't fit its shape. Reading, writing and drawing all demand this.
ATTEND_API void check_item(const Example& example, const Item& item);

}  // namespace attend::view
