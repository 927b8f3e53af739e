// The values of all curves and histograms of a plot at one place of its horizontal axis.
#pragma once

#include <string>
#include <vector>

#include "renderers/figure/figure.h"

namespace locus::workbench {

struct SeriesValue {
  std::string name;
  std::size_t layer = 0;  // of the panel
  double x = 0;           // of the nearest point, or the middle of the bar
  double y = 0;
  double drawn_y = 0;      // where it stands: higher in a stacked area
  std::string interval{};  // " [0.22, 0.28]", the ends of its band; empty: it has none
};

// Of each named curve its nearest point that has a value, of each named histogram the bar that is there; none of those
// that end before.
std::vector<SeriesValue> values_at(const figure::Panel& panel, double x);
// The places where any of its series has a value, from the left.
std::vector<double> places_of(const figure::Panel& panel);
bool has_series(const figure::Panel& panel);

}  // namespace locus::workbench
