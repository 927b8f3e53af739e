// Where there is room on the canvas: for the box at the pointer, and for a line that says what the figure shows.
#pragma once

#include <optional>
#include <vector>

#include "renderers/figure/geometry.h"
#include "renderers/figure/layout.h"

namespace locus::viewport {

// The place of a box of that size beside a point, right below it where it can be: within the first of the areas that
// holds it without covering the point, which the last one may do. Areas are not empty.
figure::Rect box_beside(const figure::Point& at, const figure::Point& size, const std::vector<figure::Rect>& areas);

// What is free beside everything that is drawn, over the canvas's whole height; empty where there is nothing.
struct Margins {
  figure::Rect left;
  figure::Rect right;
};
Margins free_margins(const figure::Layout& layout, const figure::TextMetrics& metrics);

// A text that is to stand in a margin, and else below the figure.
struct PlacedCaption {
  figure::Rect area;
  std::vector<std::string> lines;
  double size = 0;     // of its type
  bool below = false;  // the figure gives it room
};
// In the wider margin that holds it in a few lines, below `top`; none where neither does.
std::optional<PlacedCaption> caption_in_margins(const std::string& text, double size, const figure::Layout& layout,
                                                const figure::TextMetrics& metrics, double top = 0);
// Along the canvas's lower edge, in as few lines as its width allows.
PlacedCaption caption_below(const std::string& text, double size, double width, double height,
                            const figure::TextMetrics& metrics);

// In one line at the canvas's upper left, over its whole width.
PlacedCaption statement_above(const std::string& text, double size, double width, const figure::TextMetrics& metrics);
// The rectangles of all texts of the figure.
std::vector<figure::Rect> text_places(const figure::Layout& layout, const figure::TextMetrics& metrics);
// The top of a box that covers as few of those texts as it can at its x, as near as can be to its own, on a canvas of
// that height.
double clear_top(const figure::Rect& box, double height, const std::vector<figure::Rect>& texts);
// The rectangles of everything that the figure draws: plots, colour bars, texts, legends.
std::vector<figure::Rect> drawn_places(const figure::Layout& layout, const figure::TextMetrics& metrics);
// Everything `by` lower, on a canvas so much higher.
figure::Layout moved_down(figure::Layout layout, double by);

}  // namespace locus::viewport
