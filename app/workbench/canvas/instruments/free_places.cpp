#include "app/workbench/canvas/instruments/free_places.h"

#include <algorithm>

namespace locus::workbench {

namespace {

// Places along the canvas's edge, the best first; none where it is too small.
std::vector<figure::Rect> edge_places(const figure::Point& size, const figure::Point& canvas, double pad) {
  const double left = pad;
  const double right = canvas.x - pad - size.x;
  const double top = pad;
  const double middle = (canvas.y - size.y) / 2;
  const double bottom = canvas.y - pad - size.y;
  if (right < left || bottom < top) {
    return {};
  }
  std::vector<figure::Rect> places;
  for (const double y : {bottom, middle, top}) {
    places.push_back({left, y, size.x, size.y});
    places.push_back({right, y, size.x, size.y});
  }
  return places;
}

double covered(const figure::Rect& place, const std::vector<figure::Rect>& taken) {
  double area = 0;
  for (const figure::Rect& other : taken) {
    const figure::Rect both = place.intersected(other);
    area += both.empty() ? 0 : both.width * both.height;
  }
  return area;
}

}  // namespace

std::optional<figure::Rect> free_place(const figure::Point& size, const figure::Point& canvas, double pad,
                                       const std::vector<figure::Rect>& taken) {
  for (const figure::Rect& place : edge_places(size, canvas, pad)) {
    if (covered(place, taken) == 0) {
      return place;
    }
  }
  return std::nullopt;
}

figure::Rect place_or_corner(const figure::Point& size, const figure::Point& canvas, double pad,
                             const std::vector<figure::Rect>& taken) {
  const std::vector<figure::Rect> places = edge_places(size, canvas, pad);
  if (places.empty()) {
    return {std::max(0.0, canvas.x - pad - size.x), std::max(0.0, canvas.y - pad - size.y), size.x, size.y};
  }
  return *std::ranges::min_element(places, {}, [&](const figure::Rect& place) { return covered(place, taken); });
}

}  // namespace locus::workbench
