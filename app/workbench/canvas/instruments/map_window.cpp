#include "app/workbench/canvas/instruments/map_window.h"

#include <algorithm>
#include <cmath>

namespace locus::workbench {

namespace {

double share_along(const figure::Interval& whole, double value) {
  const double length = whole.high - whole.low;
  return length == 0 ? 0 : (value - whole.low) / length;
}

// Centres an interval at a place, kept within the whole.
figure::Interval moved_to(const figure::Interval& whole, const figure::Interval& view, double middle) {
  const double half = (view.high - view.low) / 2;
  const double room = std::max(0.0, (std::abs(whole.high - whole.low) - 2 * std::abs(half)) / 2);
  const double home = (whole.low + whole.high) / 2;
  const double at = std::clamp(middle, home - room, home + room);
  return {at - half, at + half};
}

}  // namespace

bool is_zoomed(const views::Camera& home, const views::Camera& camera) {
  constexpr double kWhole = 0.995;
  const auto less = [](const figure::Interval& whole, const figure::Interval& view) {
    return std::abs(view.high - view.low) < kWhole * std::abs(whole.high - whole.low);
  };
  return less(home.x, camera.x) || less(home.y, camera.y);
}

figure::Rect visible_part(const views::Camera& home, const views::Camera& camera, const figure::Rect& picture) {
  const auto part = [](double a, double b) {
    return figure::Interval{std::clamp(std::min(a, b), 0.0, 1.0), std::clamp(std::max(a, b), 0.0, 1.0)};
  };
  const figure::Interval x = part(share_along(home.x, camera.x.low), share_along(home.x, camera.x.high));
  // An axis has its low end at the bottom.
  const figure::Interval y = part(1 - share_along(home.y, camera.y.low), 1 - share_along(home.y, camera.y.high));
  figure::Rect rect{picture.x + x.low * picture.width, picture.y + y.low * picture.height,
                    std::max(2.0, (x.high - x.low) * picture.width), std::max(2.0, (y.high - y.low) * picture.height)};
  rect.x = std::min(rect.x, picture.right() - rect.width);
  rect.y = std::min(rect.y, picture.bottom() - rect.height);
  return rect;
}

views::Camera centred_at(const views::Camera& home, const views::Camera& camera, const figure::Rect& picture,
                         const figure::Point& place) {
  const double across = (place.x - picture.x) / std::max(picture.width, 1.0);
  const double up = 1 - (place.y - picture.y) / std::max(picture.height, 1.0);
  return {moved_to(home.x, camera.x, home.x.low + across * (home.x.high - home.x.low)),
          moved_to(home.y, camera.y, home.y.low + up * (home.y.high - home.y.low))};
}

views::Camera shifted(const views::Camera& home, const views::Camera& camera, double across, double down) {
  const auto middle = [](const figure::Interval& view) { return (view.low + view.high) / 2; };
  return {moved_to(home.x, camera.x, middle(camera.x) + across * (camera.x.high - camera.x.low)),
          moved_to(home.y, camera.y, middle(camera.y) - down * (camera.y.high - camera.y.low))};
}

}  // namespace locus::workbench
