#include "app/workbench/canvas/instruments/series_values.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/views/shared/plots/series.h"

namespace locus::workbench {

namespace {

std::optional<std::size_t> nearest_point(const figure::Curve& curve, double x) {
  std::optional<std::size_t> best;
  double low = x;
  double high = x;
  for (std::size_t n = 0; n < std::min(curve.x.size(), curve.y.size()); ++n) {
    if (!std::isfinite(curve.y[n])) {
      continue;
    }
    low = std::min(low, curve.x[n]);
    high = std::max(high, curve.x[n]);
    if (!best || std::abs(curve.x[n] - x) < std::abs(curve.x[*best] - x)) {
      best = n;
    }
  }
  // Before its first and behind its last point a curve has no value.
  return low < x && x < high ? best : best && curve.x[*best] == x ? best : std::nullopt;
}

double middle_of(const figure::Bars& bars, std::size_t n) {
  return (bars.edges[n] + bars.edges[n + 1]) / 2;
}

// The bar there; of bars that stand one a thing, with room between them, the one of the thing.
std::optional<std::size_t> bar_at(const figure::Bars& bars, double x, bool of_things) {
  std::optional<std::size_t> found;
  for (std::size_t n = 0; n < bars.heights.size() && n + 1 < bars.edges.size(); ++n) {
    if (of_things) {
      const bool own = std::floor(middle_of(bars, n)) == std::floor(x);
      found = own && (!found || std::abs(bars.heights[n]) > std::abs(bars.heights[*found])) ? n : found;
    } else if (x >= bars.edges[n] && x < bars.edges[n + 1]) {
      found = n;
    }
  }
  return found;
}

std::string interval_at(const figure::Curve& curve, std::size_t n) {
  const bool known =
      n < curve.low.size() && n < curve.high.size() && std::isfinite(curve.low[n]) && std::isfinite(curve.high[n]);
  return known ? " [" + views::short_number(curve.low[n]) + ", " + views::short_number(curve.high[n]) + "]" : "";
}

}  // namespace

std::vector<SeriesValue> values_at(const figure::Panel& panel, double x) {
  std::vector<SeriesValue> list;
  for (std::size_t n = 0; n < panel.layers.size(); ++n) {
    if (const auto* curve = std::get_if<figure::Curve>(&panel.layers[n]); curve != nullptr && !curve->name.empty()) {
      if (const auto at = nearest_point(*curve, x)) {
        list.push_back({curve->name, n, curve->x[*at], curve->y[*at], curve->drawn_y(*at), interval_at(*curve, *at)});
      }
    } else if (const auto* bars = std::get_if<figure::Bars>(&panel.layers[n]);
               bars != nullptr && !bars->name.empty() && bars->edges.size() > 1 && x >= bars->edges.front() &&
               x < bars->edges.back()) {
      if (const auto bar = bar_at(*bars, x, panel.x.cell_names != nullptr)) {
        list.push_back({bars->name.substr(0, bars->name.find(": ")), n, middle_of(*bars, *bar), bars->heights[*bar],
                        bars->heights[*bar]});
      }
    }
  }
  return list;
}

std::vector<double> places_of(const figure::Panel& panel) {
  std::vector<double> places;
  for (const figure::Layer& layer : panel.layers) {
    const auto* curve = std::get_if<figure::Curve>(&layer);
    const auto* bars = std::get_if<figure::Bars>(&layer);
    for (std::size_t n = 0; curve != nullptr && !curve->name.empty() && n < std::min(curve->x.size(), curve->y.size());
         ++n) {
      if (std::isfinite(curve->y[n])) {
        places.push_back(curve->x[n]);
      }
    }
    for (std::size_t n = 0; bars != nullptr && !bars->name.empty() && n + 1 < bars->edges.size(); ++n) {
      const double middle = middle_of(*bars, n);
      places.push_back(panel.x.cell_names != nullptr ? std::floor(middle) + 0.5 : middle);
    }
  }
  std::ranges::sort(places);
  const auto [first, last] = std::ranges::unique(places);
  places.erase(first, last);
  return places;
}

bool has_series(const figure::Panel& panel) {
  return std::ranges::any_of(panel.layers, [](const figure::Layer& layer) {
    const auto* curve = std::get_if<figure::Curve>(&layer);
    const auto* bars = std::get_if<figure::Bars>(&layer);
    return (curve != nullptr && !curve->name.empty()) || (bars != nullptr && !bars->name.empty());
  });
}

}  // namespace locus::workbench
