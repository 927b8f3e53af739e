#include "renderers/figure/layer_marks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace locus::figure {
namespace {

constexpr double kUsualSize = 8;
constexpr double kRing = 1.5;  // its width
constexpr double kEdge = 1.5;  // how much larger what lies below a disc or ring is
constexpr double kPale = 0.25;
constexpr double kEdgeOpacity = 0.6;

struct Canvas {
  const PanelLayout& place;
  const Style& style;
  MarkList& marks;
  std::vector<Rect> taken{};  // by points and names so far

  double unit() const { return style.text_size / 12; }  // of a px, as curve_width() has it
};

template <class T>
bool is_set(const std::vector<T>& flags, std::size_t n) {
  return n < flags.size() && flags[n] != 0;
}

double size_of(const Points& points, std::size_t n, const Canvas& canvas) {
  return canvas.unit() * (n < points.sizes_px.size() ? static_cast<double>(points.sizes_px[n]) : kUsualSize);
}

void add_interval(const std::vector<double>& low, const std::vector<double>& high, std::size_t n, const Point& at,
                  bool across, Color color, const Canvas& canvas) {
  if (n >= low.size() || n >= high.size() || !std::isfinite(low[n]) || !std::isfinite(high[n])) {
    return;
  }
  const AxisMap& axis = across ? canvas.place.x : canvas.place.y;
  const double from = axis.place(low[n]);
  const double to = axis.place(high[n]);
  std::vector<Point> line =
      across ? std::vector<Point>{{from, at.y}, {to, at.y}} : std::vector<Point>{{at.x, from}, {at.x, to}};
  canvas.marks.add(LineMark{std::move(line), color, canvas.style.line(), 0}, canvas.place.plot);
}

std::vector<Point> ring_around(const Point& at, double radius) {
  constexpr int kCorners = 32;
  std::vector<Point> ring;
  for (int n = 0; n <= kCorners; ++n) {
    const double angle = 2 * std::numbers::pi * n / kCorners;
    ring.push_back({at.x + radius * std::cos(angle), at.y + radius * std::sin(angle)});
  }
  return ring;
}

// `more`: how much wider its line is, or the disc.
void add_dot(const Point& at, double size, bool hollow, Color color, const Canvas& canvas, double more = 0) {
  const double width = hollow ? kRing * canvas.unit() : size;
  std::vector<Point> line = hollow ? ring_around(at, (size - width) / 2) : std::vector<Point>{at, at};
  canvas.marks.add(LineMark{std::move(line), color, width + more, 0}, canvas.place.plot);
}

// The half of a disc that is not empty.
void add_half(const Point& at, double radius, bool right, Color color, const Canvas& canvas) {
  constexpr int kSteps = 24;
  AreaMark half;
  half.color = color;
  for (int n = 0; n <= kSteps; ++n) {
    const double along = right ? static_cast<double>(n) / kSteps : 2.0 * n / kSteps - 1;
    const double high = radius * std::sqrt(std::max(0.0, 1 - along * along));
    half.x.push_back(at.x + radius * along);
    half.low.push_back(right ? at.y + high : at.y);
    half.high.push_back(at.y - high);
  }
  canvas.marks.add(std::move(half), canvas.place.plot);
}

void add_point(const Points& points, std::size_t n, const Point& at, const Canvas& canvas) {
  const double opacity = is_set(points.faint, n) ? kPale : 1;
  const Color cross = faded(canvas.style.muted, opacity);
  add_interval(points.x_low, points.x_high, n, at, true, cross, canvas);
  add_interval(points.y_low, points.y_high, n, at, false, cross, canvas);
  // Both ends of a colormap are seen on any background: they have an edge.
  const double size = size_of(points, n, canvas);
  const bool hollow = is_set(points.hollow, n);
  add_dot(at, size, hollow, faded(canvas.style.foreground, kEdgeOpacity * opacity), canvas, kEdge * canvas.unit());
  const Color color = faded(color_of(points.scale, points.values[n]), opacity);
  if (hollow && points.hollow[n] != Points::kRing) {
    add_half(at, size / 2, points.hollow[n] == Points::kLeftEmpty, color, canvas);
  }
  add_dot(at, size, hollow, color, canvas);
}

bool boxes_meet(const Rect& a, const Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

// Beside the point, where it covers the fewest others: on the right or the left, above or below.
void add_name(const std::string& name, const Point& at, double size, Canvas& canvas) {
  const double text = canvas.style.note_text();
  const double width = 0.65 * text * static_cast<double>(name.size());  // no metrics here: it only decides the place
  const double gap = size / 2 + 0.3 * text;
  const double up = 0.8 * text;
  const Rect& plot = canvas.place.plot;
  struct Place {
    Point text;
    double align = 0;
  };
  const std::array<Place, 4> places{{{{at.x + gap, at.y - 0.3 * text}, 0},
                                     {{at.x - gap, at.y - 0.3 * text}, 1},
                                     {{at.x, at.y - gap}, 0.5},
                                     {{at.x, at.y + gap + up}, 0.5}}};
  const auto box_of = [&](const Place& place) {
    return Rect{place.text.x - place.align * width, place.text.y - up, width, up + 0.2 * text};
  };
  const auto cost = [&](const Place& place) {
    const Rect box = box_of(place);
    const bool outside = box.x < plot.x || box.right() > plot.right() || box.y < plot.y || box.bottom() > plot.bottom();
    const auto covered = std::ranges::count_if(canvas.taken, [&](const Rect& other) { return boxes_meet(box, other); });
    return (outside ? 1000 : 0) + static_cast<int>(covered);
  };
  const Place& best = *std::ranges::min_element(places, {}, cost);
  canvas.taken.push_back(box_of(best));
  canvas.marks.add(TextMark{{name, best.text, best.align, text, false, canvas.style.foreground}}, plot);
}

}  // namespace

void add_points(const Points& points, const PanelLayout& place, const Style& style, MarkList& marks) {
  Canvas canvas{place, style, marks};
  const std::size_t count = std::min({points.x.size(), points.y.size(), points.values.size()});
  const auto for_each = [&](const auto& add) {
    for (std::size_t n = 0; n < count; ++n) {
      if (std::isfinite(points.x[n]) && std::isfinite(points.y[n])) {
        add(n, Point{place.x.place(points.x[n]), place.y.place(points.y[n])});
      }
    }
  };
  for (const bool faint : {true, false}) {
    for_each([&](std::size_t n, const Point& at) {
      if (is_set(points.faint, n) == faint) {
        add_point(points, n, at, canvas);
      }
    });
  }
  for_each([&](std::size_t n, const Point& at) {
    if (n < points.names.size() && !points.names[n].empty()) {  // a name covers no point that has one
      const double side = size_of(points, n, canvas);
      canvas.taken.push_back({at.x - side / 2, at.y - side / 2, side, side});
    }
  });
  for_each([&](std::size_t n, const Point& at) {
    if (n < points.names.size() && !points.names[n].empty()) {
      add_name(points.names[n], at, size_of(points, n, canvas), canvas);
    }
  });
}

void add_dots(const Curve& curve, Color color, const PanelLayout& place, const Style& style, MarkList& marks) {
  constexpr double kDot = 7;
  const Canvas canvas{place, style, marks};
  for (std::size_t n = 0; n < std::min({curve.x.size(), curve.y.size(), curve.hollow.size()}); ++n) {
    if (std::isfinite(curve.x[n]) && std::isfinite(curve.y[n])) {
      const Point at{place.x.place(curve.x[n]), place.y.place(curve.drawn_y(n))};
      add_dot(at, kDot * canvas.unit(), curve.hollow[n] != 0, color, canvas);
    }
  }
}

}  // namespace locus::figure
