// A page with a title, panels in a grid, and the bar that explains their colours: what heat maps and maps over a picture share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attend/view/panels.h"
#include "attend/view/picture.h"
#include "view/drawing.h"

namespace attend::view {

inline constexpr double panel_gap = 18;
// What all panels together may take of the page in one direction.
inline constexpr double grid_extent_most = 2800;
// Headings of narrow panels get that much.
inline constexpr double heading_least = 60;

// In points.
struct PanelPage {
  Panels panels;
  PictureOptions options;
  std::function<Colour(double)> colour_of;  // a part of the full scale, or NaN
  double full_scale = 1;
  bool has_nan = false;
  std::int64_t grid_columns = 1, grid_rows = 1;
  PictureLabel title;
  std::vector<PictureLabel> headings;
  double map_width = 0, map_height = 0;                 // of the map in a panel
  double before_map = 0, above_map = 0, after_map = 0;  // room for what stands around it
  double heading_height = 0, grid_left = 0, grid_top = 0;
  double width = 0, height = 0;

  double panel_width() const { return before_map + map_width + after_map; }
  double panel_height() const { return heading_height + above_map + map_height; }
  double grid_width() const { return static_cast<double>(grid_columns) * (panel_width() + panel_gap) - panel_gap; }
  double grid_height() const { return static_cast<double>(grid_rows) * (panel_height() + panel_gap) - panel_gap; }
};

// `default_scale`: the weight of the strongest colour where the options name none; 0: the largest of the item.
void begin_page(PanelPage& page, const Example& example, const Item& item, const PictureOptions& options, double default_scale);

// Chooses the grid for panels of about this size.
void choose_grid(PanelPage& page, double panel_width, double panel_height);

void shape_title(PanelPage& page, const TextShaper& shaper);
void shape_headings(PanelPage& page, const TextShaper& shaper);

// From the top: title, `room_above`, the grid, the bar. On the left: `room_left`. Whole points, so that maps begin at pixels.
void place_on_page(PanelPage& page, double room_left, double room_above);

// The paper and the title, and that there is nothing to show where there is no panel.
void paint_paper(cairo_t* context, const PanelPage& page, const TextShaper& shaper);

// Moves to the upper left corner of a panel's map, and writes its heading on the way.
void enter_panel(cairo_t* context, const PanelPage& page, std::size_t number);

// Weights near 0 have nearly the paper's colour: the frame shows where the map ends.
void paint_frame(cairo_t* context, const PanelPage& page, double map_width, double map_height);

// The bar that says which colour means which weight, under the first panel.
void paint_bar(cairo_t* context, const PanelPage& page, const TextShaper& shaper);

}  // namespace attend::view
