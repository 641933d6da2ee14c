// Plain heat maps: a cell for each weight, with the labels of rows and columns.
#pragma once

#include <memory>

#include "attend/view/picture.h"
#include "view/drawing.h"

namespace attend::view {

// `shaper` must outlive the drawing.
std::unique_ptr<Drawing> heat_map(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper);

}  // namespace attend::view
