// Glimpses: numbered boxes over the picture that they look at, in the order of their steps (the page's viewer/glimpses.js).
#pragma once

#include <memory>

#include "attend/view/picture.h"
#include "view/drawing.h"

namespace attend::view {

// The example has a picture, and the item a box at least. `example` and `shaper` must outlive the drawing.
std::unique_ptr<Drawing> glimpse_path(const Example& example, const Item& item, const PictureOptions& options, const TextShaper& shaper);

}  // namespace attend::view
