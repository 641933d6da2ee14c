// What reading and writing of recordings share: names of the file's keys and checks of what they say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/format.h"
#include "attend/view/record.h"

namespace attend::view {

inline constexpr const char* record_key = "attend.record";

// InvalidArgument that names the nearest one.
Kind kind_of(const std::string& name);
Form form_of(const std::string& name);

// Kind, axes, lengths and form of an item: all but the numbers themselves. InvalidArgument as check_item().
void check_layout(const Example& example, const Item& item);

// Blocks of `block` that `length` places make, the last one maybe smaller; and the length of blocks of which there are at most `most`.
inline std::int64_t blocks_of(std::int64_t length, std::int64_t block) { return length / block + (length % block != 0 ? 1 : 0); }
inline std::int64_t block_length(std::int64_t length, std::int64_t most) { return std::max<std::int64_t>(1, blocks_of(length, most)); }

// The shape of `item.weights`, and of the tensor in the file.
std::vector<std::int64_t> held_shape(const Item& item);

// Adds the place to what went wrong inside of it.
template <class Exception, class Work>
void with_place(const std::string& place, Work work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    throw Exception(format("{}: {}", place, error.what()));
  }
}

}  // namespace attend::view
