// The values of all curves and histograms of a plot at one place of its x axis.
#pragma once

#include <string>
#include <vector>

#include "renderers/figure/figure.h"

namespace locus::workbench {

struct SeriesValue {
  std::string name;
  std::size_t layer = 0;  // index in the panel
  double x = 0;           // of the nearest point, or the middle of the bar
  double y = 0;
  double drawn_y = 0;      // where it is drawn: higher in a stacked area
  std::string interval{};  // " [0.22, 0.28]", its band; empty: none
};

// For each named curve its nearest point with a value, for each named histogram the bar at x; series that end before x
// are left out.
std::vector<SeriesValue> values_at(const figure::Panel& panel, double x);
// The x of all points with a value, in increasing order.
std::vector<double> places_of(const figure::Panel& panel);
bool has_series(const figure::Panel& panel);

}  // namespace locus::workbench
