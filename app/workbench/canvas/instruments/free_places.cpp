#include "app/workbench/canvas/instruments/free_places.h"

#include <algorithm>
#include <array>

namespace locus::workbench {

std::optional<figure::Rect> free_place(const figure::Point& size, const figure::Point& canvas, double pad,
                                       const std::vector<figure::Rect>& taken) {
  const double left = pad;
  const double right = canvas.x - pad - size.x;
  const double top = pad;
  const double middle = (canvas.y - size.y) / 2;
  const double bottom = canvas.y - pad - size.y;
  if (right < left || bottom < top) {
    return std::nullopt;
  }
  const std::array<figure::Point, 6> corners{
      {{left, bottom}, {right, bottom}, {left, middle}, {right, middle}, {left, top}, {right, top}}};
  for (const figure::Point& at : corners) {
    const figure::Rect place{at.x, at.y, size.x, size.y};
    if (std::ranges::none_of(taken, [&](const figure::Rect& other) { return !place.intersected(other).empty(); })) {
      return place;
    }
  }
  return std::nullopt;
}

figure::Rect place_or_corner(const figure::Point& size, const figure::Point& canvas, double pad,
                             const std::vector<figure::Rect>& taken) {
  return free_place(size, canvas, pad, taken)
      .value_or(
          figure::Rect{std::max(0.0, canvas.x - pad - size.x), std::max(0.0, canvas.y - pad - size.y), size.x, size.y});
}

}  // namespace locus::workbench
