// Ticks: round numbers on an axis or a colour bar, as many as fit without touching.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "renderers/figure/color_scale.h"
#include "renderers/figure/figure.h"

namespace locus::figure {

struct Tick {
  double value = 0;   // number in the label
  double at = 0;      // where it is drawn, in data units (the middle of the cell on an axis of cells)
  std::string label;  // empty: a minor tick
  bool mark = true;   // has a line; false: a name that stands between two
};

// How much room labels need along the axis: the room of one label (its width, or a line's height), in canvas units.
using LabelRoom = std::function<double(const std::string& label)>;

// The axis of the ticks. `length` is the axis in canvas units; `room` of neighbouring labels never overlaps.
struct TickRequest {
  Interval view;
  double length = 0;
  LabelRoom room;
  bool logarithmic = false;
  double log_base = 10;
  bool cells = false;  // integers only, drawn in the middle of their cell
  bool whole = false;  // integers only
};

// Steps of 1, 2, 5 × 10^n (logarithmic: powers of the base, with 2 and 5 between decades where there is room).
std::vector<Tick> make_ticks(const TickRequest& request);

// Ticks of a colour bar of `length`; `at` is t in [0, 1] along the bar.
std::vector<Tick> color_bar_ticks(const ColorScale& scale, double length, const LabelRoom& room);

// "0.25", "−1,500", "65,536", "2×10⁻⁵": `value` as shown at a tick spacing of `step`.
std::string tick_label(double value, double step);

}  // namespace locus::figure
