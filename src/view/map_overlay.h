// Spatial maps over the picture of their example, a panel for each.
#pragma once

#include <memory>

#include "attend/view/picture.h"
#include "view/drawing.h"

namespace attend::view {

// The example has a picture, and the item a cell at least. `example`, `item` and `shaper` must outlive the drawing.
std::unique_ptr<Drawing> map_overlay(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper);

}  // namespace attend::view
