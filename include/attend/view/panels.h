// The weights of an item cut into rectangles that can be drawn, with the labels of their rows and columns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/api.h"
#include "attend/view/record.h"

namespace attend::view {

// One rectangle: rows × columns weights, row-major. It points into the item, which must outlive it, or into its Panels.
struct Panel {
  std::string heading;  // "head 2 of 8", "target 3 of 9: chat, head 1 of 2"; empty where the item has one panel
  std::span<const float> weights;
};

// All panels of an item. They have the same labels. What an item of the form top_k doesn't hold is 0; a row or column of a thumbnail is a block of them.
struct Panels {
  std::string title;                   // "decoder.attention", "encoder.self_attention, layer 2 (the 8 largest of each row)"
  std::string row_axis, column_axis;   // names of the last two axes; row_axis is empty where there is one axis only
  std::vector<std::string> row_labels, column_labels;  // tokens as they are where the axis has tokens, else "1", "2", …; of blocks "1–8"
  std::vector<Panel> panels;
  std::shared_ptr<const std::vector<float>> restored;  // what panels of a top_k item point into

  std::int64_t rows() const { return static_cast<std::int64_t>(row_labels.size()); }
  std::int64_t columns() const { return static_cast<std::int64_t>(column_labels.size()); }
  bool is_empty() const { return panels.empty() || row_labels.empty() || column_labels.empty(); }
};

// The last axis of an item runs along the columns, the one before along the rows, each place of the others (heads, mostly) has a panel.
// InvalidArgument as check_item().
ATTEND_API Panels panels_of(const Example& example, const Item& item);

// Whether a token is made of spaces only, one or more.
ATTEND_API bool is_blank_token(std::string_view token);

// A token as it may be shown: controls replaced (data::replace_controls()), spaces alone as ␣, and ◌ before a combining mark that the token
// begins with, lest it joins what is left of it.
ATTEND_API std::string printable_token(std::string_view token);

// Where the largest weight of a row lies, the first of equals; nothing where it is 0 (the row attended to nothing), all are NaN or there is
// none.
ATTEND_API std::optional<std::int64_t> strongest_column(std::span<const float> row);

// The largest weight of the item that is a finite number; 0 where there is none.
ATTEND_API float largest_weight(const Item& item);

}  // namespace attend::view
