// The bytes that the page draws a panel from.
#pragma once

#include <cstdint>
#include <string>

#include "attend/io/value.h"
#include "attend/view/record.h"

namespace attend::view {

// How the places of an item are laid out: a panel for each place of all axes but the last two.
struct PanelShape {
  std::int64_t panels = 1, rows = 1, columns = 1;
  std::string row_axis, column_axis;                       // row_axis is empty where there is one axis
  std::int64_t thumbnail_rows = 1, thumbnail_columns = 1;
};

// With thumbnails of at most `thumbnail` rows and columns.
PanelShape panel_shape(const Item& item, std::int64_t thumbnail = 64);

// Of one panel. all: float32 [rows, columns]. top_k: float32 [rows, k], the largest first, then their columns, uint16 where the item has at
// most 65535, else uint32. thumbnail: float32, a mean for each block.
std::string weight_bytes(const Item& item, std::int64_t panel);

// Of all panels: float32 [panels, thumbnail_rows, thumbnail_columns], means of blocks. What a top-k item doesn't hold counts as 0.
std::string thumbnail_bytes(const Item& item, std::int64_t thumbnail = 64);

// {"panels": [{"largest", "entropy", "distance", "not_a_number"}, …]}. Of an item that was recorded shortened: of what it holds, the
// entropy of its own rows.
io::Value summary_value(const Item& item);

}  // namespace attend::view
