#include "app/workbench/canvas/instruments/free_places.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace locus::workbench {

namespace {

// Where the upper left corner of a place of that size may be.
struct Edges {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;

  bool hold() const { return right >= left && bottom >= top; }
};

Edges edges_of(const figure::Point& size, const figure::Point& canvas, double pad) {
  return {pad, canvas.x - pad - size.x, pad, canvas.y - pad - size.y};
}

// The corners and the middles of the sides, the best first.
std::vector<figure::Rect> usual_places(const figure::Point& size, const figure::Point& canvas, const Edges& edges) {
  std::vector<figure::Rect> places;
  for (const double y : {edges.bottom, (canvas.y - size.y) / 2, edges.top}) {
    places.push_back({edges.left, y, size.x, size.y});
    places.push_back({edges.right, y, size.x, size.y});
  }
  return places;
}

// The largest start in [low, high] at which a segment of that length keeps `gap` to every span; empty: none does.
std::optional<double> last_start(std::vector<std::pair<double, double>> spans, double low, double high, double length,
                                 double gap) {
  std::ranges::sort(spans, std::ranges::greater(), &std::pair<double, double>::second);
  double start = high;
  for (const auto& [begin, end] : spans) {
    if (begin < start + length + gap && end + gap > start) {
      start = begin - gap - length;
    }
  }
  return start >= low ? std::optional(start) : std::nullopt;
}

// Along the left and the right edge, the lower first; then along the lower and the upper one.
std::optional<figure::Rect> place_along(const figure::Point& size, const Edges& edges, double gap,
                                        const std::vector<figure::Rect>& taken) {
  std::optional<figure::Rect> best;
  for (const double x : {edges.left, edges.right}) {
    std::vector<std::pair<double, double>> spans;
    for (const figure::Rect& each : taken) {
      if (!each.empty() && each.x < x + size.x && each.right() > x) {
        spans.emplace_back(each.y, each.bottom());
      }
    }
    const auto y = last_start(std::move(spans), edges.top, edges.bottom, size.y, gap);
    if (y && (!best || *y > best->y)) {
      best = figure::Rect{x, *y, size.x, size.y};
    }
  }
  for (const double y : {edges.bottom, edges.top}) {
    std::vector<std::pair<double, double>> spans;
    for (const figure::Rect& each : taken) {
      if (!each.empty() && each.y < y + size.y && each.bottom() > y) {
        spans.emplace_back(each.x, each.right());
      }
    }
    const auto x = best ? std::nullopt : last_start(std::move(spans), edges.left, edges.right, size.x, gap);
    if (x) {
      best = figure::Rect{*x, y, size.x, size.y};
    }
  }
  return best;
}

// How much of `taken` a place covers, each rectangle as a share of itself: hiding a corner of a plot is better than
// hiding a whole label.
double covered(const figure::Rect& place, const std::vector<figure::Rect>& taken) {
  double shares = 0;
  for (const figure::Rect& other : taken) {
    const figure::Rect both = place.intersected(other);
    shares += both.empty() ? 0 : both.width * both.height / (other.width * other.height);
  }
  return shares;
}

}  // namespace

std::optional<figure::Rect> free_place(const figure::Point& size, const figure::Point& canvas, double pad,
                                       const std::vector<figure::Rect>& taken) {
  const Edges edges = edges_of(size, canvas, pad);
  if (!edges.hold()) {
    return std::nullopt;
  }
  for (const figure::Rect& place : usual_places(size, canvas, edges)) {
    if (covered(place, taken) == 0) {
      return place;
    }
  }
  return place_along(size, edges, pad / 2, taken);
}

figure::Rect place_or_corner(const figure::Point& size, const figure::Point& canvas, double pad,
                             const std::vector<figure::Rect>& taken) {
  const Edges edges = edges_of(size, canvas, pad);
  if (const auto place = free_place(size, canvas, pad, taken)) {
    return *place;
  }
  std::vector<figure::Rect> places{{std::max(0.0, edges.right), std::max(0.0, edges.bottom), size.x, size.y}};
  if (edges.hold()) {
    places = usual_places(size, canvas, edges);
    // The corners of much larger rectangles, the upper right one first: a causal map is empty there.
    for (std::size_t n = taken.size(); n-- > 0;) {
      const figure::Rect& each = taken[n];
      if (each.width > 2 * size.x && each.height > 2 * size.y) {
        for (const double y : {each.y + pad, each.bottom() - pad - size.y}) {
          places.push_back({each.right() - pad - size.x, y, size.x, size.y});
          places.push_back({each.x + pad, y, size.x, size.y});
        }
      }
    }
    for (const figure::Rect& each : taken) {  // directly above and below each
      for (const double x : {edges.left, edges.right}) {
        places.push_back({x, std::clamp(each.y - size.y, edges.top, edges.bottom), size.x, size.y});
        places.push_back({x, std::clamp(each.bottom(), edges.top, edges.bottom), size.x, size.y});
      }
    }
  }
  return *std::ranges::min_element(places, {}, [&](const figure::Rect& place) { return covered(place, taken); });
}

}  // namespace locus::workbench
