// Axes that count other tokens than the camera.
#include <algorithm>
#include <cmath>

#include "renderers/figure/figure.h"

namespace locus::figure {

namespace {

constexpr double kLeastView = 0.25;  // of a cell

// The slope of the whole table, which goes on beyond its ends.
double slope_of(const std::vector<double>& table) {
  const double rise = table.back() - table.front();
  return rise > 0 ? rise / static_cast<double>(table.size() - 1) : 1;
}

}  // namespace

double from_camera(const Axis& axis, double camera) {
  if (axis.of_camera == nullptr) {
    return camera;
  }
  const std::vector<double>& table = *axis.of_camera;
  const auto last = static_cast<double>(table.size() - 1);
  if (camera <= 0 || camera >= last) {
    return camera <= 0 ? table.front() + camera * slope_of(table) : table.back() + (camera - last) * slope_of(table);
  }
  const double whole = std::floor(camera);
  const auto n = static_cast<std::size_t>(whole);
  return table[n] + (table[n + 1] - table[n]) * (camera - whole);
}

double to_camera(const Axis& axis, double own) {
  if (axis.of_camera == nullptr) {
    return own;
  }
  const std::vector<double>& table = *axis.of_camera;
  const auto last = static_cast<double>(table.size() - 1);
  if (own <= table.front() || own >= table.back()) {
    return own <= table.front() ? (own - table.front()) / slope_of(table)
                                : last + (own - table.back()) / slope_of(table);
  }
  const auto above = std::upper_bound(table.begin(), table.end(), own);
  const double before = *(above - 1);
  return static_cast<double>(above - table.begin() - 1) + (own - before) / (*above - before);
}

Interval from_camera(const Axis& axis, const Interval& camera) {
  if (axis.of_camera == nullptr) {
    return camera;
  }
  Interval own{from_camera(axis, camera.low), from_camera(axis, camera.high)};
  if (std::abs(own.high - own.low) < kLeastView) {
    const double middle = (own.low + own.high) / 2;
    const double half = camera.low <= camera.high ? kLeastView / 2 : -kLeastView / 2;
    own = {middle - half, middle + half};
  }
  return own;
}

}  // namespace locus::figure
