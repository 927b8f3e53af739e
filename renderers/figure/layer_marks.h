// The layers of a panel as marks; used by compose().
#pragma once

#include <utility>
#include <vector>

#include "renderers/figure/scene.h"

namespace locus::figure {

// Collects marks; those added without a clip are clipped to the canvas only.
class MarkList {
 public:
  explicit MarkList(const Rect& canvas) : canvas_(canvas) {}

  template <class Shape>
  void add(Shape shape, const Rect& clip) {
    Mark& mark = marks_.emplace_back();
    mark.shape.template emplace<Shape>(std::move(shape));
    mark.clip = clip;
  }
  void fill(const Rect& rect, Color color) { add(FillMark{rect, color}, canvas_); }
  void fill(const Rect& rect, Color color, const Rect& clip) { add(FillMark{rect, color}, clip); }
  void line(std::vector<Point> points, Color color, double width, double dash) {
    add(LineMark{std::move(points), color, width, dash}, canvas_);
  }
  void text(const PlacedText& text) { add(TextMark{text}, canvas_); }

  std::vector<Mark>& marks() { return marks_; }

 private:
  Rect canvas_;
  std::vector<Mark> marks_;
};

constexpr double kAreaOpacity = 0.5;  // of a stacked area

// A curve's width on this canvas: width_px is meant for text of 12 px.
double curve_width(const Curve& curve, const Style& style);
double dash_length(double width);
// The same for a curve of this width; 0: not dashed.
double dash_of(const Curve& curve, double width);
// Bars are translucent where several histograms overlap.
double bar_opacity(const Panel& panel);

void add_layers(const Panel& panel, const PanelLayout& place, const Style& style, MarkList& marks);

// Adds the points of a panel, faint ones first: cross, disc or ring, and above all of them the names.
void add_points(const Points& points, const PanelLayout& place, const Style& style, MarkList& marks);

// Adds the dots of a curve, where it has any.
void add_dots(const Curve& curve, Color color, const PanelLayout& place, const Style& style, MarkList& marks);

}  // namespace locus::figure
