// Labels beside the ticks of an axis: numbers, names of cells, or words.
#pragma once

#include <vector>

#include "renderers/figure/figure.h"
#include "renderers/figure/style.h"
#include "renderers/figure/text_metrics.h"
#include "renderers/figure/ticks.h"

namespace locus::figure {

inline constexpr double kMaxTicks = 9;  // on an axis, however long: more are not read

// Tick labels of one axis, ready to be placed.
struct AxisLabels {
  std::vector<Tick> ticks;
  double size = 0;        // of the text
  bool vertical = false;  // token names below a narrow cell
  double depth = 0;       // the room they take across the axis
};

// The labels of the panel's x or y axis, `length` long.
AxisLabels axis_labels(const Panel& panel, bool along_x, double length, const Style& style, const TextMetrics& metrics);

// Whether a map of whole cells is drawn along x (or y): its ticks then name cells.
bool counts_cells(const Panel& panel, bool along_x);

// The width of the widest, in type of this size.
double widest(const std::vector<Tick>& ticks, double size, const TextMetrics& metrics);

}  // namespace locus::figure
