// Means of the blocks of a matrix: what thumbnails are, those of recordings as those of the page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "view/record_format.h"

namespace attend::view {

// Blocks of `block_rows` × `block_columns`; the last ones may be smaller. What isn't added is 0.
class BlockMeans {
 public:
  BlockMeans(std::int64_t rows, std::int64_t columns, std::int64_t block_rows, std::int64_t block_columns)
      : rows_(rows), columns_(columns), block_rows_(block_rows), block_columns_(block_columns), across_(blocks_of(columns, block_columns)),
        sums_(static_cast<std::size_t>(blocks_of(rows, block_rows) * across_)) {}

  void add(std::int64_t row, std::int64_t column, float weight) {
    sums_[static_cast<std::size_t>(row / block_rows_ * across_ + column / block_columns_)] += static_cast<double>(weight);
  }

  // Row-major; NaN where a block has one.
  void append_to(std::vector<float>& means) const {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::int64_t top = static_cast<std::int64_t>(i) / across_ * block_rows_, left = static_cast<std::int64_t>(i) % across_ * block_columns_;
      const std::int64_t count = std::min(block_rows_, rows_ - top) * std::min(block_columns_, columns_ - left);
      means.push_back(static_cast<float>(sums_[i] / static_cast<double>(count)));
    }
  }

 private:
  std::int64_t rows_, columns_, block_rows_, block_columns_, across_;
  std::vector<double> sums_;
};

}  // namespace attend::view
