// Recordings: where a model looked, example by example, in memory and as one .attn file (docs/recording-format.md).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
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

// How much of the weights an item holds.
enum class Form {
  all,        // every weight
  top_k,      // the k largest of each row
  thumbnail,  // means of blocks of rows and columns
};

// "all", "top-k", "thumbnail".
ATTEND_API std::string_view name_of(Form form);

// What one module reported for one example.
struct Item {
  std::string module = {};  // its path in the model: "decoder.attention"
  Kind kind = Kind::alignment;
  std::vector<std::string> axes = {};  // a name for each dimension; "source" and "target" are the example's tokens, "head" the heads
  std::int64_t heads = 1;
  std::int64_t layer = 0;
  std::vector<std::int64_t> shape = {};  // of all weights, whatever the form; alignment: [H, target, source]; self: [H, L, L]
  // Row-major; NaN where the model gave NaN. all: Π shape of them. top_k: [..., rows, k]. thumbnail: [..., ⌈rows/block[0]⌉, ⌈columns/block[1]⌉].
  std::vector<float> weights = {};
  Form form = Form::all;               // others need two axes or more: the last two are rows and columns
  std::int64_t k = 0;                    // top_k: from 0 to columns
  std::vector<std::int32_t> keys = {};   // top_k: the column of each weight, [..., rows, k]; −1 with weight 0 where a row has fewer
  std::array<std::int64_t, 2> block = {1, 1};  // thumbnail: rows and columns of a block, at least 1; the last blocks may be smaller
  std::vector<float> entropy = {};       // of each row of all weights, in bits, [..., rows]; empty: not said
};

// Pixels as they are shown.
struct Picture {
  std::int64_t height = 0, width = 0, channels = 3;  // channels: 1 grey, 3 red, green, blue
  std::vector<std::uint8_t> pixels = {};             // [height, width, channels]
};

struct Sound {
  double rate = 16000;              // samples a second
  std::vector<float> samples = {};  // one channel, from −1 to 1
};

struct Example {
  std::string id = {};
  std::vector<std::string> source = {}, target = {};  // tokens in UTF-8; either may be empty
  std::vector<Item> items = {};
  std::optional<Picture> picture = {};       // what spatial maps and glimpses lie on
  std::optional<Sound> sound = {};           // what temporal weights lie under
  std::vector<std::int64_t> sentences = {};  // source tokens of each sentence, in order; their sum is the number of source tokens. Empty: not said
};

struct Record {
  std::vector<Example> examples = {};
};

// Version of `attend.record` that is written, and the newest that is read.
inline constexpr std::int64_t record_format = 1;

// Reads and checks a whole recording. InvalidData "FILE: …" that names the example and item and says what to do: not a recording, a newer
// format, an unknown kind or form, a tensor that is missing or of another type, axes that don't fit the kind, sizes that don't fit the tokens.
// F64 weights are rounded to float. Keys and tensors that it doesn't know are ignored. SystemError where the file can't be read.
ATTEND_API Record read_record(const std::filesystem::path& file);

// Writes a recording atomically; the same record gives the same bytes. Bytes of texts that are not UTF-8 become U+FFFD. InvalidArgument
// that names the example and item where read_record() would refuse what was written; SystemError where the file can't be written.
ATTEND_API void write_record(const std::filesystem::path& file, const Record& record);

// Adds the examples of `more` to those of `record`. An example of the same id with the same tokens, sentences and, where both have one, picture and sound gets
// the items of the other instead: so several recordings of one run of a model become one.
ATTEND_API void merge(Record& record, Record more);

// InvalidArgument where the axes of `item` don't fit its kind, its shape doesn't fit its axes, heads or the tokens of `example`, or the
// weights, keys or entropies don't fit its shape and form. Reading, writing and drawing all demand this.
ATTEND_API void check_item(const Example& example, const Item& item);

// InvalidArgument where picture, sound or sentences of `example` contradict themselves. Its items aren't looked at.
ATTEND_API void check_example(const Example& example);

}  // namespace attend::view
