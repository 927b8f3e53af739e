#include "app/viewport/camera.h"

#include <algorithm>
#include <cmath>

namespace locus::viewport {

namespace {

constexpr double kSmallestView = 2;  // units along an axis

double length_of(const figure::Interval& interval) {
  return std::abs(interval.high - interval.low);
}

figure::Interval clamped(const figure::Interval& view, const figure::Interval& home) {
  const double home_low = std::min(home.low, home.high);
  const double home_high = std::max(home.low, home.high);
  const double smallest = std::min(kSmallestView, home_high - home_low);
  const double size = std::min(std::max(length_of(view), smallest), home_high - home_low);
  const double low = std::clamp(std::min(view.low, view.high), home_low, std::max(home_low, home_high - size));
  return home.low <= home.high ? figure::Interval{low, low + size} : figure::Interval{low + size, low};
}

figure::Interval scaled(const figure::Interval& view, double around, double factor) {
  return {around + (view.low - around) * factor, around + (view.high - around) * factor};
}

figure::Interval with_size(const figure::Interval& view, double size) {
  const double middle = (view.low + view.high) / 2;
  const double half = view.low <= view.high ? size / 2 : -size / 2;
  return {middle - half, middle + half};
}

}  // namespace

views::Camera clamped(const views::Camera& camera, const views::Camera& home) {
  return {clamped(camera.x, home.x), clamped(camera.y, home.y)};
}

views::Camera moved(const views::Camera& camera, double dx, double dy) {
  return {{camera.x.low + dx, camera.x.high + dx}, {camera.y.low + dy, camera.y.high + dy}};
}

views::Camera zoomed(const views::Camera& camera, const figure::Point& around, double factor) {
  const double limit = kSmallestView / std::max(1e-9, std::min(length_of(camera.x), length_of(camera.y)));
  const double allowed = std::max(factor, std::min(1.0, limit));
  return {scaled(camera.x, around.x, allowed), scaled(camera.y, around.y, allowed)};
}

views::Camera with_size(const views::Camera& camera, double width, double height) {
  return {with_size(camera.x, width), with_size(camera.y, height)};
}

}  // namespace locus::viewport
