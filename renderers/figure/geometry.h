// Places on a canvas: x to the right, y down, in canvas units (px on a screen, pt on paper).
#pragma once

#include <algorithm>

namespace locus::figure {

struct Point {
  double x = 0;
  double y = 0;
};

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
  double center_x() const { return x + width / 2; }
  double center_y() const { return y + height / 2; }
  bool empty() const { return !(width > 0 && height > 0); }
  bool contains(double px, double py) const { return px >= x && px < right() && py >= y && py < bottom(); }
  Rect grown(double by) const { return {x - by, y - by, width + 2 * by, height + 2 * by}; }
  Rect intersected(const Rect& other) const {
    const double left = std::max(x, other.x);
    const double top = std::max(y, other.y);
    return {left, top, std::max(0.0, std::min(right(), other.right()) - left),
            std::max(0.0, std::min(bottom(), other.bottom()) - top)};
  }
};

}  // namespace locus::figure
