#include "attend/view/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/data/unicode.h"
#include "attend/view/panels.h"

namespace attend::view {
namespace {

// The characters that a map is drawn with. A cell is a shade twice, or once and the mark of the largest weight.
struct DrawingCharacters {
  std::array<std::string_view, 5> shades;
  std::string_view mark, nothing, ellipsis, side, line;
  std::array<std::string_view, 4> corners;
};

constexpr DrawingCharacters unicode_characters{{" ", "░", "▒", "▓", "█"}, "◂", "·", "…", "│", "─", {"┌", "┐", "└", "┘"}};
constexpr DrawingCharacters ascii_characters{{" ", ".", "+", "#", "@"}, "<", ".", "..", "|", "-", {"+", "+", "+", "+"}};

// From which part of the full scale on a shade is used.
constexpr std::array<double, 5> shade_thresholds{0, 0.05, 0.25, 0.5, 0.75};

constexpr int shade_columns = 2, number_columns = 3;
constexpr int numbers_cell_least = 1 + shade_columns + number_columns;
constexpr int horizontal_label_most = 12;
// The number at the end of a row: a space, three digits, a space, then the token.
constexpr int trailer_columns = 2 + number_columns;

// Weights are painted in tenths, as the legend shows them: a terminal has too few colours for more.
constexpr int paint_steps = 10;

struct TerminalPaint {
  int surface = 0, ink = 0;
};

// Everything that was decided before drawing.
struct TextLayout {
  const TextOptions& options;
  const DrawingCharacters& characters;
  const Panels& panels;
  double full_scale;
  std::vector<std::string> row_labels = {}, column_labels = {};  // safe to print, elided
  int row_label_width = 0, column_label_width = 0;
  bool numbers = false;
  int cell_width = shade_columns;
  std::int64_t columns_in_a_block = 1;
  std::array<TerminalPaint, paint_steps + 1> paints = {};  // with colour only
  TerminalPaint missing_paint = {};
};

std::string repeated(std::string_view text, std::int64_t times) {
  std::string result;
  for (std::int64_t i = 0; i < times; ++i) result += text;
  return result;
}

std::string spaces(std::int64_t count) { return std::string(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), ' '); }

// At most `columns` wide, the end cut off where it is longer.
std::string elided(const std::string& text, int columns, std::string_view ellipsis) {
  if (data::display_width(text) <= columns) return text;
  const int room = columns - data::display_width(ellipsis);
  std::string result;
  int used = 0;
  for (const std::string& grapheme : data::graphemes(text)) {
    used += data::display_width(grapheme);
    if (used > room) break;
    result += grapheme;
  }
  return result + std::string(ellipsis);
}

std::string printable(const std::string& token, Charset charset) {
  if (charset == Charset::unicode) return printable_token(token);
  return is_blank_token(token) ? std::string(token.size(), '_') : data::escape_to_ascii(token);
}

// Keeps a label apart from its neighbours: from right-to-left text, which a terminal would reorder together with it, and from pictures and
// flags that it would be joined with.
std::string kept_apart(const std::string& label) {
  constexpr std::string_view left_to_right_mark = "\xE2\x80\x8E", joiner = "\xE2\x80\x8D", regional_indicator = "\xF0\x9F\x87";
  const bool joins = label.ends_with(joiner) || label.find(regional_indicator) != std::string::npos;
  if (!joins && !data::has_right_to_left(label)) return label;
  return std::string(left_to_right_mark) + label + std::string(left_to_right_mark);
}

std::string padded_left(const std::string& label, int columns) { return spaces(columns - data::display_width(label)) + kept_apart(label); }

std::string padded_right(const std::string& label, int columns) { return kept_apart(label) + spaces(columns - data::display_width(label)); }

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

int widest(const std::vector<std::string>& labels) {
  int width = 0;
  for (const std::string& label : labels) width = std::max(width, data::display_width(label));
  return width;
}

std::vector<std::string> printable_labels(const std::vector<std::string>& tokens, int width, const TextLayout& layout) {
  std::vector<std::string> labels;
  for (const std::string& token : tokens) {
    labels.push_back(elided(printable(token, layout.options.charset), width, layout.characters.ellipsis));
  }
  return labels;
}

void check_text_options(const TextOptions& options) {
  if (options.width < 20) throw InvalidArgument(format("expected a width of at least 20 columns, got {}", options.width));
  if (options.label_width < 2) throw InvalidArgument(format("expected a label width of at least 2 columns, got {}", options.label_width));
  if (!(options.full_scale >= 0) || std::isinf(options.full_scale)) {
    throw InvalidArgument(format("expected a full scale of 0 or more, got {}", options.full_scale));
  }
}

// Chooses the kind of cell and how many columns stand side by side.
void choose_cells(TextLayout& layout) {
  const TextOptions& options = layout.options;
  const auto columns = static_cast<std::int64_t>(layout.column_labels.size());
  const int frame = layout.row_label_width + (layout.row_label_width > 0 ? 1 : 0) + 2;
  const int numbers_width = std::clamp(layout.column_label_width + 1, numbers_cell_least, horizontal_label_most + 1);
  const bool numbers_fit = frame + columns * numbers_width <= options.width;
  layout.numbers = options.cells == Cells::numbers || (options.cells == Cells::automatic && numbers_fit);
  layout.cell_width = layout.numbers ? numbers_width : shade_columns;
  const int trailer = layout.numbers ? 0 : trailer_columns + layout.column_label_width;
  layout.columns_in_a_block = std::max<std::int64_t>(1, (options.width - frame - trailer) / layout.cell_width);
}

TerminalPaint paint_of(Colour surface) { return {terminal_colour(surface), terminal_colour(text_colour_on(surface))}; }

void mix_paints(TextLayout& layout) {
  const Background background = layout.options.background;
  layout.missing_paint = paint_of(missing_colour(background));
  for (int i = 0; i <= paint_steps; ++i) {
    layout.paints[static_cast<std::size_t>(i)] = paint_of(heat_map_colour(static_cast<double>(i) / paint_steps, background));
  }
}

TextLayout lay_out(const Panels& panels, const Item& item, const TextOptions& options) {
  const double scale = options.full_scale > 0 ? options.full_scale : largest_weight(item);
  const DrawingCharacters& characters = options.charset == Charset::ascii ? ascii_characters : unicode_characters;
  TextLayout layout{options, characters, panels, scale > 0 ? scale : 1};
  // In a narrow terminal labels must leave room for the map.
  const int label_most = std::max(2, std::min(options.label_width, options.width / 4));
  layout.row_labels = printable_labels(panels.row_labels, label_most, layout);
  layout.column_labels = printable_labels(panels.column_labels, label_most, layout);
  layout.row_label_width = widest(layout.row_labels);
  layout.column_label_width = widest(layout.column_labels);
  choose_cells(layout);
  if (options.colour) mix_paints(layout);
  return layout;
}

std::string painted(const std::string& text, TerminalPaint paint, bool bold) {
  return format("\x1B[{}48;5;{};38;5;{}m{}\x1B[0m", bold ? "1;" : "", paint.surface, paint.ink, text);
}

TerminalPaint cell_paint(const TextLayout& layout, double part) {
  if (std::isnan(part)) return layout.missing_paint;
  return layout.paints[static_cast<std::size_t>(std::lround(std::clamp(part, 0.0, 1.0) * paint_steps))];
}

std::string_view shade_of(double part, const DrawingCharacters& characters) {
  std::size_t level = shade_thresholds.size() - 1;
  while (level > 0 && !(part >= shade_thresholds[level])) --level;
  return characters.shades[level];
}

// Three columns at most.
std::string percent_text(float weight, const DrawingCharacters& characters) {
  if (std::isnan(weight)) return "??";
  const double percent = std::round(100.0 * weight);
  if (percent > 999) return ">>>";
  if (percent < -99) return "<<<";
  if (percent == 0) return std::string(characters.nothing);
  return format("{:.0f}", percent);
}

std::string cell_text(const TextLayout& layout, float weight, bool is_strongest) {
  const DrawingCharacters& characters = layout.characters;
  const double part = weight / layout.full_scale;
  const std::string_view shade = layout.options.colour || std::isnan(weight) ? " " : shade_of(part, characters);
  std::string text = std::string(shade) + std::string(is_strongest ? characters.mark : shade);
  if (layout.numbers) {
    const std::string number = padded_left(percent_text(weight, characters), number_columns);
    text = spaces(layout.cell_width - shade_columns - number_columns) + text + number;
  } else if (std::isnan(weight)) {
    text = percent_text(weight, characters);
  }
  return layout.options.colour ? painted(text, cell_paint(layout, part), is_strongest) : text;
}

// The largest weight of a row and the token that it lies on.
std::string row_trailer(const TextLayout& layout, std::span<const float> row, std::int64_t strongest) {
  const auto place = static_cast<std::size_t>(strongest);
  return " " + padded_left(percent_text(row[place], layout.characters), number_columns) + " " + kept_apart(layout.column_labels[place]);
}

// The labels of columns [begin, end), one above each cell: side by side where numbers give room, else written downwards.
std::string column_heads(const TextLayout& layout, std::int64_t begin, std::int64_t end) {
  const int indent = layout.row_label_width + (layout.row_label_width > 0 ? 1 : 0) + 1;
  const auto label_at = [&](std::int64_t i) { return layout.column_labels[static_cast<std::size_t>(i)]; };
  if (layout.numbers) {
    std::string line = spaces(indent);
    for (std::int64_t i = begin; i < end; ++i) {
      line += padded_left(elided(label_at(i), layout.cell_width - 1, layout.characters.ellipsis), layout.cell_width);
    }
    return without_trailing_spaces(line) + "\n";
  }
  std::vector<std::vector<std::string>> downwards;
  std::size_t height = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    downwards.push_back(data::graphemes(label_at(i)));
    height = std::max(height, downwards.back().size());
  }
  std::string lines;
  for (std::size_t y = 0; y < height; ++y) {
    std::string line = spaces(indent);
    for (const auto& label : downwards) {
      const std::size_t above = height - label.size();
      line += padded_right(y < above ? std::string() : label[y - above], layout.cell_width);
    }
    lines += without_trailing_spaces(line) + "\n";
  }
  return lines;
}

std::string frame_line(const TextLayout& layout, std::int64_t cells, std::size_t corner) {
  const DrawingCharacters& characters = layout.characters;
  return spaces(layout.row_label_width + (layout.row_label_width > 0 ? 1 : 0)) + std::string(characters.corners[corner]) +
         repeated(characters.line, cells * layout.cell_width) + std::string(characters.corners[corner + 1]) + "\n";
}

std::string block_text(const TextLayout& layout, const Panel& panel, std::int64_t begin, std::int64_t end) {
  std::string text = column_heads(layout, begin, end) + frame_line(layout, end - begin, 0);
  const auto columns = static_cast<std::size_t>(layout.panels.columns());
  for (std::size_t y = 0; y < layout.row_labels.size(); ++y) {
    const auto row = panel.weights.subspan(y * columns, columns);
    const std::optional<std::int64_t> strongest = strongest_column(row);
    std::string line;
    if (layout.row_label_width > 0) line = padded_left(layout.row_labels[y], layout.row_label_width) + " ";
    line += layout.characters.side;
    for (std::int64_t i = begin; i < end; ++i) line += cell_text(layout, row[static_cast<std::size_t>(i)], strongest == i);
    line += layout.characters.side;
    const bool has_strongest = strongest && *strongest >= begin && *strongest < end;
    if (has_strongest && !layout.numbers) line += row_trailer(layout, row, *strongest);
    text += without_trailing_spaces(line) + "\n";
  }
  return text + frame_line(layout, end - begin, 2);
}

// A heading that is too long goes on in further lines, cut anywhere.
std::string heading_lines(const std::string& heading, const TextLayout& layout) {
  std::string lines;
  int used = 0;
  for (const std::string& grapheme : data::graphemes(printable(heading, layout.options.charset))) {
    const int width = data::display_width(grapheme);
    if (used + width > layout.options.width) lines += "\n", used = 0;
    lines += grapheme;
    used += width;
  }
  return lines + "\n";
}

std::string panel_text(const TextLayout& layout, const Panel& panel) {
  std::string text;
  const std::int64_t columns = layout.panels.columns(), step = layout.columns_in_a_block;
  for (std::int64_t begin = 0; begin < columns; begin += step) {
    const std::int64_t end = std::min(columns, begin + step);
    std::string heading = layout.panels.title + (panel.heading.empty() ? "" : ", " + panel.heading);
    if (step < columns) heading += format(", columns {} to {} of {}", begin + 1, end, columns);
    text += heading_lines(heading, layout) + block_text(layout, panel, begin, end) + "\n";
  }
  return text;
}

// The parts of a legend side by side, over as many lines as the width asks for; painted from the second on where there are paints.
std::string flowing_lines(const std::vector<std::string>& parts, const std::vector<TerminalPaint>& paints, const TextLayout& layout) {
  std::string lines;
  int used = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int width = data::display_width(parts[i]);
    if (used > 0 && used + 2 + width > layout.options.width) lines += "\n", used = 0;
    lines += used > 0 ? "  " : "";
    used += width + (used > 0 ? 2 : 0);
    lines += i > 0 && i < paints.size() ? painted(parts[i], paints[i], false) : parts[i];
  }
  return lines + "\n";
}

std::string legend_text(const TextLayout& layout) {
  const DrawingCharacters& characters = layout.characters;
  std::vector<std::string> about, scale{"percent:"};
  if (!layout.panels.row_axis.empty()) about.push_back("rows: " + printable(layout.panels.row_axis, layout.options.charset));
  about.push_back("columns: " + printable(layout.panels.column_axis, layout.options.charset));
  about.push_back(std::string(characters.mark) + " largest of its row");
  const auto percent = [&](double part) { return format("{:.3g}", 100 * part * layout.full_scale); };
  if (!layout.options.colour) {
    for (std::size_t level = 1; level < shade_thresholds.size(); ++level) {
      scale.push_back(repeated(characters.shades[level], shade_columns) + " " + percent(shade_thresholds[level]) + "+");
    }
    return flowing_lines(about, {}, layout) + flowing_lines(scale, {}, layout);
  }
  std::vector<TerminalPaint> paints{{}};
  for (int i = 0; i <= paint_steps; i += 2) {
    const double part = static_cast<double>(i) / paint_steps;
    scale.push_back(" " + percent(part) + " ");
    paints.push_back(cell_paint(layout, part));
  }
  return flowing_lines(about, {}, layout) + flowing_lines(scale, paints, layout);
}

}  // namespace

std::string heat_map_text(const Example& example, const Item& item, const TextOptions& options) {
  check_text_options(options);
  const Panels panels = panels_of(example, item);
  const TextLayout layout = lay_out(panels, item, options);
  if (panels.is_empty()) {
    const std::string rows = panels.row_axis.empty() ? "" : format("{} {}, ", panels.rows(), panels.row_axis);
    return heading_lines(format("{}: nothing to show ({}{} {})", panels.title, rows, panels.columns(), panels.column_axis), layout);
  }
  std::string text;
  for (const Panel& panel : panels.panels) text += panel_text(layout, panel);
  return text + legend_text(layout);
}

}  // namespace attend::view
