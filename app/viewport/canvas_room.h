// Finds room on the canvas for the tooltip, the caption and the statement.
#pragma once

#include <optional>
#include <vector>

#include "renderers/figure/geometry.h"
#include "renderers/figure/layout.h"

namespace locus::viewport {

// Places a box of that size beside a point, preferably to the lower right: within the first area that holds it without
// covering the point (the last area may cover it). `areas` is not empty.
figure::Rect box_beside(const figure::Point& at, const figure::Point& size, const std::vector<figure::Rect>& areas);

// Free columns beside everything drawn, over the full height of the canvas; empty: none.
struct Margins {
  figure::Rect left;
  figure::Rect right;
};
Margins free_margins(const figure::Layout& layout, const figure::TextMetrics& metrics);

// A text placed in a margin or below the figure.
struct PlacedCaption {
  figure::Rect area;
  std::vector<std::string> lines;
  double size = 0;     // text size
  bool below = false;  // the figure was made smaller for it
};
// Places a text in the wider margin that holds it in a few lines, below `top`; empty: neither does.
std::optional<PlacedCaption> caption_in_margins(const std::string& text, double size, const figure::Layout& layout,
                                                const figure::TextMetrics& metrics, double top = 0);
// Places a text along the lower edge, in as few lines as the width allows.
PlacedCaption caption_below(const std::string& text, double size, double width, double height,
                            const figure::TextMetrics& metrics);

// Places a text in one line at the upper left, up to the full width.
PlacedCaption statement_above(const std::string& text, double size, double width, const figure::TextMetrics& metrics);
// Rectangles of all texts of the figure.
std::vector<figure::Rect> text_places(const figure::Layout& layout, const figure::TextMetrics& metrics);
// The top at which a box covers the fewest of those texts, as near as possible to its present one, on a canvas of that
// height.
double clear_top(const figure::Rect& box, double height, const std::vector<figure::Rect>& texts);
// Rectangles of everything the figure draws: plots, colour bars, texts, legends.
std::vector<figure::Rect> drawn_places(const figure::Layout& layout, const figure::TextMetrics& metrics);
// The layout moved down by `by`, on a canvas higher by as much.
figure::Layout moved_down(figure::Layout layout, double by);

}  // namespace locus::viewport
